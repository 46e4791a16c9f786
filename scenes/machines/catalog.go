package machines

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// Concerns names the agent whose request a fact answers. wakes reports whether the
// answer wakes the agent like an event of normal priority: a refusal does, because
// the agent waits for it.
func Concerns(f protocol.Fact) (instance string, wakes, ok bool) {
	x, ok := f.(protocol.Answering)
	if !ok {
		return "", false, false
	}
	a, ok := x.Answers()
	return a.To, a.Wakes, ok
}

// ObservationOf is the observation that this agent makes of the fact.
func ObservationOf(f protocol.Fact, at protocol.Time) agent.Observation {
	x, ok := f.(protocol.Answering)
	if !ok {
		return agent.Observation{Time: at}
	}
	a, _ := x.Answers()
	return agent.Observation{Time: at, Kind: a.Kind, Value: x.Told()}
}

// folded refuses a fact that no machine folds, so that a forgotten case is an error.
// The stage folds the facts of the agenda; the other packages fold their own.
func folded(f protocol.Fact) error {
	switch f.(type) {
	case agenda.Fact, agent.Fact, bus.Fact, knowledge.Fact, *world.Committed, *statecmd.Committed, *world.Leased, *world.Released:
		return nil
	case *world.Refused, *worldstate.Granted: // they change nothing
		return nil
	}
	return protocol.Errorf(protocol.KindInternal, "a fact of kind %q: nothing folds it; give it a case in scenes/machines", f.FactKind())
}

// foreign refuses a fact that names agents which the scene does not have, or that
// closes another wave than the open one. Such a fact is of another scene or another
// place in the journal.
func (s *State) foreign(f protocol.Fact) error {
	last := uint32(0)
	switch x := f.(type) {
	case *agenda.WaveClosed:
		if open := s.Agenda.Wave + 1; x.Wave != open {
			return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: it closes wave %d, and wave %d is open: facts are missing or stand elsewhere, bring the journal back from a copy", f.FactKind(), x.Wave, open)
		}
	case *agent.TurnEnded:
		last = x.Agent
	case *agent.Dropped:
		last = x.Agent
	case *agent.Unacknowledged:
		last = x.Agent
	case *agenda.EffectsDeferred:
		last = x.Agent
	case *agenda.AgentFailed:
		last = x.Agent
	case *agenda.Interrupted:
		last = x.Agent
	case *agenda.Blocked:
		last = slices.Max(append(slices.Clone(x.Receivers), x.Agent))
	case *bus.Routed:
		if n := len(x.Receivers); n > 0 { // in their order
			last = x.Receivers[n-1].From + x.Receivers[n-1].Count - 1
		}
	}
	if n := len(s.scene.IDs); int(last) >= n {
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: it names agent %d; the scene has %d: the journal is not of this scene, bring it back from a copy", f.FactKind(), last, n)
	}
	return nil
}
