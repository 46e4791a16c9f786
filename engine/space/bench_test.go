package space_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// plain is a grid of width by width cells with agents spread over it, all of them on their way east or west.
func plain(b *testing.B, width, agents int) (*space.State, protocol.Time) {
	m := mapOf(b, &ground.Definition{Grid: &ground.Grid{Width: int64(width), Height: int64(width)}, Perception: ground.Perception{Radius: 4, Types: []string{"said"}}})
	starts, err := m.Filling().Spread(fmt.Sprintf("0,0..%d,%d", width-1, width-1), agents)
	if err != nil {
		b.Fatal(err)
	}
	return space.NewState(m, starts, crew(agents), tick), 0
}

// sets lets everybody walk to the other end of its row.
func sets(b *testing.B, s *space.State, width, agents int) {
	paths := [2]string{strings.Repeat("2", width), strings.Repeat("6", width)}
	v := s.Share()
	for o := range uint32(agents) {
		x, y, _ := v.Where(o)
		tx, path := width-1, paths[0][:width-1-x]
		if x > width/2 {
			tx, path = 0, paths[1][:x]
		}
		if err := s.Apply(&space.SetOut{Agent: o, X: int64(tx), Y: int64(y), Path: path, Due: protocol.Time(tick)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalk is a wave in which everybody takes a step. Its limit, in the same run, is what a step
// cannot do without: a position that is read and written, and an entry of the fact.
func BenchmarkWalk(b *testing.B) {
	for _, c := range []struct{ width, agents int }{{410, 10_000}, {4096, 1_000_000}} {
		b.Run(fmt.Sprintf("agents=%d", c.agents), func(b *testing.B) {
			s, now := plain(b, c.width, c.agents)
			for b.Loop() {
				if s.Next() == 0 {
					b.StopTimer()
					sets(b, s, c.width, c.agents)
					now = 0
					b.StartTimer()
				}
				now = now.Add(tick)
				if facts, err := s.Decide(now, nil); err != nil || len(facts) == 0 {
					b.Fatal(len(facts), err)
				}
			}
			each(b, c.agents)
		})
		b.Run(fmt.Sprintf("limit=%d", c.agents), func(b *testing.B) {
			cells, steps := make([]uint32, c.agents), make([]byte, 0, 16*c.agents)
			for b.Loop() {
				steps = steps[:0]
				for o := range cells {
					cells[o]++
					steps = msgp.AppendInt(msgp.AppendInt(msgp.AppendInt(steps, o), int(cells[o])%c.width), int(cells[o])/c.width)
				}
			}
			each(b, c.agents)
		})
	}
}

// BenchmarkNear asks who is near one agent, with so many agents around.
func BenchmarkNear(b *testing.B) {
	for _, agents := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("agents=%d", agents), func(b *testing.B) {
			s, _ := plain(b, 4096, agents)
			v, near, asked := s.Share(), 0, 0
			for b.Loop() {
				_, all := v.Near(uint32(asked*7919%agents), space.MaxNear)
				near, asked = near+all, asked+1
			}
			b.ReportMetric(float64(near)/float64(asked), "near")
		})
	}
}

func each(b *testing.B, agents int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(agents), "ns/agent")
}
