package schedule

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The small model of the rule: three agents on a line of five cells, four steps each.
// In a step an agent stays, goes left or goes right, and then speaks. What a turn reads
// at a step is who stands within its sight, and who spoke in the step before within
// reach of its ears: from where the speaker stood after its move, to where the hearer
// stood before its own. The rule says when a turn may begin; the model says whether
// what it read then is what it would read at the barrier.
const (
	modelAgents = 3
	modelSteps  = 4 // 3 without SIMD_TEST_LONG
	modelCells  = 5
)

// walk is where an agent is at the beginning of each step, and at the end.
type walk [modelSteps + 1]int32

func walks(steps int) (list []walk) {
	var grow func(w walk, n int)
	grow = func(w walk, n int) {
		if n > steps {
			list = append(list, w)
			return
		}
		for _, d := range []int32{-1, 0, 1} {
			if c := w[n-1] + d; c >= 0 && c < modelCells {
				w[n] = c
				grow(w, n+1)
			}
		}
	}
	for c := range int32(modelCells) {
		grow(walk{c}, 1)
	}
	return list
}

// law is the rule of space, or one of its mutants.
type law struct {
	name string
	// reaches is about an agent at distance dist whose next turn is gap > 0 steps
	// earlier.
	reaches func(radius, reach, speed, dist, gap int64) bool
}

func mutants() []law {
	return []law{
		{"no radius", func(_, h, v, d, g int64) bool { return d <= h+v*(g+1) }},
		{"no reach of speech", func(r, _, v, d, g int64) bool { return d <= r+v*(g+1) }},
		{"no speed", func(r, h, _, d, _ int64) bool { return d <= max(r, h) }},
		{"no gap", func(r, h, v, d, _ int64) bool { return d <= max(r, h)+v }},
		{"a tick less", func(r, h, v, d, g int64) bool { return d <= max(r, h)+v*g }},
		{"a cell less", func(r, h, v, d, g int64) bool { return d < max(r, h)+v*(g+1) }},
		{"only the next step", func(r, h, v, d, g int64) bool { return g == 1 && d <= max(r, h)+v*(g+1) }},
		{"not the next step", func(r, h, v, d, g int64) bool { return g > 1 && d <= max(r, h)+v*(g+1) }},
	}
}

// model is one scene of three walks.
type model struct {
	walks         [modelAgents]walk
	steps         int
	radius, reach int64
	law           law
	seen          [(modelSteps + 1) * (modelSteps + 1) * (modelSteps + 1)]bool
	fault         string
}

func far(a, b int32) int64 { return abs(int64(a) - int64(b)) }

// explore begins and ends turns in every order. What turns begin by is all that
// matters, so a set of steps done is visited once; a turn that may begin is taken to
// begin at once and to end any time later.
func (m *model) explore(done [modelAgents]int) {
	i := (done[0]*(modelSteps+1)+done[1])*(modelSteps+1) + done[2]
	if m.seen[i] || m.fault != "" {
		return
	}
	m.seen[i] = true
	moved := false
	for a := range done {
		if done[a] == m.steps || !m.may(done, a) {
			continue
		}
		moved = true
		m.read(done, a)
		done[a]++
		m.explore(done)
		done[a]--
	}
	if !moved && done != [modelAgents]int{m.steps, m.steps, m.steps} {
		m.fault = fmt.Sprintf("nobody can go on after the steps %v", done)
	}
}

// read compares what a turn reads, where others have not come to its step, with what it
// would read at the barrier. The first difference is the fault.
func (m *model) read(done [modelAgents]int, a int) {
	s := done[a]
	for b := range done {
		if b == a || done[b] >= s || m.fault != "" {
			continue
		}
		known, is := m.walks[b][done[b]], m.walks[b][s]
		saw, sees := far(m.walks[a][s], known) <= m.radius, far(m.walks[a][s], is) <= m.radius
		if saw || sees {
			m.fault = fmt.Sprintf("agent %d, step %d, field near: agent %d is at cell %d, and seen at %d of step %d", a, s, b, is, known, done[b])
		}
		if far(m.walks[a][s-1], is) <= m.reach {
			m.fault = fmt.Sprintf("agent %d, step %d, field heard: agent %d spoke at cell %d in step %d, and has not come there", a, s, b, is, s-1)
		}
	}
}

// all runs every scene of a radius and a reach under a law, up to the first fault. Of a scene and its mirror image it runs one:
// everything depends on distances alone.
func all(steps int, radius, reach int64, l law) (fault string, scenes int) {
	list := walks(steps)
	at, mirror := map[walk]int{}, make([]int, len(list))
	for i, w := range list {
		at[w] = i
	}
	for i, w := range list {
		for n := range steps + 1 {
			w[n] = modelCells - 1 - w[n]
		}
		mirror[i] = at[w]
	}
	for i := range list {
		for j := range list[i:] {
			for k := range list[i+j:] { // the names of the agents do not matter
				if min(mirror[i], mirror[i+j], mirror[i+j+k]) < i {
					continue
				}
				m := model{walks: [modelAgents]walk{list[i], list[i+j], list[i+j+k]}, steps: steps, radius: radius, reach: reach, law: l}
				m.explore([modelAgents]int{})
				if scenes++; m.fault != "" {
					return fmt.Sprintf("%s; walks %v", m.fault, m.walks), scenes
				}
			}
		}
	}
	return "", scenes
}

// may is the law about a's next turn.
func (m *model) may(done [modelAgents]int, a int) bool {
	for b := range done {
		gap := int64(done[a] - done[b])
		if gap > 0 && m.law.reaches(m.radius, m.reach, 1, far(m.walks[a][done[a]], m.walks[b][done[b]]), gap) {
			return false
		}
	}
	return true
}

func rule() law {
	return law{"the rule", func(r, h, v, d, g int64) bool { return d <= max(r, h)+v*(g+1) }}
}

// sizes are the radii and reaches of the model.
func sizes() [][2]int64 { return [][2]int64{{1, 1}, {2, 0}, {0, 2}} }

// TestTrackedIsAProof: in every scene of the small model and in every order of its
// turns, no turn that the rule lets begin reads anything but what the barrier's turn
// reads, so no call is wasted; and somebody can always go on. Three steps find every mutant of the rule (TestMutantsOfTheRule);
// SIMD_TEST_LONG=1 plays scenes of four.
func TestTrackedIsAProof(t *testing.T) {
	steps := 3
	if os.Getenv("SIMD_TEST_LONG") != "" {
		steps = modelSteps
	}
	for _, size := range sizes() {
		fault, scenes := all(steps, size[0], size[1], rule())
		if fault != "" {
			t.Errorf("radius %d, reach %d: %s", size[0], size[1], fault)
		}
		t.Logf("radius %d, reach %d: %d scenes of %d steps", size[0], size[1], scenes, steps)
	}
}

// TestMutantsOfTheRule: without any of its terms, or with one off by one, the rule lets
// a turn begin that reads something else; the fault names agent, step and field.
func TestMutantsOfTheRule(t *testing.T) {
	for _, l := range mutants() {
		found := ""
		for _, size := range sizes() {
			if fault, _ := all(3, size[0], size[1], l); fault != "" && found == "" {
				found = fmt.Sprintf("radius %d, reach %d: %s", size[0], size[1], fault)
				break
			}
		}
		if !strings.Contains(found, "agent ") || !strings.Contains(found, "field ") {
			t.Errorf("%s: not found: %q", l.name, found)
		}
		t.Logf("%s: %s", l.name, found)
	}
}

// TestMachineIsTheRule: in every configuration of the small model the machine decides as
// the rule does.
func TestMachineIsTheRule(t *testing.T) {
	for _, size := range sizes() {
		cfg, agents := walkers(modelAgents, int32(size[0]), 1)
		cfg.Classes[0].Space.Reach = int32(size[1])
		for i := range (modelSteps + 1) * (modelSteps + 1) * (modelSteps + 1) * modelCells * modelCells * modelCells {
			for a := range agents {
				agents[a].Next, i = Tick(i%(modelSteps+1)), i/(modelSteps+1)
				agents[a].Place.X, i = int32(i%modelCells), i/modelCells
			}
			s, err := New(cfg, agents)
			if err != nil {
				t.Fatal(err)
			}
			for a := range agents {
				want := false
				for b := range agents {
					gap := int64(agents[a].Next - agents[b].Next)
					want = want || gap > 0 && rule().reaches(size[0], size[1], 1, far(agents[a].Place.X, agents[b].Place.X), gap)
				}
				if _, why, _ := s.blocker(uint32(a)); (why != Free) != want {
					t.Fatalf("agent %d of %v: the machine says %v, the rule %v", a, agents, why, want)
				}
			}
		}
	}
}

// TestEvents: a turn waits for whoever may publish what it hears, exactly if an event
// of that agent's next turn could be heard by then: a tick later, and the delay of its type.
func TestEvents(t *testing.T) {
	for delay := range Tick(4) {
		hears := Class{Perceives: []string{}, Writes: []string{}, Hears: []string{"alarm.*"}, Publishes: []Publish{}, Consults: []string{}, Edits: []string{}}
		tells := Class{Perceives: []string{}, Writes: []string{}, Hears: []string{}, Publishes: []Publish{{Type: "alarm.fire", Delay: delay}}, Consults: []string{}, Edits: []string{}}
		for at := range Tick(8) {
			s, err := New(Config{Classes: []Class{hears, tells}}, []Agent{{Class: 0, Next: at}, {Class: 1, Next: 1}})
			if err != nil {
				t.Fatal(err)
			}
			want := Free
			if heard := 1 + 1 + delay; heard <= at {
				want = ByEvent
			}
			if _, why, _ := s.blocker(0); why != want {
				t.Errorf("delay %d, turn at %d: %v, want %v", delay, at, why, want)
			}
		}
	}
}

// TestClasses: who can reach whom, by what their classes declare.
func TestClasses(t *testing.T) {
	none := func() Class {
		return Class{Perceives: []string{}, Writes: []string{}, Hears: []string{}, Publishes: []Publish{}, Consults: []string{}, Edits: []string{}}
	}
	with := func(f func(*Class)) Class {
		c := none()
		f(&c)
		return c
	}
	place := &Space{Radius: 1}
	for _, c := range []struct {
		name string
		a, b Class // a waits for b
		want Reason
	}{
		{"nothing", none(), none(), Free},
		{"undeclared", Class{}, Class{}, ByWorld},
		{"undeclared against nothing", Class{}, none(), Free},
		{"own state", with(func(c *Class) { c.Perceives = []string{"agents.{self}"} }), with(func(c *Class) { c.Writes = []string{"agents.{self}.mood"} }), Free},
		{"everybody's state", with(func(c *Class) { c.Perceives = []string{"agents.*"} }), with(func(c *Class) { c.Writes = []string{"agents.{self}.mood"} }), ByWorld},
		{"a state by name", with(func(c *Class) { c.Perceives = []string{"agents.{self}"} }), with(func(c *Class) { c.Writes = []string{"agents.bob"} }), ByWorld},
		{"above", with(func(c *Class) { c.Perceives = []string{"shop.stock.beer"} }), with(func(c *Class) { c.Writes = []string{"shop"} }), ByWorld},
		{"beside", with(func(c *Class) { c.Perceives = []string{"shop.stock"} }), with(func(c *Class) { c.Writes = []string{"shop.door"} }), Free},
		{"deep", with(func(c *Class) { c.Perceives = []string{"**.door"} }), with(func(c *Class) { c.Writes = []string{"shop.door"} }), ByWorld},
		{"a place, in space", with(func(c *Class) { c.Space, c.Perceives = place, []string{"rooms.{place}"} }), with(func(c *Class) { c.Space, c.Writes = place, []string{"rooms.{place}"} }), Free},
		{"a place, without one", with(func(c *Class) { c.Perceives = []string{"rooms.{place}"} }), with(func(c *Class) { c.Writes = []string{"rooms.{place}"} }), ByWorld},
		{"an event", with(func(c *Class) { c.Hears = []string{"*"} }), with(func(c *Class) { c.Publishes = []Publish{{Type: "x"}} }), ByEvent},
		{"another event", with(func(c *Class) { c.Hears = []string{"x.*"} }), with(func(c *Class) { c.Publishes = []Publish{{Type: "y.z"}} }), Free},
		{"a base", with(func(c *Class) { c.Consults = []string{"lore"} }), with(func(c *Class) { c.Edits = []string{"lore"} }), ByBase},
		{"its own base", with(func(c *Class) { c.Consults = []string{"lore"} }), with(func(c *Class) { c.Edits = []string{"diary"} }), Free},
	} {
		s, err := New(Config{Classes: []Class{c.a, c.b}}, []Agent{{Class: 0, Next: 5, Place: Cell{90, 0}}, {Class: 1, Next: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if _, why, _ := s.blocker(0); why != c.want {
			t.Errorf("%s: %v, want %v", c.name, why, c.want)
		}
	}
}
