package scenes

import (
	"fmt"

	"tavernsim/actors"
	"tavernsim/engine/bus/verdict"
	"tavernsim/engine/director"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/setup"
)

// The services of a scene: one actor each, one owner of one state. Each takes
// the requests of a wave in the scene's order, decides, folds its own facts and
// answers with them.

// knowledgeService is the KnowledgeBase service (§3.4).
type knowledgeService struct {
	*scene
	machines.Knowledge
}

// Receive implements actors.Behavior.
func (s *knowledgeService) Receive(env *protocol.Envelope) error {
	if env.Kind == protocol.KindSnapshot {
		raw, err := knowledge.Snapshot(s.Codec, s.State)
		if err != nil {
			return err
		}
		return s.giveState(env.Wave, setup.ActorKnowledge, raw)
	}
	in, err := machines.ReadRequests(env.Body.Raw)
	if err != nil {
		return err
	}
	return s.Decide(in, env.Time, func(facts []protocol.Fact) error {
		bases := s.State // a copy: readers keep the pointer
		s.knowledge.Store(&bases)
		return s.decided(setup.ActorKnowledge, facts, false)
	})
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
	if s.Clock == director.Virtual {
		return verdict.Chain{verdict.InOrder{}}
	}
	c := s.Bus
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
	return &actors.Supervisor{Prefix: s.actorName(""), Failed: failed, New: s.revive, Dead: s.undelivered,
		Lanes: lanes(s.options.Mailbox), Middleware: s.middleware(), Now: s.seen, First: s.first()}
}

// undelivered keeps what a mailbox did not take. An event has its number at the
// receiver all the same: a fold, which does not know who was refused what, counts
// alike.
func (s *scene) undelivered(d actors.DeadLetter) {
	s.dead.Add(d)
	if d.Kind == protocol.KindTurn && d.Priority == protocol.Critical {
		s.alarms.Add(-1)
	}
	if d.Kind != protocol.KindEvent || d.Reason == actors.ReasonStopped {
		return
	}
	if o, ok := s.Ordinal(d.Receiver); ok {
		s.refs[o].Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: director.FactDeadLettered}, Kind: protocol.KindObserve, Wave: d.Wave})
	}
}

// first are the actors that go before agents. On the realtime clock these are the
// scene's own: behind a crowd that thinks, nobody would hear of an alarm. On the
// virtual clock nothing is late, and merging many turns at a time is cheaper.
func (s *scene) first() uint32 {
	if s.Clock == director.Virtual {
		return 0
	}
	return 1<<kindScene | 1<<kindWorld | 1<<kindKnowledge | 1<<kindEvents
}

// decided answers the scene, or gives it a part of the answer.
func (s *scene) decided(actor string, facts []protocol.Fact, more bool) error {
	return s.handOver(protocol.KindDecided, actor, protocol.Decided{More: more}, facts, nil)
}

// giveState answers a request for a snapshot.
func (s *scene) giveState(wave uint64, actor string, state []byte) error {
	s.stage.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Source: actor}, Kind: protocol.KindState, Wave: wave, Body: protocol.NewBody(state)})
	return nil
}

// spawnServices starts the three services from the given state; after a failure
// each is restored from the journal.
func (s *scene) spawnServices(state *machines.State) error {
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

func services() []string { return []string{setup.ActorWorld, setup.ActorKnowledge, setup.ActorEvents} }

func (s *scene) reviveService(actor string) (actors.Behavior, error) {
	restored, err := s.restore(nil)
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", actor, err)
	}
	return s.wrapped(actor, s.service(actor, restored)), nil
}

// owner is where the address of a service stands.
func (s *scene) owner(actor string) **actors.Ref {
	switch actor {
	case setup.ActorWorld:
		return &s.owners.world
	case setup.ActorKnowledge:
		return &s.owners.knowledge
	}
	return &s.owners.events
}

func kindOf(service string) uint8 {
	switch service {
	case setup.ActorWorld:
		return kindWorld
	case setup.ActorKnowledge:
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
func (s *scene) service(actor string, state *machines.State) actors.Behavior {
	switch actor {
	case setup.ActorWorld:
		return s.newWorldService(state.WorldState)
	case setup.ActorKnowledge:
		bases := state.Knowledge
		s.knowledge.Store(&bases)
		return &knowledgeService{s, machines.Knowledge{State: bases}}
	}
	return s.newChannelService(state.Bus)
}
