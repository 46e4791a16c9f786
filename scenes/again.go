package scenes

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/project"
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
		return actorWorld
	case protocol.ToKnowledge:
		return actorKnowledge
	}
	return actorEvents
}

// Definition is the scene's.
func (s *State) Definition() *project.Scene { return s.scene.def }

// Clock is the one that the scene runs on.
func (s *State) Clock() director.ClockKind { return s.scene.clock }

// Wake is the input that begins a deliberation of an agent in the wave after
// this state.
func (s *State) Wake(o uint32, at protocol.Time, seed uint64, workflow string) *agent.Wake {
	m := s.Agents[o]
	return &agent.Wake{
		Now: at, Wave: s.Director.Wave + 1, World: s.World, Knowledge: s.Knowledge, Realtime: s.scene.clock == director.Realtime, Workflow: workflow,
		Draw: drawOf(seed, m.ID.Instance, at, m.State.Turn+1),
	}
}

// Started is the first fact of the scene, but for its seed and project.
func (s *State) Started(at protocol.Time) *director.Started { return s.scene.started(at) }

// Announced is the event that the scene itself publishes because of a fact, if
// any, as a request to the channel.
func (s *State) Announced(f protocol.Fact) (request protocol.Raw, ok bool) {
	return s.scene.announced(f, s.Bus != nil && s.Bus.HearsWorld())
}

// Decide has a service decide about requests in their order and gives its facts,
// a part at a time. Who takes them applies them to the state before it takes the
// next.
func (s *State) Decide(service string, list []protocol.Raw, at protocol.Time, give func([]protocol.Fact) error) error {
	var r requests
	for _, raw := range list {
		r.add(raw)
	}
	in, err := readRequests(r.take())
	if err != nil {
		return err
	}
	switch service {
	case protocol.ToWorld:
		w := worldService{scene: s.scene, state: s.WorldState}
		return w.decide(in, at, func(facts []protocol.Fact, _ bool) error { return give(facts) })
	case protocol.ToKnowledge:
		return (&knowledgeService{scene: s.scene, state: s.Knowledge}).decide(in, at, give)
	}
	channel := s.Bus
	s.Bus = nil // the service folds its own facts
	p := (&channelService{scene: s.scene, state: channel}).publishing(at)
	err = p.decide(in, func(facts []protocol.Fact, _ bool) error { return give(facts) })
	s.Bus = channel
	s.release()
	return err
}

// announced is what the scene asks of the channel because of a fact. Of changes
// of the world it tells when somebody listened as the wave began: who subscribes
// in a wave hears of the next one.
func (s *scene) announced(f protocol.Fact, hearsWorld bool) (protocol.Raw, bool) {
	if c, ok := worldstate.CommitOf(f); ok && hearsWorld {
		return worldUpdate(c), true
	}
	if x, ok := f.(*director.AgentFailed); ok {
		return systemEvent(eventAgentFailed, map[string]any{
			"agent_instance_id": s.name(x.Agent), "error": x.Error, "failures": x.Failures, "given_up": x.WakeAt == 0,
		}), true
	}
	return nil, false
}

// systemEvent is an event of the scene itself, for whoever subscribed.
func systemEvent(typ string, payload map[string]any) protocol.Raw {
	d := protocol.Draft{Type: typ, Source: actorScene, Body: protocol.Encode(payload)}
	return d.AppendMsg(nil)
}

func worldUpdate(c worldstate.Commit) protocol.Raw {
	w := bus.WorldUpdated{Before: c.Before, After: c.After, Changes: make([]bus.WorldChange, len(c.Changes))}
	for i := range c.Changes {
		x := &c.Changes[i]
		w.Changes[i] = bus.WorldChange{Path: x.Path.String(), Op: string(x.Op), By: x.By, Reason: x.Reason, Request: x.Request}
	}
	return w.AppendMsg(nil)
}

const eventAgentFailed = "agent.failed"
