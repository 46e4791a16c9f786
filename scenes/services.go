package scenes

import (
	"fmt"

	"tavernsim/actors"
	"tavernsim/engine/bus"
	"tavernsim/engine/bus/verdict"
	"tavernsim/engine/director"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// The services of a scene: one actor each, one owner of one state. Each takes
// the requests of a wave in the scene's order, decides, folds its own facts and
// answers with them.

// maxChanges is how many requests a service decides about at a time. It bounds
// the size of a fact, not what a wave may change.
const maxChanges = 4096

// knowledgeService is the KnowledgeBase service (§3.4).
type knowledgeService struct {
	*scene
	state knowledge.State
}

// Receive implements actors.Behavior.
func (s *knowledgeService) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindSnapshot {
		raw, err := knowledge.Snapshot(s.codec, s.state)
		if err != nil {
			return err
		}
		return s.giveState(env.Wave, actorKnowledge, raw)
	}
	in, err := readRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	return s.decide(in, env.Time, func(facts []protocol.Fact) error {
		bases := s.state // a copy: readers keep the pointer
		s.knowledge.Store(&bases)
		return s.decided(actorKnowledge, facts, false)
	})
}

// decide gives the facts of all requests.
func (s *knowledgeService) decide(in *requestReader, now protocol.Time, give func([]protocol.Fact) error) error {
	raws, err := in.next(int(in.left))
	if err != nil {
		return err
	}
	commit := knowledge.Commit{Now: now}
	for _, raw := range raws {
		req, err := readKnowledgeRequest(raw)
		if err != nil {
			return err
		}
		commit.Requests = append(commit.Requests, req)
	}
	facts := knowledge.Decide(s.state, commit)
	for _, f := range facts {
		s.state = knowledge.Apply(s.state, f)
	}
	return give(facts)
}

// readKnowledgeRequest reads what agent.KnowledgeWrite wrote.
func readKnowledgeRequest(raw protocol.Raw) (knowledge.Request, error) {
	v, err := raw.Value()
	if err != nil {
		return knowledge.Request{}, err
	}
	m, _ := v.(map[string]any)
	text := func(name string) string { s, _ := m[name].(string); return s }
	req := knowledge.Request{
		ID: text("id"), KB: text("kb"), By: text("by"), Op: knowledge.Op(text("op")), Mode: knowledge.Mode(text("mode")),
	}
	if req.By == actorScene {
		req.By = "" // the scene itself may do everything
	}
	req.Entry, _ = m["entry"].(map[string]any)
	list, _ := m["permissions"].([]any)
	for _, p := range list {
		if s, ok := p.(string); ok {
			req.Permissions = append(req.Permissions, s)
		}
	}
	return req, nil
}

// channelService is the scene's channel of the IntelligentEventBus (§3.5).
type channelService struct {
	*scene
	state *bus.State
}

// Receive implements actors.Behavior. Deliveries reach the mailboxes before the
// scene hears of them, so whoever is woken next has them.
func (s *channelService) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindSnapshot {
		raw, err := s.state.Snapshot(s.codec)
		if err != nil {
			return err
		}
		return s.giveState(env.Wave, actorEvents, raw)
	}
	in, err := readRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	var routed []*bus.Routed
	return s.decide(in, env.Time, func(facts []protocol.Fact) error {
		for _, f := range facts {
			if r, ok := f.(*bus.Routed); ok {
				routed = append(routed, r)
			}
		}
		if in.left == 0 { // all is decided: nothing can fail between two deliveries
			for _, r := range routed {
				s.deliver(r, env.Wave)
			}
		}
		return s.decided(actorEvents, facts, in.left > 0)
	})
}

// decide gives the facts of all events, a part at a time, when it has folded
// them itself.
func (s *channelService) decide(in *requestReader, now protocol.Time, give func([]protocol.Fact) error) error {
	limits := s.simulation().Limits
	urgent := bus.Room{Events: limits.MaxEventsInWave, Deliveries: limits.MaxDeliveriesInWave}
	room := bus.Room{Events: urgent.Events, Deliveries: urgent.Deliveries, Urgent: &urgent}
	for in.left > 0 {
		publish, err := readPublish(in, now)
		if err != nil {
			return err
		}
		publish.Room = &room
		v := s.state.Decide(publish)
		s.metrics.FilterFailures(len(v.Failures))
		for _, f := range v.Facts {
			s.state.Apply(f)
		}
		if err := give(v.Facts); err != nil {
			return err
		}
	}
	return nil
}

func readPublish(in *requestReader, now protocol.Time) (bus.Publish, error) {
	raws, err := in.next(maxChanges)
	p := bus.Publish{Now: now, Events: make([]*protocol.Draft, len(raws))}
	for i, raw := range raws {
		if p.Events[i], err = protocol.ReadDraft(raw); err != nil {
			return p, err
		}
	}
	return p, err
}

// middleware is the chain in front of every mailbox of the scene.
//
// On the virtual clock events stay in the order in which they were routed, which
// is the journal's. Lanes would let the urgent ones overtake others that happen
// to be waiting still, and so an inbox that overflows would depend on timing. The
// inbox sorts by urgency when it is read.
//
// On the realtime clock order is what happened, and urgent events go first. The
// channel has judged loops, depth and expiry already; what it judged and what
// expired on the way is judged again, for what did not come through it.
func (s *scene) middleware() verdict.Chain {
	if s.clock == director.Virtual {
		return verdict.Chain{verdict.InOrder{}}
	}
	c := s.bus
	return verdict.Chain{verdict.Loop{MaxRevisits: c.MaxRevisits, Action: c.LoopAction}, verdict.Depth{Max: c.MaxDepth}, verdict.Expiry{}}
}

// lanes bounds the mailboxes.
func lanes(events actors.Capacity) (lanes [verdict.Lanes]actors.Capacity) {
	for l := range lanes {
		lanes[l] = events
	}
	return lanes
}

// supervisor is shared by actors of the scene.
func (s *scene) supervisor(failed func(string, *actors.Failure)) *actors.Supervisor {
	return &actors.Supervisor{Prefix: s.actorName(""), Failed: failed, New: s.revive, Dead: s.dead.Add,
		Lanes: lanes(s.options.Mailbox), Middleware: s.middleware(), Now: s.seen}
}

// deliver hands one shared envelope to every receiver.
func (s *channelService) deliver(f *bus.Routed, wave uint64) {
	event := f.Event(s.id).Envelope
	event.Wave = wave
	for o := range f.Receivers.All() {
		s.refs[o].Tell(receiverView(event, priorityFor(f, s.scene, o)))
	}
}

// decided answers the scene, or gives it a part of the answer.
func (s *scene) decided(actor string, facts []protocol.Fact, more bool) error {
	return s.handOver(protocol.KindDecided, actor, protocol.Decided{More: more}, facts, nil)
}

// giveState answers a request for a snapshot.
func (s *scene) giveState(wave uint64, actor string, state []byte) error {
	s.stage.Tell(&protocol.Envelope{Kind: protocol.KindState, Source: actor, Wave: wave, Body: protocol.NewBody(state)})
	return nil
}

// spawnServices starts the three services from the given state; after a failure
// each is restored from the journal.
func (s *scene) spawnServices(state *State) error {
	for i, actor := range services() {
		ref, err := s.system.Spawn(actors.Spec{
			Name: s.actorName(actor), ID: uint32(i), Kind: kindOf(actor), Supervisor: s.sup, First: s.wrapped(actor, s.service(actor, state)),
		})
		if err != nil {
			return err
		}
		*s.owner(actor) = ref
	}
	return nil
}

func services() []string { return []string{actorWorld, actorKnowledge, actorEvents} }

func (s *scene) reviveService(actor string) (actors.Behavior, error) {
	restored, err := s.restore()
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", actor, err)
	}
	return s.wrapped(actor, s.service(actor, restored)), nil
}

// owner is where the address of a service stands.
func (s *scene) owner(actor string) **actors.Ref {
	switch actor {
	case actorWorld:
		return &s.owners.world
	case actorKnowledge:
		return &s.owners.knowledge
	}
	return &s.owners.events
}

func kindOf(service string) uint8 {
	switch service {
	case actorWorld:
		return kindWorld
	case actorKnowledge:
		return kindKnowledge
	}
	return kindEvents
}

// wrapped lets tests stand between an actor and its mailbox.
func (s *scene) wrapped(actor string, b actors.Behavior) actors.Behavior {
	if s.options.wrap == nil {
		return b
	}
	return s.options.wrap(actor, b)
}

// service makes the behaviour of a service that goes on from a state.
func (s *scene) service(actor string, state *State) actors.Behavior {
	switch actor {
	case actorWorld:
		return s.newWorldService(state.WorldState)
	case actorKnowledge:
		bases := state.Knowledge
		s.knowledge.Store(&bases)
		return &knowledgeService{scene: s, state: bases}
	}
	return &channelService{scene: s, state: state.Bus}
}
