package machines

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/director"
	"tavernsim/protocol"
	"tavernsim/scenes/project"
	"tavernsim/scenes/setup"
)

// What follows asks the machines of a folded state to decide, as the actors of a
// live scene do: for those who hold a history to its rules (scenes/verify).

// Services in the order in which they decide about a wave.
func (s *State) Services() []string {
	return []string{protocol.ToWorld, protocol.ToKnowledge, protocol.ToEvents}
}

// Actor is who a service's facts are of.
func (s *State) Actor(service string) string {
	switch service {
	case protocol.ToWorld:
		return setup.ActorWorld
	case protocol.ToKnowledge:
		return setup.ActorKnowledge
	}
	return setup.ActorEvents
}

// Definition is the scene's.
func (s *State) Definition() *project.Scene { return s.scene.Def }

// Clock is the one that the scene runs on.
func (s *State) Clock() director.ClockKind { return s.scene.Clock }

// Wake is the input that begins a deliberation of an agent in the wave after
// this state.
func (s *State) Wake(o uint32, at protocol.Time, seed uint64, workflow string) *agent.Wake {
	m := s.Agents[o]
	return &agent.Wake{
		Now: at, Wave: s.Director.Wave + 1, World: s.World, Knowledge: s.Knowledge, Realtime: s.scene.Clock == director.Realtime, Workflow: workflow,
		Draw: setup.DrawOf(seed, m.ID.Instance, at, m.State.Turn+1),
	}
}

// Started is the first fact of the scene, but for its seed and project.
func (s *State) Started(at protocol.Time) *director.Started { return s.scene.Started(at) }

// Announced is the event that the scene itself publishes because of a fact, if
// any, as a request to the channel.
func (s *State) Announced(f protocol.Fact) (request protocol.Raw, ok bool) {
	return Announced(s.scene, f, s.Bus != nil && s.Bus.HearsWorld())
}

// Decide has a service decide about requests in their order and gives its facts,
// a part at a time. Who takes them applies them to the state before it takes the
// next.
func (s *State) Decide(service string, list []protocol.Raw, at protocol.Time, give func([]protocol.Fact) error) error {
	var r Requests
	for _, raw := range list {
		r.Add(raw)
	}
	in, err := ReadRequests(r.Take())
	if err != nil {
		return err
	}
	switch service {
	case protocol.ToWorld:
		w := World{Rules: s.scene.Rules, State: s.WorldState}
		return w.Decide(in, at, func(facts []protocol.Fact, _ bool) error { return give(facts) })
	case protocol.ToKnowledge:
		return (&Knowledge{State: s.Knowledge}).Decide(in, at, give)
	}
	channel := s.Bus
	s.Bus = nil // the service folds its own facts
	err = Publish(s.scene, channel, at).Decide(in, func(facts []protocol.Fact, _ bool) error { return give(facts) })
	s.Bus = channel
	s.release()
	return err
}
