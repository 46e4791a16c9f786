package scenes

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/protocol"
	"tavernsim/scenes/setup"
)

// interrupt keeps the interruptions of an event for the end of the wave.
func (st *stage) interrupt(x *bus.Routed) {
	if st.wave.interrupted == nil && st.Interrupts {
		st.wave.interrupted = map[uint32]bool{}
	}
	for _, f := range st.state.Interruptions(x, st.wave.interrupted, st.wave.time) {
		st.wave.keep(setup.ActorScene, f)
	}
}

// block has the publisher of an event wait for the receivers whose lanes it
// found full. The fact stands right behind the event's.
func (st *stage) block(x *bus.Routed) error {
	f := st.state.Blocked(x)
	if f == nil {
		return nil
	}
	st.state.Director.Blocked(*f, st.wave.number)
	return st.keepTyped(setup.ActorScene, f)
}

// tellAgents lets agents know what the wave that was just closed decided about
// them, in the order in which a fold does.
func (st *stage) tellAgents(w *wave) {
	for _, o := range w.observe {
		st.refs[o.agent].Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: o.kind, Time: w.time}, Kind: protocol.KindObserve, Wave: w.number, Body: protocol.NewBody(o.data)})
	}
	for _, o := range w.undelivered {
		st.refs[o.agent].Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: o.kind, Time: w.time}, Kind: protocol.KindObserve, Wave: w.number, Body: protocol.NewBody(o.data)})
	}
}

// undelivered notes whose publishers are told that a delivery came to nothing.
func (st *stage) undelivered(fact protocol.Fact, f protocol.KindData) {
	for _, id := range agent.Publishers(fact) {
		if o, ok := st.Ordinal(id); ok {
			st.wave.undelivered = append(st.wave.undelivered, observation{o, f.Kind, f.Data})
		}
	}
}

// tellInterrupted lets an agent know that what it had asked for is cancelled.
func (st *stage) tellInterrupted(x *director.Interrupted) {
	st.refs[x.Agent].Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: director.FactInterrupted, Time: st.wave.time}, Kind: protocol.KindObserve, Wave: st.wave.number})
}
