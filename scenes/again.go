package scenes

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/director"
	"tavernsim/engine/world"
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
	return s.scene.announced(f)
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
	defer func() { s.Bus = channel }()
	return (&channelService{scene: s.scene, state: channel}).decide(in, at, give)
}

// announced makes the events of the scene itself.
func (s *scene) announced(f protocol.Fact) (protocol.Raw, bool) {
	if c, ok := worldstate.CommitOf(f); ok && s.announceWorld {
		return systemEvent(eventWorldUpdated, worldUpdate(c.After, c.Changes)), true
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

func worldUpdate(after int64, changes []world.Change) map[string]any {
	paths, by := []any{}, []any{}
	for i, ch := range changes {
		if i == maxAnnounced {
			break
		}
		paths = append(paths, ch.Path.String())
		by = append(by, ch.By)
	}
	return map[string]any{"version": after, "paths": paths, "by": by, "changes": int64(len(changes))}
}

const (
	eventWorldUpdated = "world.state.updated"
	eventAgentFailed  = "agent.failed"
	maxAnnounced      = 100 // changes listed in one announcement; "changes" counts all
)

// applyBus folds a fact of the channel, unless somebody else does.
func (s *State) applyBus(f protocol.Fact) {
	if s.Bus != nil {
		s.Bus.Apply(f)
	}
}
