package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
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

// unfolded refuses a fact that no machine folds, so that a forgotten case is an error.
func unfolded(f protocol.Fact) error {
	return protocol.Errorf(protocol.KindInternal, "a fact of kind %q: nothing folds it; give it a case in Apply of its machine", f.FactKind())
}

// foreign refuses a fact that names agents which the scene does not have, or that
// closes another wave than the open one. Such a fact is of another scene or another
// place in the journal.
func (s *State) foreign(f protocol.Fact) error {
	if x, ok := f.(*agenda.WaveClosed); ok && x.Wave != s.Agenda.Wave+1 {
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: it closes wave %d, and wave %d is open: facts are missing or stand elsewhere, bring the journal back from a copy", f.FactKind(), x.Wave, s.Agenda.Wave+1)
	}
	if x, ok := f.(protocol.Naming); ok && int(x.LastAgent()) >= s.scene.Len() {
		return protocol.Errorf(protocol.KindCorrupt, "a fact of kind %q: it names agent %d; the scene has %d: the journal is not of this scene, bring it back from a copy", f.FactKind(), x.LastAgent(), s.scene.Len())
	}
	return nil
}
