package courses

import (
	"fmt"
	"slices"
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
			at = committed + schedule.Tick(rapid.IntRange(0, 60).Draw(rt, "look")) // 0 = the moment has another wave
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

// What is foretold happens if nobody is in the way: agents are where they were taken to be at each moment, are told what
// was foretold, and nobody is found elsewhere. Who asks for more than was foretold is found elsewhere, and so is who was
// forgotten.
func TestWhatIsForetoldHappens(t *testing.T) {
	const people, last = crowd(4), schedule.Tick(30)
	rapid.Check(t, func(rt *rapid.T) {
		m, faults := ground.New(&ground.Definition{Grid: &ground.Grid{Width: 12, Height: 6}, Perception: ground.Perception{Radius: 2}, Speed: int64(rapid.IntRange(1, 3).Draw(rt, "speed"))}, nil)
		if m == nil {
			rt.Fatal(faults)
		}
		starts := make([]uint32, people) // the last one is nowhere
		for o := range starts[:people-1] {
			starts[o] = uint32(rapid.IntRange(1, 12*6).Draw(rt, "start"))
		}
		state := space.NewState(m, starts, people, time.Second)
		c, err := New(m, people, state, -1, 0, time.Second)
		if err != nil {
			rt.Fatal(err)
		}
		to := rapid.SampledFrom([]string{"0,0", "11,5", "5,2", "6,2", "north", "stay", "40,40"})
		asked := map[schedule.Tick][]space.Request{}
		for range rapid.IntRange(0, 12).Draw(rt, "requests") {
			o, at := rapid.Uint32Range(0, uint32(people)-2).Draw(rt, "who"), schedule.Tick(rapid.IntRange(0, int(last)).Draw(rt, "at"))
			asked[at] = append(asked[at], space.Request{ID: "r", By: people.Name(o), Agent: people.Name(o), To: to.Draw(rt, "to")})
		}
		other, extra := rapid.Uint32Range(0, uint32(people)-2).Draw(rt, "other"), schedule.Tick(rapid.IntRange(0, 2*int(last)).Draw(rt, "extra")) // behind the last moment: nothing is amiss
		forgets := rapid.Bool().Draw(rt, "forgets")
		for at := range last + 1 {
			for o := range uint32(people) {
				if mine := of(asked[at], people.Name(o)); len(mine) > 0 {
					if _, err := c.Ask(o, at, at, mine); err != nil {
						rt.Fatal(err)
					}
				}
			}
		}
		if forgets && extra <= last {
			c.Forget(other, extra)
			for at := extra; at <= last; at++ {
				asked[at] = slices.DeleteFunc(asked[at], func(q space.Request) bool { return q.Agent == people.Name(other) })
			}
		}
		told := [people]int{}
		for o := range uint32(people) {
			told[o] = len(c.Told(o, 0, last+1))
		}
		amiss := false
		for at := range last + 1 {
			requests := asked[at]
			if at == extra && !forgets {
				requests = append(requests, space.Request{ID: "x", By: "somebody", Agent: people.Name(other), To: "3,3"})
				amiss = true
			}
			facts, err := state.Decide(protocol.Time(at)*protocol.Time(time.Second), requests)
			if err != nil {
				rt.Fatal(err)
			}
			var steps []space.Fact
			for _, f := range facts {
				steps = append(steps, f.(space.Fact))
				by, is := teller(f)
				if o, known := people.Ordinal(by); is && known && !(amiss && o == other) {
					before := len(c.Told(o, 0, last+1))
					if told[o]--; !c.Hear(o, at, f) || len(c.Told(o, 0, last+1)) != before-1 {
						rt.Fatalf("at %d %s is told %+v, which was not foretold, or is foretold again", at, by, f)
					}
				}
			}
			foretold := map[uint32]uint32{}
			for o := range uint32(people) {
				if cell, is := c.behind(o, at); is {
					foretold[o] = cell
				}
			}
			moved, err := c.Committed(at, steps)
			if err != nil {
				rt.Fatal(err)
			}
			for o := range uint32(people) {
				course, is := state.Course(o)
				if _, was := foretold[o]; was != is {
					rt.Fatalf("at %d a_%d is somewhere: %v, foretold %v", at, o, is, was)
				}
				if is && foretold[o] != course.Standing().Cell && !moved[o] {
					rt.Fatalf("at %d a_%d is at %d, foretold %d, and nobody says so", at, o, course.Standing().Cell, foretold[o])
				}
				if moved[o] && !(amiss && o == other) {
					rt.Fatalf("at %d a_%d is elsewhere", at, o)
				}
				if l := c.leg(o, at); is && l.standing(at) != course.Standing() {
					rt.Fatalf("behind the wave of %d a_%d is at %+v, and it is at %+v", at, o, l.standing(at), course.Standing())
				}
			}
		}
		for o, n := range told {
			if n != 0 && !(amiss && uint32(o) == other) {
				rt.Fatalf("a_%d was to be told %d times more", o, n)
			}
		}
	})
}

// Who is nowhere is near everybody, and what was foretold is heard at its moment and in its words alone.
func TestNowhereAndHeard(t *testing.T) {
	m, _ := ground.New(&ground.Definition{Grid: &ground.Grid{Width: 9, Height: 1}, Perception: ground.Perception{Radius: 2}, Speed: 1}, nil)
	c, err := New(m, crowd(4), space.NewState(m, []uint32{1, 3, 4, 0}, crowd(4), time.Second), -1, 0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		a, b uint32
		near bool
	}{{0, 1, true}, {1, 0, true}, {0, 2, false}, {2, 3, true}, {3, 2, true}, {3, 3, true}} {
		if c.Near(p.a, p.b, 0) != p.near {
			t.Errorf("a_%d is near a_%d: %v", p.a, p.b, !p.near)
		}
	}
	if _, err := c.Ask(0, 0, 0, []space.Request{{ID: "r", By: "a_0", Agent: "a_0", To: "2,0"}}); err != nil {
		t.Fatal(err)
	}
	told := c.Told(0, 0, 9)
	if len(told) != 1 || told[0].Time != protocol.Time(2*time.Second) {
		t.Fatalf("told %+v", told)
	}
	other := *told[0].Fact.(*space.Stopped)
	other.Reason = space.ReasonAsked
	if c.Hear(0, 1, told[0].Fact) || c.Hear(0, 2, &other) || c.Hear(0, 2, &space.Refused{}) || c.Hear(3, 2, told[0].Fact) || !c.Hear(0, 2, told[0].Fact) {
		t.Error("something else is heard, or not what was foretold")
	}
}

// of are the requests of an agent.
func of(all []space.Request, name string) (mine []space.Request) {
	for _, q := range all {
		if q.By == name {
			mine = append(mine, q)
		}
	}
	return mine
}

// teller is whom a fact tells something.
func teller(f protocol.Fact) (string, bool) {
	x, ok := f.(protocol.Answering)
	if !ok {
		return "", false
	}
	a, told := x.Answers()
	return a.To, told
}
