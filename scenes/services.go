package scenes

import (
	"fmt"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
	"tavernsim/scenes/glance"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/machines/packed"
)

// serviceShell is the actor of a service and owns the service's state. It gives the
// requests of a wave to its machine in the scene's order, and answers the stage with
// the facts and the new view.
type serviceShell struct {
	*scene
	machines.Service
	kind machines.ServiceKind
	next uint32        // place of the next message with requests of the open wave
	took time.Duration // to decide about those before
}

// early is the type of a message whose requests others of the wave follow.
const early = "early"

// Receive implements actors.Behavior.
func (s *serviceShell) Receive(env *protocol.Envelope) error {
	if l := glance.Asks(env); l != nil {
		l.Fill(func(seen *glance.Seen) error {
			seen.Subscriptions = machines.Subscriptions(s.Scene, s.Service.(*machines.Events).State, l.Agent)
			return nil
		})
		return nil
	}
	if env.Kind == protocol.KindSnapshot {
		raw, err := s.Snapshot(s.Codec)
		if err != nil {
			return err
		}
		return s.giveState(env.Wave, s.kind.Actor(), raw)
	}
	start, ends := s.options.Serial.Began(), s.options.Serial.Service
	if env.Type == early {
		ends = s.options.Serial.Early
	}
	defer func() { ends(start) }()
	in, err := packed.Read(env.Body.Raw)
	if err != nil {
		return err
	}
	if env.Place != s.next { // it was sent before a failure, and is sent again
		return nil
	}
	if in.Open = env.Type == early; in.Open {
		s.next++
	} else {
		s.next = 0
	}
	before, err := carried[*machines.View](env)
	if err != nil {
		return err
	}
	if o, ok := s.Service.(machines.Observer); ok {
		o.Look(before)
	}
	began := time.Now()
	err = s.Decide(in, env.Time, func(facts []protocol.Fact, more bool) error {
		var view *machines.View
		if !more {
			view = before.With(s.kind.Name, s.Publish())
			// After the last decision, so that no failure comes between two deliveries, and
			// before the answer, so that an agent gets its events before its next wake.
			if d, ok := s.Service.(machines.Deliverer); ok {
				d.Deliver(env.Wave, s.seats.Tell)
			}
		}
		return s.decided(s.kind.Actor(), facts, view)
	})
	if s.took += time.Since(began); !in.Open {
		s.measureService(s.took)
		s.took = 0
	}
	return err
}

// middleware is the chain in front of every mailbox of the scene.
//
// On the virtual clock events keep the order in which they were routed, which is the
// journal's. With lanes, urgent events would overtake those that happen to wait, so
// the events that a full inbox drops would depend on timing. A turn sorts its events
// by urgency when it perceives them.
//
// On the realtime clock urgent events go first. The mailbox applies the rules about
// loops, depth and expiry again: events may expire on the way, and some do not come
// through the channel.
func (s *scene) middleware() delivery.Chain {
	if s.Clock == agenda.Virtual {
		return delivery.Chain{delivery.InOrder{}}
	}
	c := s.Bus
	return delivery.Chain{delivery.Loop{MaxRevisits: c.MaxRevisits, Action: c.LoopAction}, delivery.Depth{Max: c.MaxDepth}, delivery.Expiry{}}
}

// lanes bounds the mailboxes.
func lanes(events actors.Capacity) (lanes [delivery.Lanes]actors.Capacity) {
	for l := range lanes {
		lanes[l] = events
	}
	return lanes
}

// supervisor makes the supervisor of the scene's actors.
func (s *scene) supervisor(failed func(string, *actors.Failure)) *actors.Supervisor {
	return &actors.Supervisor{Prefix: s.actorName(""), Failed: failed, New: s.revive, Dead: s.undelivered, Name: func(_ uint8, o uint32) string { return s.Name(o) },
		Lanes: lanes(s.options.Mailbox), Middleware: s.middleware(), Now: s.seen, First: s.first()}
}

// undelivered collects a message that a mailbox refused. A refused event still takes
// a number at its receiver, because a fold counts every routed event.
func (s *scene) undelivered(d actors.DeadLetter) {
	s.dead.Add(d)
	if d.Kind == protocol.KindTurn && d.Priority == protocol.Critical {
		s.alarms.Add(-1)
	}
	if d.Kind != protocol.KindEvent || d.Reason == actors.ReasonStopped {
		return
	}
	if o, ok := s.Ordinal(d.Receiver); ok {
		s.seats.Tell(o, &protocol.Envelope{EventHeader: protocol.EventHeader{Type: agenda.FactDeadLettered}, Kind: protocol.KindObserve, Wave: d.Wave, Place: d.Place})
	}
}

// first are the kinds of actors that run before agents. On the realtime clock these
// are the stage and the services; behind many agents they would be late for critical
// events. On the virtual clock lateness does not matter, and merging many turns at
// once is cheaper.
func (s *scene) first() uint32 {
	if s.Clock == agenda.Virtual {
		return 0
	}
	first := uint32(1 << kindScene)
	for i := range machines.Services() {
		first |= 1 << kindOf(i)
	}
	return first
}

// decided sends the stage a part of a decision; the last part has the view.
func (s *scene) decided(actor string, facts []protocol.Fact, view *machines.View) error {
	kept, _, err := s.Codec.Keep(facts, nil)
	if err != nil {
		return err
	}
	for i := range kept {
		kept[i].Fact = facts[i]
	}
	env := carrying(protocol.KindDecided, &machines.ServiceAnswered{Facts: kept, More: view == nil, View: view})
	env.Source = actor
	s.stage.Tell(env)
	return nil
}

// giveState sends the stage an actor's state for a snapshot.
func (s *scene) giveState(wave uint64, actor string, state []byte) error {
	s.stage.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Source: actor}, Kind: protocol.KindState, Wave: wave, Body: protocol.NewBody(state)})
	return nil
}

// spawnServices starts the services from a state.
func (s *scene) spawnServices(state *machines.State) error {
	for i, kind := range machines.Services() {
		ref, err := s.system.Spawn(actors.Spec{
			Name: s.actorName(kind.Actor()), ID: uint32(i), Kind: kindOf(i), Supervisor: s.sup, First: s.service(i, state.Services[i]),
		})
		if err != nil {
			return err
		}
		s.services = append(s.services, ref)
	}
	return nil
}

// reviveService folds the service alone: agents that are passive have no other state than the one that
// the seats keep.
func (s *scene) reviveService(i int) (actors.Behavior, error) {
	kind := machines.Services()[i]
	service, facts, err := history.Service(s.Scene, s.journal, kind, history.Options{Log: s.log})
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", kind.Actor(), err)
	}
	s.metrics.Replayed(int(facts))
	return s.service(i, service), nil
}

// service makes the behaviour of a service with its machine.
func (s *scene) service(i int, machine machines.Service) actors.Behavior {
	if f, ok := machine.(machines.Filterer); ok {
		f.WatchFilters(s.filters().failed)
	}
	shell := serviceShell{scene: s, Service: machine, kind: machines.Services()[i]}
	if t, ok := machine.(*machines.Tasks); ok {
		return s.wrapped(shell.kind.Actor(), &taskShell{serviceShell: shell, machine: t})
	}
	return s.wrapped(shell.kind.Actor(), &shell)
}

// wrapped lets tests replace the behaviour of an actor.
func (s *scene) wrapped(actor string, b actors.Behavior) actors.Behavior {
	if s.options.wrap == nil {
		return b
	}
	return s.options.wrap(actor, b)
}
