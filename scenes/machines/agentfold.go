package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// AgentFold folds the facts of a journal into the agents that they concern. Machine
// returns nil for the agents that the caller does not fold.
type AgentFold struct {
	Scene   *setup.Scene
	Machine func(uint32) *agent.Machine
	told    []protocol.Fact // failed deliveries, which their publishers observe when the wave closes
}

// Apply folds one fact of a wave.
func (f *AgentFold) Apply(wave uint64, r protocol.Record, fact protocol.Fact) error {
	switch x := fact.(type) {
	case *bus.Routed:
		f.routed(wave, x)
		return nil
	case *agenda.AgentFailed:
		f.with(x.Agent, func(m *agent.Machine) { m.Failed(restartObservation(x, r.Time)) })
		return nil
	case *agenda.Interrupted:
		f.with(x.Agent, func(m *agent.Machine) { m.Interrupted() })
		return nil
	case *agenda.WaveClosed:
		f.tell(r.Time)
		return nil
	}
	if by, _, ok := Concerns(fact); ok {
		f.named(by, func(m *agent.Machine) { m.Observe(ObservationOf(fact, r.Time)) })
		return nil
	}
	if len(agent.Publishers(fact)) > 0 {
		f.told = append(f.told, fact)
	}
	var err error
	f.named(r.Actor, func(m *agent.Machine) { err = m.Apply(fact, r.Time) })
	return err
}

func (f *AgentFold) with(o uint32, do func(*agent.Machine)) {
	if m := f.Machine(o); m != nil {
		do(m)
	}
}

func (f *AgentFold) named(instance string, do func(*agent.Machine)) {
	if o, known := f.Scene.Ordinal(instance); known {
		f.with(o, do)
	}
}

func (f *AgentFold) routed(wave uint64, x *bus.Routed) {
	event := x.Event(f.Scene.ID).Envelope
	event.Wave = wave
	for o := range x.Receivers.All() {
		f.with(o, func(m *agent.Machine) { m.HearAgain(event.At(PriorityFor(x, f.Scene, o))) })
	}
}

// tell adds the observations of publishers after all others of the wave, as the
// live stage does.
func (f *AgentFold) tell(now protocol.Time) {
	for _, fact := range f.told {
		for _, id := range agent.Publishers(fact) {
			f.named(id, func(m *agent.Machine) {
				for _, o := range agent.Undelivered(fact, id, f.Scene.Name, now) {
					m.Observe(o)
				}
			})
		}
	}
	f.told = nil
}

func restartObservation(x *agenda.AgentFailed, now protocol.Time) agent.Observation {
	return agent.Observation{Time: now, Kind: "restart", Value: map[string]any{"error": x.Error, "failures": x.Failures}}
}

// MayConcern reports, without decoding a fact, whether it may concern an agent.
func MayConcern(codec *protocol.Codec, r protocol.Record, instance string) bool {
	return r.Actor == instance || r.Actor[0] == '$' || codec.FactType(r.Kind).Others
}
