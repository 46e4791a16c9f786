package scenes

import (
	"fmt"

	"tavernsim/actors"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// The services of a scene: one actor each, one owner of one state. Each takes
// the requests of a wave in the scene's order, decides, folds its own facts and
// answers with them.

// maxChanges is how many requests a service decides about at a time. It bounds
// the size of a fact, not what a wave may change.
const maxChanges = 4096

// worldService is the WorldStateService (agent architecture §3.6).
type worldService struct {
	*scene
	machine world.Machine
	doc     *world.Document
}

// Receive implements actors.Behavior.
func (s *worldService) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindSnapshot {
		return s.giveState(actorWorld, s.doc.AppendSnapshot(nil))
	}
	in, err := readRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	var facts []protocol.Fact
	for in.left > 0 {
		commit, err := readCommit(in, env.Time)
		if err != nil {
			return err
		}
		d := s.machine.Decide(s.doc, commit)
		facts = append(facts, d.Facts...)
		s.doc = d.Next
	}
	s.world.Store(s.doc)
	return s.decided(actorWorld, facts)
}

func readCommit(in *requestReader, now protocol.Time) (world.Commit, error) {
	raws, err := in.next(maxChanges)
	c := world.Commit{Now: now, Requests: make([]world.Request, len(raws))}
	for i, raw := range raws {
		if c.Requests[i], err = world.ReadRequest(raw); err != nil {
			return c, err
		}
	}
	return c, err
}

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
		return s.giveState(actorKnowledge, raw)
	}
	in, err := readRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	raws, err := in.next(int(in.left))
	if err != nil {
		return err
	}
	commit := knowledge.Commit{Now: env.Time}
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
	s.knowledge.Store(&s.state)
	return s.decided(actorKnowledge, facts)
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
		return s.giveState(actorEvents, raw)
	}
	in, err := readRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	var facts []protocol.Fact
	for in.left > 0 {
		publish, err := readPublish(in, env.Time)
		if err != nil {
			return err
		}
		v := s.state.Decide(publish)
		s.metrics.FilterFailures(len(v.Failures))
		for _, f := range v.Facts {
			s.state.Apply(f)
			if routed, ok := f.(*bus.Routed); ok {
				s.deliver(routed, env.Wave)
			}
		}
		facts = append(facts, v.Facts...)
	}
	return s.decided(actorEvents, facts)
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

// deliver hands one shared envelope to every receiver.
func (s *channelService) deliver(f *bus.Routed, wave uint64) {
	event := f.Event(s.id).Envelope
	event.Wave = wave
	for o := range f.Receivers.All() {
		s.refs[o].Tell(receiverView(event, priorityFor(f, s.scene, o)))
	}
}

// decided answers the scene.
func (s *scene) decided(actor string, facts []protocol.Fact) error {
	return s.handOver(protocol.KindDecided, actor, 0, 0, facts, nil)
}

// giveState answers a request for a snapshot.
func (s *scene) giveState(actor string, state []byte) error {
	s.stage.Tell(&protocol.Envelope{Kind: protocol.KindState, Source: actor, Body: protocol.NewBody(state)})
	return nil
}

// spawnServices starts the three services from the given state; after a failure
// each is restored from the journal.
func (s *scene) spawnServices(state *State) (err error) {
	first := map[string]bool{}
	restored := func(actor string) (*State, error) {
		if !first[actor] {
			first[actor] = true
			return state, nil
		}
		return s.restore()
	}
	spawn := func(actor string, make func(*State) actors.Behavior) *actors.Ref {
		if err != nil {
			return nil
		}
		var ref *actors.Ref
		ref, err = s.system.Spawn(actors.Spec{
			Name: s.actorName(actor), Supervisor: s.sup,
			New: func() (actors.Behavior, error) {
				st, err := restored(actor)
				if err != nil {
					return nil, fmt.Errorf("restore %s: %w", actor, err)
				}
				return make(st), nil
			},
		})
		return ref
	}
	limits := world.Limits{MaxBytes: s.simulation().Limits.MaxWorldBytes}
	s.owners.world = spawn(actorWorld, func(st *State) actors.Behavior {
		s.world.Store(st.World)
		return &worldService{scene: s, machine: world.Machine{Limits: limits, Permissions: s.permissions}, doc: st.World}
	})
	s.owners.knowledge = spawn(actorKnowledge, func(st *State) actors.Behavior {
		s.knowledge.Store(&st.Knowledge)
		return &knowledgeService{scene: s, state: st.Knowledge}
	})
	s.owners.events = spawn(actorEvents, func(st *State) actors.Behavior {
		return &channelService{scene: s, state: st.Bus}
	})
	return err
}
