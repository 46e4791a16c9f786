package machines

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// AgentFold folds the facts of a journal into the agents that they concern. Machine
// returns nil for the agents that the caller does not fold.
type AgentFold struct {
	Scene   *setup.Scene
	Machine func(uint32) *agent.Machine
	late    []protocol.Fact        // facts of the open wave that agents learn of when the wave closes
	missed  []*agenda.DeadLettered // refusals of the open wave
	actor   string                 // looked up last: the facts of a turn follow one another
	ordinal uint32
	known   bool
}

// Apply folds one fact of a wave. Agents hear events when the wave is closed: what
// their mailboxes refused is recorded behind the events.
func (f *AgentFold) Apply(r protocol.Record, fact protocol.Fact) error {
	var err error
	switch x := fact.(type) {
	case *bus.Routed:
		for o := range x.Receivers.All() {
			if f.Machine(o) != nil {
				f.late = append(f.late, fact)
				break
			}
		}
	case *agenda.Interrupted:
		f.late = append(f.late, fact)
	case *agenda.DeadLettered:
		f.missed = append(f.missed, x)
	case *agenda.AgentFailed:
		o := agent.Observation{Time: r.Time, Kind: "restart", Value: map[string]any{"error": x.Error, "failures": x.Failures}}
		f.with(x.Agent, func(m *agent.Machine) { m.Failed(o) })
	case *agenda.Spawned:
		f.with(x.Agent, func(m *agent.Machine) { err = f.Scene.Enter(m, x) })
	case *agenda.Removed:
		f.with(x.Agent, f.Scene.Leave)
	case *travel.Departed:
		f.with(x.Agent, f.Scene.Leave)
	case *travel.Arrived:
		f.with(x.Agent, func(m *agent.Machine) { err = f.Scene.Arrive(m, x, r.Time) })
	case *travel.Returned:
		f.with(x.Agent, func(m *agent.Machine) { err = f.Scene.Arrive(m, x, r.Time) })
	case *agenda.WaveClosed:
		f.close(x.Wave, r.Time)
	default:
		if by, _, ok := Concerns(fact); ok {
			f.named(by, func(m *agent.Machine) { m.Observe(ObservationOf(fact, r.Time)) })
			break
		}
		if len(agentfact.Publishers(fact)) > 0 {
			f.late = append(f.late, fact)
		}
		f.named(r.Actor, func(m *agent.Machine) { err = m.Apply(fact, r.Time) })
	}
	return err
}

func (f *AgentFold) with(o uint32, do func(*agent.Machine)) {
	if m := f.Machine(o); m != nil {
		do(m)
	}
}

func (f *AgentFold) named(instance string, do func(*agent.Machine)) {
	if f.actor != instance {
		f.actor = instance
		f.ordinal, f.known = f.Scene.Ordinal(instance)
	}
	if f.known {
		f.with(f.ordinal, do)
	}
}

// close folds what the live stage tells agents last, in its order.
func (f *AgentFold) close(wave uint64, now protocol.Time) {
	for _, fact := range f.late {
		switch x := fact.(type) {
		case *bus.Routed:
			f.routed(wave, x)
		case *agenda.Interrupted:
			f.with(x.Agent, (*agent.Machine).Interrupted)
		default:
			for _, id := range agentfact.Publishers(fact) {
				f.named(id, func(m *agent.Machine) {
					for _, v := range agentfact.Undelivered(fact, id, f.Scene.Name) {
						m.Observe(agent.Observation{Time: now, Kind: agentfact.ObservedUndelivered, Value: v})
					}
				})
			}
		}
	}
	f.late, f.missed = nil, nil
}

func (f *AgentFold) routed(wave uint64, x *bus.Routed) {
	event := x.Event(f.Scene.ID).Envelope
	event.Wave = wave
	for o := range x.Receivers.All() {
		f.with(o, func(m *agent.Machine) {
			if slices.ContainsFunc(f.missed, func(l *agenda.DeadLettered) bool { return l.Event == x.ID && l.Receiver == m.ID.Instance }) {
				m.Missed(event)
			} else {
				m.HearAgain(event.At(PriorityFor(x, f.Scene, o)))
			}
		})
	}
}
