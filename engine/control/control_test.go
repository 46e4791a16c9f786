package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/control"
	"tavernsim/protocol"
)

// roots has a number of the world, and when it is nil nothing.
type roots struct{ stock any }

func (r roots) Lookup(root string) (any, bool) {
	return map[string]any{"stock": r.stock}, root == "world" && r.stock != nil
}

// scene is one whose waves are a second apart, and which has two deliberations in each.
type scene struct {
	state  control.State
	wave   uint64
	stock  any
	fact   string // that each wave keeps, of the agent ada
	wall   time.Time
	waited time.Duration
}

func (s *scene) moment() control.Moment {
	at := func(wave uint64) protocol.Time { return protocol.Time(wave+1) * protocol.Time(time.Second) }
	return control.Moment{Wall: s.wall, Wave: s.wave, Time: at(s.wave), Begun: at(0), Turns: 2 * int64(s.wave), At: at(s.wave + 1), Roots: roots{s.stock}}
}

func (s *scene) give(t *testing.T, c control.Command) {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if err := s.state.Command(&c, s.moment()); err != nil {
		t.Fatal(err)
	}
}

// runs gives the number of waves until the scene is paused, at most most.
func (s *scene) runs(most int) int {
	for n := range most {
		for {
			ok, wait := s.state.Next(s.moment())
			if ok {
				break
			}
			if wait == 0 {
				return n
			}
			s.wall, s.waited = s.wall.Add(wait), s.waited+wait
		}
		s.wave++
		if s.fact != "" {
			s.state.Saw(s.fact, "ada")
		}
	}
	return most
}

// Promises 1 and 2.
func TestSteps(t *testing.T) {
	second := protocol.Duration(time.Second)
	for name, c := range map[string]struct {
		command control.Command
		waves   int
	}{
		"pause":            {control.Command{Do: control.Pause}, 0},
		"one wave":         {control.Command{Do: control.Step}, 1},
		"waves":            {control.Command{Do: control.Step, Waves: 3}, 3},
		"for":              {control.Command{Do: control.Step, For: 4 * second}, 4},
		"for less":         {control.Command{Do: control.Step, For: second / 2}, 0},
		"until":            {control.Command{Do: control.Step, Until: 12 * second}, 2},
		"until the past":   {control.Command{Do: control.Step, Until: second}, 0},
		"turns":            {control.Command{Do: control.Step, Turns: 3}, 2},
		"the first counts": {control.Command{Do: control.Step, Turns: 30, Waves: 2, For: 50 * second, Until: 60 * second}, 2},
	} {
		s := &scene{wave: 10}
		s.give(t, c.command)
		if n, r := s.runs(99), s.state.Report(); n != c.waves || r.State != control.Paused || r.Why == "" || !s.state.On() {
			t.Errorf("%s: %d waves, want %d; %+v", name, n, c.waves, r)
		}
		s.give(t, control.Command{Do: control.Resume})
		if n, r := s.runs(99), s.state.Report(); n != 99 || r.State != control.Running || s.state.On() {
			t.Errorf("%s: resumed, %d waves; %+v", name, n, r)
		}
	}
}

// Promise 2: an expression breaks when it becomes true, and what is not there is false.
func TestBreaks(t *testing.T) {
	s := &scene{}
	s.give(t, control.Command{Do: control.Break, When: "world.stock < 5"})
	if n := s.runs(3); n != 3 || s.state.Watches() {
		t.Error(n, "waves without a stock")
	}
	s.stock = int64(4)
	if n, r := s.runs(9), s.state.Report(); n != 0 || r.Why != "breakpoint world.stock < 5" {
		t.Error(n, r)
	}
	s.give(t, control.Command{Do: control.Resume})
	if n := s.runs(5); n != 5 {
		t.Error("it is true still, and breaks again after", n)
	}
	s.stock = int64(7)
	s.runs(1)
	s.stock = int64(1)
	if n := s.runs(5); n != 0 {
		t.Error("true again", n)
	}
	s.give(t, control.Command{Do: control.Break, Clear: true})
	s.give(t, control.Command{Do: control.Resume})
	if s.state.On() {
		t.Error("cleared", s.state.Report())
	}
	for _, c := range []control.Command{{Kind: "tool.task_ended"}, {Agent: "ada"}, {Kind: "tool.task_ended", Agent: "ada"}} {
		s := &scene{fact: "tool.task_ended"}
		c.Do = control.Break
		s.give(t, c)
		if n := s.runs(9); n != 1 || !s.state.Watches() || !strings.Contains(s.state.Report().Why, "tool.task_ended of ada") {
			t.Error(c, n, s.state.Report())
		}
	}
	other := &scene{fact: "tool.task_ended"}
	other.give(t, control.Command{Do: control.Break, Kind: "tool.task_ended", Agent: "bo"})
	if n := other.runs(9); n != 9 {
		t.Error("another agent", n)
	}
}

// Promise 3.
func TestPace(t *testing.T) {
	s := &scene{wall: time.Unix(1000, 0)}
	s.give(t, control.Command{Do: control.Pace, Pace: 4})
	if n := s.runs(8); n != 8 || s.waited != 2*time.Second {
		t.Error(n, s.waited)
	}
	s.wall = s.wall.Add(time.Minute) // lost
	if s.runs(1); s.waited != 2*time.Second {
		t.Error("a late wave waits", s.waited)
	}
	if s.runs(4); s.waited != 3*time.Second {
		t.Error("lost time is made good:", s.waited)
	}
	s.give(t, control.Command{Do: control.Pace})
	if s.runs(100); s.waited != 3*time.Second || s.state.On() {
		t.Error("without a pace", s.waited)
	}
}

// Promise 4, and the bound of breakpoints.
func TestRefusals(t *testing.T) {
	for _, c := range []control.Command{
		{}, {Do: "halt"}, {Do: control.Pause, Waves: 1}, {Do: control.Resume, Pace: 1}, {Do: control.Step, When: "true"}, {Do: control.Step, Waves: -1},
		{Do: control.Pace, Pace: -1}, {Do: control.Pace, Pace: 1e10}, {Do: control.Break}, {Do: control.Break, When: "true", Kind: "x"},
		{Do: control.Break, Clear: true, Kind: "x"}, {Do: control.Break, When: strings.Repeat("a", 5000)},
	} {
		if err := c.Check(); protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%+v: %v", c, err)
		}
	}
	s := &scene{}
	if err := s.state.Command(&control.Command{Do: control.Break, When: "self.x +"}, s.moment()); protocol.KindOf(err) != protocol.KindInvalid {
		t.Error(err)
	}
	for i := range control.MaxBreaks {
		s.give(t, control.Command{Do: control.Break, Kind: fmt.Sprint("k", i)})
	}
	if err := s.state.Command(&control.Command{Do: control.Break, Kind: "x"}, s.moment()); protocol.KindOf(err) != protocol.KindLimit {
		t.Error(err)
	}
}

// Commands make the same state again, also of a step that is under way.
func TestCommands(t *testing.T) {
	s := &scene{}
	for range 3 {
		s.wave++
	}
	s.give(t, control.Command{Do: control.Pace, Pace: 4})
	s.give(t, control.Command{Do: control.Break, Kind: "said", Agent: "ada"})
	s.give(t, control.Command{Do: control.Break, When: "world.stock > 3"})
	for _, c := range []control.Command{{Do: control.Step, Waves: 2}, {Do: control.Step, For: protocol.Duration(time.Second), Turns: 7}, {Do: control.Pause}, {Do: control.Resume}} {
		s.give(t, c)
		again := control.State{}
		for _, c := range s.state.Commands() {
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			if err := again.Command(&c, control.Moment{}); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := fmt.Sprint(again.Commands(), again.Report()), fmt.Sprint(s.state.Commands(), s.state.Report()); got != want {
			t.Errorf("%s: %s, want %s", c.Do, got, want)
		}
	}
}

// A breakpoint that held when the scene went on pauses nothing after a restart, before it holds anew.
func TestCommandsAfterABreakpoint(t *testing.T) {
	holds := control.Moment{Wave: 1, Roots: roots{int64(4)}}
	s := &control.State{}
	if err := s.Command(&control.Command{Do: control.Break, When: "world.stock > 3"}, control.Moment{}); err != nil {
		t.Fatal(err)
	}
	if ok, _ := s.Next(holds); ok {
		t.Fatal("the breakpoint does not pause")
	}
	again := func() *control.State {
		x := &control.State{}
		for _, c := range s.Commands() {
			if err := x.Command(&c, control.Moment{}); err != nil {
				t.Fatal(err)
			}
		}
		return x
	}
	if got := again().Report().Why; got != "breakpoint world.stock > 3" {
		t.Errorf("paused because %q", got)
	}
	if err := s.Command(&control.Command{Do: control.Resume}, holds); err != nil {
		t.Fatal(err)
	}
	if ok, _ := again().Next(holds); !ok {
		t.Error("it is paused again")
	}
}
