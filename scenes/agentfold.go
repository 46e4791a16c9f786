package scenes

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/protocol"
)

// agentFold lets the agents that a fact concerns know it, as a journal is read.
// machine returns nil for those that somebody else folds.
type agentFold struct {
	scene   *scene
	machine func(uint32) *agent.Machine
	told    []protocol.Fact // deliveries whose publishers are told when the wave is closed
}

func (f *agentFold) apply(wave uint64, r protocol.Record, fact protocol.Fact) error {
	switch x := fact.(type) {
	case *bus.Routed:
		f.routed(wave, x)
		return nil
	case *director.AgentFailed:
		f.with(x.Agent, func(m *agent.Machine) { m.Failed(restartObservation(x, r.Time)) })
		return nil
	case *director.Interrupted:
		f.with(x.Agent, func(m *agent.Machine) { m.Interrupted() })
		return nil
	case *director.WaveClosed:
		f.tell(r.Time)
		return nil
	}
	if by, _, ok := concerns(fact); ok {
		f.named(by, func(m *agent.Machine) { m.Observe(refusalOf(fact, r.Time)) })
		return nil
	}
	if len(agent.Publishers(fact)) > 0 {
		f.told = append(f.told, fact)
	}
	var err error
	f.named(r.Actor, func(m *agent.Machine) { err = m.Apply(fact, r.Time) })
	return err
}

func (f *agentFold) with(o uint32, do func(*agent.Machine)) {
	if m := f.machine(o); m != nil {
		do(m)
	}
}

func (f *agentFold) named(instance string, do func(*agent.Machine)) {
	if o, known := f.scene.ordinal(instance); known {
		f.with(o, do)
	}
}

func (f *agentFold) routed(wave uint64, x *bus.Routed) {
	event := x.Event(f.scene.id).Envelope
	event.Wave = wave
	for o := range x.Receivers.All() {
		f.with(o, func(m *agent.Machine) { m.HearAgain(receiverView(event, priorityFor(x, f.scene, o))) })
	}
}

// tell lets publishers know, after everything else of the wave, as the live
// scene does.
func (f *agentFold) tell(now protocol.Time) {
	for _, fact := range f.told {
		for _, id := range agent.Publishers(fact) {
			f.named(id, func(m *agent.Machine) {
				for _, o := range agent.Undelivered(fact, id, f.scene.name, now) {
					m.Observe(o)
				}
			})
		}
	}
	f.told = nil
}

func restartObservation(x *director.AgentFailed, now protocol.Time) agent.Observation {
	return agent.Observation{Time: now, Kind: "restart", Value: map[string]any{"error": x.Error, "failures": x.Failures}}
}

// interrupt keeps the interruptions of an event for the end of the wave.
func (st *stage) interrupt(x *bus.Routed) {
	if st.wave.interrupted == nil && st.interrupts {
		st.wave.interrupted = map[uint32]bool{}
	}
	for _, f := range st.state.Interruptions(x, st.wave.interrupted, st.wave.time) {
		st.wave.keep(actorScene, f)
	}
}

// Interruptions are those of the receivers of an event that are busy on the
// virtual clock and interrupted by it: once for each agent in a wave, which done
// remembers.
func (s *State) Interruptions(x *bus.Routed, done map[uint32]bool, now protocol.Time) (list []*director.Interrupted) {
	if !s.scene.interrupts {
		return nil
	}
	for o := range x.Receivers.All() {
		f, ok := s.Director.Interruption(o, priorityFor(x, s.scene, o), x.ID, now)
		if ok && !done[o] {
			done[o] = true
			list = append(list, &f)
		}
	}
	return list
}

// tellAgents lets agents know what the wave that was just closed decided about
// them, in the order in which a fold does.
func (st *stage) tellAgents(w *wave) {
	for _, o := range w.observe {
		st.refs[o.agent].Tell(&protocol.Envelope{Kind: protocol.KindObserve, Type: o.kind, Time: w.time, Wave: w.number, Body: protocol.NewBody(o.data)})
	}
	for _, o := range w.undelivered {
		st.refs[o.agent].Tell(&protocol.Envelope{Kind: protocol.KindObserve, Type: o.kind, Time: w.time, Wave: w.number, Body: protocol.NewBody(o.data)})
	}
}

// undelivered notes whose publishers are told that a delivery came to nothing.
func (st *stage) undelivered(fact protocol.Fact, f protocol.KindData) {
	for _, id := range agent.Publishers(fact) {
		if o, ok := st.ordinal(id); ok {
			st.wave.undelivered = append(st.wave.undelivered, observation{o, f.Kind, f.Data})
		}
	}
}

// tellInterrupted lets an agent know that what it had asked for is cancelled.
func (st *stage) tellInterrupted(x *director.Interrupted) {
	st.refs[x.Agent].Tell(&protocol.Envelope{Kind: protocol.KindObserve, Type: director.FactInterrupted, Time: st.wave.time, Wave: st.wave.number})
}
