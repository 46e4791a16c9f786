package courses

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/schedule"
	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// crowd are agents by their numbers.
type crowd int

func (c crowd) Ordinal(instance string) (uint32, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(instance, "a_"))
	return uint32(n), err == nil && n < int(c)
}
func (c crowd) Name(o uint32) string { return fmt.Sprint("a_", o) }
func (c crowd) Size() int            { return int(c) }

// An agent ahead of the committed run perceives whoever is near by the courses, whatever the distance at which they
// stood behind the last wave; some agents are nowhere.
func TestWhoIsNearAhead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m, faults := ground.New(&ground.Definition{Grid: &ground.Grid{Width: 90, Height: 40}, Perception: ground.Perception{Radius: int64(rapid.IntRange(0, 9).Draw(rt, "radius"))}, Speed: int64(rapid.IntRange(1, 4).Draw(rt, "speed"))}, nil)
		if m == nil {
			rt.Fatal(faults)
		}
		people := crowd(30)
		cell := rapid.Custom(func(rt *rapid.T) string {
			return fmt.Sprintf("%d,%d", rapid.IntRange(0, 89).Draw(rt, "x"), rapid.IntRange(0, 39).Draw(rt, "y"))
		})
		starts := make([]uint32, people)
		for o := range starts {
			starts[o] = uint32(rapid.IntRange(-1, 90*40-1).Draw(rt, "start") + 1)
		}
		state := space.NewState(m, starts, people, time.Second)
		c, err := New(m, people, state, -1, 0, time.Second)
		if err != nil {
			rt.Fatal(err)
		}
		committed := schedule.Tick(-1)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "wave") { // the committed run goes on, and some ask for what nobody foretold
				committed++
				var asked []space.Request
				for _, o := range rapid.SliceOfN(rapid.IntRange(0, int(people)-1), 0, 3).Draw(rt, "who") {
					asked = append(asked, space.Request{ID: "r", By: people.Name(uint32(o)), Agent: people.Name(uint32(o)), To: cell.Draw(rt, "to")})
				}
				facts, err := state.Decide(protocol.Time(committed)*protocol.Time(time.Second), asked)
				if err != nil {
					rt.Fatal(err)
				}
				var steps []space.Fact
				for _, f := range facts {
					if f, ok := f.(space.Fact); ok {
						steps = append(steps, f)
					}
				}
				if _, err := c.Committed(committed, steps); err != nil {
					rt.Fatal(err)
				}
			}
			at := committed + 1 + schedule.Tick(rapid.IntRange(0, 20).Draw(rt, "ahead"))
			for _, o := range rapid.SliceOfN(rapid.Uint32Range(0, uint32(people)-1), 0, 10).Draw(rt, "ask") {
				q := space.Request{ID: "r", By: people.Name(o), Agent: people.Name(o), To: cell.Draw(rt, "to")}
				if _, err := c.Ask(o, at, at, []space.Request{q}); err != nil {
					rt.Fatal(err)
				}
			}
			at = committed + schedule.Tick(rapid.IntRange(1, 60).Draw(rt, "look"))
			for o := range uint32(people) {
				view := c.Seen(o, at, func() {})
				if _, _, is := view.Where(o); !is {
					continue
				}
				near, all := view.Near(o, int(people))
				seen := map[uint32]bool{}
				for _, n := range near {
					if x, y, _ := view.Where(n.Agent); fmt.Sprint(cellOf(c, n.Agent, at)) != fmt.Sprint(x, y) {
						rt.Fatalf("a_%d sees a_%d at %d,%d, which is at %s", o, n.Agent, x, y, cellOf(c, n.Agent, at))
					}
					seen[n.Agent] = true
				}
				for b := range uint32(people) {
					_, is := c.behind(b, at-1)
					if want := is && b != o && c.Near(o, b, at-1); want != seen[b] {
						rt.Fatalf("a_%d sees a_%d: %v, want %v", o, b, seen[b], want)
					}
				}
				if all != len(seen) {
					rt.Fatalf("a_%d counts %d, and sees %d", o, all, len(seen))
				}
			}
		}
	})
}

func cellOf(c *Courses, o uint32, at schedule.Tick) string {
	cell, _ := c.behind(o, at-1)
	x, y := c.m.At(cell)
	return fmt.Sprint(x, y)
}
