package agent

import (
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/pace"
	"tavernsim/protocol"
)

// pace is how the agent rests beyond its times; nil = as these say.
func (s *State) pace() *pace.Kept {
	if s.more == nil {
		return nil
	}
	return s.more.pace
}

func (s *State) keepPace(k *pace.Kept) {
	if k != s.pace() {
		s.change().pace = k
		s.slim()
	}
}

// Watches reports whether an agent without rules for its goals watches, or has watched, places of the world
// while it sleeps.
func (s *State) Watches() bool { return s.rested().At != 0 || s.pace().Asleep().When.Expr != "" }

func (m *Machine) applyRests(f *agentfact.Rests, at protocol.Time) error {
	if f.Until != 0 {
		m.State.observations = append(m.State.observations, Observation{Time: at, Kind: pace.Reached, Value: pace.Observed(f)})
	}
	next, err := m.State.pace().Rests(f)
	m.State.keepPace(next)
	return err
}

// rests decides how the agent rests from the end of the turn.
func (t *Turn) rests() {
	if have := t.m.State.pace(); t.m.Def.Pace != nil || have != nil || t.dozes.Any() {
		if f := have.Decide(t.m.Def.Pace, t.out.Facts, &t.end, len(t.out.Requests) > 0, t.m.Def.Period, t.dozes, t.wake.Now); f != nil {
			t.out.Note(f)
		}
	}
}

// wakeToLook finds when a turn that did not run its core workflow must be made up for, and when an agent that
// sleeps looks whether something wakes it early.
func (t *Turn) wakeToLook(wake func(protocol.Time)) {
	if t.idle && !t.end.Asleep && t.m.Def.Period > 0 {
		wake(t.m.State.rested().At.Add(t.m.Def.Period))
	}
	if t.end.Asleep {
		wake(t.dozes.Look(t.idle, t.wake.Now, goalEnv{t}))
	}
}
