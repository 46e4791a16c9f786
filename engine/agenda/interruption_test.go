package agenda

import (
	"testing"
	"time"

	"tavernsim/protocol"
)

// An event interrupts an agent while the latency of its turn passes, if it is more urgent than
// what the turn perceived, urgent enough for the agent, and would wake it. What the turn asked
// for and is due by then has joined the wave: it is not cancelled.
func TestInterruption(t *testing.T) {
	for name, c := range map[string]struct {
		urgency, wakeAbove, event protocol.Priority
		asleep                    bool
		now                       float64
		before                    func(*State)
		effects                   int64 // that it cancels; -1 = it interrupts nothing
	}{
		"it does":                          {event: protocol.Critical, now: 4, effects: 3},
		"some are due":                     {event: protocol.Critical, now: 5, effects: 2},
		"all are due but the latency":      {event: protocol.Critical, now: 9, effects: 0},
		"the latency has passed":           {event: protocol.Critical, now: 10, effects: -1},
		"the turn perceived one as urgent": {urgency: protocol.Critical, event: protocol.Critical, now: 4, effects: -1},
		"the turn perceived one below":     {urgency: protocol.High, event: protocol.Critical, now: 4, effects: 3},
		"others must be more urgent":       {urgency: protocol.Low, event: protocol.Normal, now: 4, effects: -1},
		"urgent enough":                    {urgency: protocol.Low, event: protocol.High, now: 4, effects: 3},
		"it sleeps and is not woken":       {asleep: true, wakeAbove: protocol.Critical, event: protocol.High, now: 4, effects: -1},
		"it sleeps and is woken":           {asleep: true, wakeAbove: protocol.High, event: protocol.High, now: 4, effects: 3},
		"it rests":                         {event: protocol.Critical, now: 4, effects: -1, before: func(s *State) { s.Close(ByScript, 0, at(1)) }},
		"its actor failed, and it waits":   {event: protocol.Critical, now: 1, effects: -1, before: func(s *State) { s.AgentFailed(AgentFailed{WakeAt: at(3)}, at(1)) }},
		"its actor failed, and it is gone": {event: protocol.Critical, now: 4, effects: -1, before: func(s *State) { s.AgentFailed(AgentFailed{}, at(1)) }},
		"the next turn has no latency":     {event: protocol.Critical, now: 4, effects: -1, before: func(s *State) { s.TurnEnded(0, Turn{Wave: 2}, at(1)) }},
		"it became due meanwhile":          {event: protocol.Critical, now: 4, effects: 3, before: func(s *State) { s.slots[0].due = at(2) }},
		"it was interrupted before":        {event: protocol.Critical, now: 4, effects: -1, before: func(s *State) { s.Interrupted(Interrupted{}, at(1)) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(config(Timing{Interrupt: true, InterruptBy: protocol.High}, Timing{}))
			s.Start(at(0))
			s.TurnEnded(0, Turn{Wave: 1, BusyUntil: at(10), Urgency: max(c.urgency, protocol.Low), Asleep: c.asleep, WakeAbove: c.wakeAbove}, at(0))
			for _, d := range []Deferred{{Due: at(5), Effects: make([]protocol.Sequenced, 1)}, {Due: at(9), Effects: make([]protocol.Sequenced, 2)}, {Due: at(9), Agent: 1, Effects: make([]protocol.Sequenced, 4)}} {
				s.Defer(d)
			}
			if c.before != nil {
				c.before(s)
			}
			f, ok := s.Interruption(0, c.event, "e1", at(c.now))
			if ok != (c.effects >= 0) || ok && f.Effects != c.effects {
				t.Fatalf("interrupts: %v, %+v; want %d effects", ok, f, c.effects)
			}
			if !ok {
				return
			}
			s.Interrupted(f, at(c.now))
			if got := s.Standing(0).Next; got != at(c.now+1) {
				t.Errorf("it is woken at %s, want one tick after the event", got)
			}
			left := 0
			for _, d := range s.DeferredBy(at(20)) {
				left += len(d.Effects)
			}
			if int64(left) != 7-c.effects {
				t.Errorf("%d effects are left, want %d", left, 7-c.effects)
			}
		})
	}
}

// When an agent is due after a turn, which a schedule that runs ahead asks too: not while its latency passes,
// nor below its ceiling; a change wakes who does not sleep.
func TestDueAfterATurn(t *testing.T) {
	for name, c := range map[string]struct {
		timing Timing
		turn   Turn
		want   float64 // 0 = never
	}{
		"period":            {Timing{Period: time.Second}, Turn{}, 3},
		"latency":           {Timing{Period: time.Second}, Turn{BusyUntil: at(5.5)}, 6},
		"ceiling":           {Timing{Period: time.Second, Least: 10 * time.Second}, Turn{}, 12},
		"nothing":           {Timing{Least: 10 * time.Second}, Turn{BusyUntil: at(5)}, 0},
		"change":            {Timing{WakeOnChange: true}, Turn{Changed: true}, 3},
		"change, asleep":    {Timing{WakeOnChange: true}, Turn{Changed: true, Asleep: true}, 0},
		"change, until":     {Timing{WakeOnChange: true}, Turn{Changed: true, SleepUntil: at(9)}, 9},
		"delivered again":   {Timing{Period: 9 * time.Second}, Turn{WakeAt: at(5)}, 5},
		"delivered at last": {Timing{Period: 9 * time.Second}, Turn{WakeAt: at(1)}, 3},
	} {
		cfg := config(c.timing)
		want := protocol.Time(0)
		if c.want != 0 {
			want = at(c.want)
		}
		if got := cfg.Due(0, c.turn, at(2)); got != want {
			t.Errorf("%s: due at %s, want %s", name, got, want)
		}
		s := New(cfg)
		s.Start(at(0))
		s.TurnEnded(0, c.turn, at(2))
		if got := s.Standing(0).Next; got != want {
			t.Errorf("%s: the agenda has it at %s, want %s", name, got, want)
		}
	}
}

// Only failures in a row count: a turn that ends well forgets those before.
func TestATurnForgetsFailures(t *testing.T) {
	s := New(config(Timing{MaxRestarts: 1}))
	s.Start(at(0))
	s.AgentFailed(s.Failure(0, "oh", nil, at(0)), at(0))
	if f := s.Failure(0, "oh", nil, at(1)); f.Failures != 2 || f.WakeAt != 0 {
		t.Errorf("the second failure in a row: %+v", f)
	}
	s.TurnEnded(0, Turn{Wave: 1}, at(2))
	if f := s.Failure(0, "oh", nil, at(3)); f.Failures != 1 || f.WakeAt == 0 {
		t.Errorf("a failure after a turn: %+v", f)
	}
}

// An agent is given up after the failures that it may have, however many, over a snapshot, too.
func TestManyFailures(t *testing.T) {
	cfg := config(Timing{MaxRestarts: 300})
	s := New(cfg)
	s.Start(at(0))
	for i := range int64(300) {
		if i == 280 {
			raw, err := s.Snapshot(protocol.NewCodec(Facts()))
			if err != nil {
				t.Fatal(err)
			}
			if s, err = Restore(cfg, protocol.NewCodec(Facts()), raw); err != nil {
				t.Fatal(err)
			}
		}
		f := s.Failure(0, "oh", nil, at(1))
		if f.Failures != i+1 || f.WakeAt == 0 {
			t.Fatalf("failure %d: %+v", i+1, f)
		}
		s.AgentFailed(f, at(1))
	}
	if f := s.Failure(0, "oh", nil, at(1)); f.Failures != 301 || f.WakeAt != 0 {
		t.Errorf("the last failure: %+v", f)
	}
}

// What an agent has deferred goes when it leaves, but for what has joined the wave, and nothing interrupts it when it
// comes again. What has reached it waits for it no more.
func TestWhoLeavesHasNothingDeferred(t *testing.T) {
	c := config(Timing{Interrupt: true, InterruptBy: protocol.Low}, Timing{})
	c.Counts = true
	s := New(c)
	s.Start(at(0))
	s.TurnEnded(0, Turn{Wave: 1, BusyUntil: at(9), Urgency: protocol.Low}, at(0))
	for i, agent := range []uint32{0, 0, 1} {
		s.Defer(Deferred{Due: at(float64(2 + i)), Agent: agent})
	}
	s.Reached(0)
	if s.Pending(0, at(8)) != 2 || s.Pending(0, at(9)) != 1 {
		t.Errorf("%d wait for it, and %d when the latency has passed", s.Pending(0, at(8)), s.Pending(0, at(9)))
	}
	s.Removed(Removed{Agent: 0}, at(2))
	if n := s.Unread(0); n != 0 {
		t.Errorf("%d wait for one who left", n)
	}
	if left := s.DeferredBy(at(9)); len(left) != 2 || left[0].Due != at(2) || left[1].Agent != 1 {
		t.Errorf("deferred are %+v", left)
	}
	s.Spawned(Spawned{Agent: 0}, at(2))
	if _, ok := s.Interruption(0, protocol.Critical, "e", at(3)); ok {
		t.Error("it is interrupted in a turn of its former life")
	}
}
