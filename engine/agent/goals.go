package agent

import (
	"maps"
	"slices"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/pace"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// A turn of an agent with rules for its goals settles them twice: when it has perceived,
// and when all that it decided is carried out. What follows from a change is a part of the
// turn, so that a turn that leaves nothing leaves no change either.

// rest is how an agent rests since its last turn that was not idle.
type rest struct {
	At     protocol.Time
	Until  protocol.Time
	Asleep bool
	Above  protocol.Priority
}

const (
	observedGoal = "goal_changed" // kind of an observation

	// maxSettling bounds how often a turn settles again because something followed from a
	// change. What is left is for the next turn.
	maxSettling = 16
)

// met are the drives as they were last met.
func (s *State) met() []goal.Met {
	if s.more == nil {
		return nil
	}
	return s.more.met
}

func (s *State) rested() rest {
	if s.more == nil {
		return rest{}
	}
	return s.more.rest
}

func (s *State) meet(f *agentfact.DriveMet, at protocol.Time) {
	s.change().met = goal.Meet(s.met(), goal.Met{Drive: f.Drive, At: at, Level: f.Level})
}

// rests notes how a turn left its agent.
func (s *State) rests(f *agentfact.TurnEnded, at protocol.Time) {
	d := s.change()
	if f.Outcome != agentfact.OutcomeIdle {
		d.rest = rest{At: at, Until: f.SleepUntil, Asleep: f.Asleep, Above: f.WakeAbove}
	}
	if f.Outcome != agentfact.OutcomeInterrupted && f.Outcome != agentfact.OutcomeCancelled {
		d.unheard = false // the turn has asked again
	}
}

func (m *Machine) applyGoal(f *agentfact.GoalChanged, at protocol.Time) error {
	more, err := f.More.Sealed()
	if err != nil {
		return err
	}
	g := f.Goal
	g.More = more
	m.State.Goals = goal.Put(m.State.Goals, g, false)
	if f.Observe {
		m.State.observations = append(m.State.observations, Observation{Time: at, Kind: observedGoal, Value: f.Observed()})
	}
	return nil
}

// openGoals takes the events out of what is perceived that only tell of watched places.
func (t *Turn) openGoals() {
	all := len(t.events)
	t.events = slices.DeleteFunc(t.events, func(e *protocol.Envelope) bool {
		return e.Type == bus.TypeWorldWatched && cast.OfScene(e.Source)
	})
	t.stirred = all - len(t.events)
}

// perceiveGoals settles the goals before the core workflow; false = the turn is idle.
func (t *Turn) perceiveGoals() bool {
	if t.m.Def.Motive != nil {
		t.settleGoals()
	}
	r, now, sleep := t.m.State.rested(), t.wake.Now, t.m.State.pace().Asleep()
	due := r.At == 0 || r.Asleep && r.Until != 0 && r.Until <= now || !r.Asleep && t.m.Def.Period > 0 && r.At.Add(t.m.Def.Period) <= now
	asleep, news := r.Asleep && sleep.When.Expr != "", len(t.events)+len(t.observations)
	if asleep { // what waits for its end does not end it
		news = sleep.Waking(t.events, r.Above) + len(t.observations) - len(t.m.Shown(t.end.Seen))
	}
	t.idle = (t.stirred > 0 || asleep) && !due && news == 0 && len(t.out.Facts) == 0 && t.wake.Workflow == "" && t.played == nil
	if asleep && !due && sleep.When.Holds(goalEnv{t}) {
		t.idle, t.observations = false, append(slices.Clip(t.observations), Observation{Time: now, Kind: pace.Woke, Value: sleep.Woken()})
	}
	if t.idle {
		t.end.Outcome, t.dozes = agentfact.OutcomeIdle, sleep
		t.end.Perceived, t.end.Seen = int64(t.stirred), 0
		if r.Asleep {
			t.end.Asleep, t.end.SleepUntil, t.end.WakeAbove = true, r.Until, r.Above
		}
	}
	return !t.idle
}

// settleGoals decides where the goals stand, until nothing follows any more.
func (t *Turn) settleGoals() {
	for range maxSettling {
		changes := t.goals.Settle(goalEnv{t}, &t.own, &t.out)
		for i := range changes {
			t.goalChanged(&changes[i], "")
		}
		if len(changes) == 0 {
			return
		}
	}
}

// goalChanged keeps a change and carries out what follows from it.
func (t *Turn) goalChanged(c *goal.Change, by string) {
	f, observe, err := t.goals.Note(c, by, &t.own, &t.out)
	if observe && !t.goals.Closing {
		t.observations = append(slices.Clip(t.observations), Observation{Time: t.wake.Now, Kind: observedGoal, Value: f.Observed()})
	}
	if err != nil {
		t.problem("goal " + f.Goal.ID + ": what its end brings: " + err.Error())
	}
}

// closeGoals settles the goals after all that the turn has decided, and asks for what follows
// from where they stand.
func (t *Turn) closeGoals() {
	if t.goals.Closing = true; t.idle {
		return
	}
	if t.m.Def.Motive != nil {
		t.settleGoals()
	}
	t.goals.Answer(&t.out)
	t.watchGoals()
}

// watchGoals subscribes to the places that conditions read since this turn, and no more to
// those that none reads.
func (t *Turn) watchGoals() {
	sleep := t.m.State.pace().Asleep()
	before, after := sleep.Watched(goal.Watched(t.m.State.Goals)), t.dozes.Watched(goal.Watched(t.goals.Goals))
	change := bus.Change{Agent: t.m.ID.Instance}
	if t.m.State.more != nil && t.m.State.more.unheard {
		before = nil // the channel leaves out what it has
	}
	for _, p := range after {
		if !slices.Contains(before, p) {
			change.Add = append(change.Add, bus.Subscription{Type: bus.TypeWorldWatched, Path: p})
		}
	}
	for _, p := range before {
		if !slices.Contains(after, p) {
			change.Remove = append(change.Remove, bus.Subscription{Type: bus.TypeWorldWatched, Path: p})
		}
	}
	if len(change.Add)+len(change.Remove) > 0 {
		t.out.Request(bus.Service, change.AppendMsg)
	}
}

// Goals lists the goals, the highest rank first; without rules they have no rank.
func (m *Machine) Goals(now protocol.Time) []goal.Ranked {
	if m.Def.Motive != nil {
		return m.Def.Motive.Ranked(m.State.Goals, m.State.met(), now)
	}
	list := make([]goal.Ranked, len(m.State.Goals))
	for i, g := range m.State.Goals {
		list[i].Goal = g
	}
	return list
}

// Drives lists how strong the drives are.
func (m *Machine) Drives(now protocol.Time) map[string]int64 { return m.drives(m.State.met(), now) }

func (m *Machine) drives(met []goal.Met, now protocol.Time) map[string]int64 {
	if m.Def.Motive == nil || len(m.Def.Motive.Drives) == 0 {
		return nil
	}
	levels := map[string]int64{}
	for i := range m.Def.Motive.Drives {
		d := &m.Def.Motive.Drives[i]
		levels[d.ID] = d.Level(met, now)
	}
	return levels
}

// goalEnv gives conditions of goals what they read.
type goalEnv struct{ *Turn }

// Lookup implements expr.Env.
func (e goalEnv) Lookup(root string) (any, bool) {
	t := e.Turn
	switch root {
	case "world":
		if t.world.Document == nil {
			return nil, false
		}
		return t.world.Value(), true
	case "self":
		self := maps.Clone(t.m.self())
		drives := map[string]any{}
		for id, level := range t.m.drives(t.goals.Met, t.wake.Now) {
			drives[id] = float64(level) / goal.One
		}
		self["private_state"], self["drives"] = t.own.Private, drives
		return self, true
	case "goals":
		list := make([]any, len(t.goals.Goals))
		for i := range t.goals.Goals {
			list[i] = t.goals.Told.Value(&t.goals.Goals[i])
		}
		return list, true
	case "now":
		return goal.NowValue(t.wake.Now), true
	}
	return nil, false
}
