package space_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/protocol"
)

// The course of an agent is what the machine does, as long as nobody is in its way: its cells behind each moment, and
// what it is told; so is a view of those who are near.
func TestACourseIsTheWalk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := ground.Definition{Grid: &ground.Grid{Width: 12, Height: 9, Blocked: "m"}, Perception: ground.Perception{Radius: 3}, Speed: int64(rapid.IntRange(1, 3).Draw(rt, "speed")),
			Places: map[string]ground.Place{"well": {At: []int64{8, 6}, Size: []int64{2, 2}}}}
		var blocked []byte
		for range 9 {
			for range 12 {
				blocked = append(blocked, rapid.SampledFrom([]byte("....#")).Draw(rt, "cell"))
			}
			blocked = append(blocked, '\n')
		}
		m, faults := ground.New(&d, blocked)
		if m == nil {
			rt.Skip(faults)
		}
		people, starts := crew(3), []uint32{}
		for o := range 3 {
			c := rapid.IntRange(0, 12*9-1).Filter(func(c int) bool { return m.Free(m.At(uint32(c))) }).Draw(rt, fmt.Sprint("start ", o))
			starts = append(starts, uint32(c)+1)
		}
		s := space.NewState(m, starts, people, time.Second)
		var now protocol.Time
		for range rapid.IntRange(1, 5).Draw(rt, "times") {
			var asked []space.Request
			for o := range 3 {
				if rapid.Bool().Draw(rt, "asks") {
					to := rapid.SampledFrom([]string{"well", "0,0", "11,8", "north", "southeast", "stay", "5,4", "moon"}).Draw(rt, "to")
					asked = append(asked, space.Request{ID: "r", By: people.Name(uint32(o)), Agent: people.Name(uint32(o)), To: to})
				}
			}
			now = now.Add(time.Second)
			ways := map[string]space.Way{}
			for o := range uint32(3) {
				c, _ := s.Course(o)
				var own []space.Request
				for _, q := range asked {
					if q.Agent == people.Name(o) {
						own = append(own, q)
					}
				}
				w, err := c.Way(people, now, own)
				if err != nil {
					rt.Fatal(err)
				}
				ways[people.Name(o)] = w
			}
			for i := range rapid.IntRange(1, 8).Draw(rt, "moments") {
				if i > 0 {
					now, asked = now.Add(time.Second), nil
				}
				facts, err := s.Decide(now, asked)
				if err != nil {
					rt.Fatal(err)
				}
				for o := range uint32(3) {
					w := ways[people.Name(o)]
					is, _ := s.Course(o)
					if at := w.Cells[min(i, len(w.Cells)-1)]; is.Standing().Cell != at {
						rt.Fatalf("%s is in %v, by its course in %v", people.Name(o), is.Standing(), at)
					}
					if then, err := w.From.Until(people, now); err != nil || then.Standing() != is.Standing() {
						rt.Fatalf("%s: %+v, by its course %+v (%v)", people.Name(o), is.Standing(), then.Standing(), err)
					}
				}
				for _, f := range facts {
					x, ok := f.(*space.Stopped)
					if !ok {
						continue
					}
					found := false
					for _, n := range ways[x.Instance].Facts {
						y, ok := n.Fact.(*space.Stopped)
						found = found || ok && *x == *y && n.Time == now
					}
					if !found {
						rt.Fatalf("%+v at %v is not on the course %+v", x, now, ways[x.Instance].Facts)
					}
				}
				near(rt, s, people)
			}
		}
	})
}

// near holds a glimpse of an agent and its neighbours to the view of all.
func near(rt *rapid.T, s *space.State, people crew) {
	v := s.Share()
	var list []space.Standing
	for o := range uint32(3) {
		c, _ := s.Course(o)
		if x, y, _ := v.Where(o); o == 0 || func() bool { ox, oy, _ := v.Where(0); return ground.Distance(x, y, ox, oy) <= 3 }() {
			list = append(list, c.Standing())
		}
	}
	looked := false
	g := space.Glimpse(v.Map(), people, list, func() { looked = true })
	if a, b := fmt.Sprint(v.Surroundings(0)), fmt.Sprint(g.Surroundings(0)); a != b || looked {
		rt.Fatalf("a glimpse shows %s, the view %s", b, a)
	}
	if g.Look(0); !looked {
		rt.Fatal("a look counts who is in a place, and nobody was told")
	}
}
