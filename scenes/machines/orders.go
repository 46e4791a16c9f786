package machines

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/engine/travel"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/tally"
)

// An order from outside is a wave without turns. Its first fact is the order. The world
// decides about its changes as one transaction; only if it agrees, the order's events are
// published in the same wave. So an order is carried out as a whole or not at all, and a
// kill leaves all of it or nothing.

// MaxOrders bounds the orders that wait for their wave and have no wave or time.
const MaxOrders = 256

// ordered takes an order from outside.
func (s *Stage) ordered(in *Order) error {
	s.orders = slices.Insert(s.orders, in.place(s.orders), in)
	return s.next()
}

// place is where an order stands among those that wait: a letter before every later one, which may
// have been brought to the front meanwhile ([Stage.first]), anything else behind all others.
func (o *Order) place(among []*Order) int {
	if o.By == travel.By {
		if i := slices.IndexFunc(among, func(x *Order) bool { return x.laterLetter(o) }); i >= 0 {
			return i
		}
	}
	return len(among)
}

// CheckOrder refuses an order that cannot be carried out in a scene.
func CheckOrder(sc *setup.Scene, o *agenda.Intervened) error {
	p, err := order.Read(o.ID, o.Reason, o.Do)
	if err != nil {
		return err
	}
	if p.Letter != nil {
		return protocol.Errorf(protocol.KindInvalid, "do[0].%s: scenes alone tell each other of trips; want travel", p.Letter.Kind)
	}
	if p.Plugins != nil {
		return protocol.Errorf(protocol.KindInvalid, "do[0].plugins_changed: simd alone tells a scene that plugins were read again; want simd control DIR reload")
	}
	for _, c := range p.Stage {
		if err := c.Check(sc); err != nil {
			return err
		}
	}
	member := func(id string) bool { o, ok := sc.Ordinal(id); return ok && tally.Deliberates(sc, o) }
	if err := p.CheckSeats(o.By, sc.Interactive, member); err != nil {
		return err
	}
	if err := p.Aim(sc, setup.ActorScene); err != nil {
		return protocol.Errorf(protocol.KindOf(err), "do: %w", err)
	}
	return checkScript(sc, p)
}

// orderDue reports whether an order is the next wave, and brings it to the front. Orders
// of one moment keep their order.
func (s *Stage) orderDue() bool {
	i := slices.IndexFunc(s.orders, func(o *Order) bool { return s.allowed(o, s.moment()) })
	s.first(i)
	return i >= 0
}

// allowed reports whether an order may be the next wave at a time.
func (s *Stage) allowed(o *Order, now protocol.Time) bool {
	return s.reached(o) && (o.After == 0 || s.orderTime(o) <= now)
}

// reached reports whether the next wave may be the one that an order names.
func (s *Stage) reached(o *Order) bool { return o.Wave <= s.Agenda.Wave+1 }

// nextOrder is the index of the order with the earliest time, of those that may be the
// next wave; -1 = none.
func (s *Stage) nextOrder() int {
	found := -1
	for i, o := range s.orders {
		if o.After != 0 && s.reached(o) && (found < 0 || o.After < s.orders[found].After) {
			found = i
		}
	}
	return found
}

// orderTime is the time of an order. On the virtual clock its wave may be later, at a tick.
func (s *Stage) orderTime(o *Order) protocol.Time { return s.Agenda.Begun().Add(o.After) }

// first brings an order to the front.
func (s *Stage) first(i int) {
	if i > 0 {
		o := s.orders[i]
		copy(s.orders[1:], s.orders[:i])
		s.orders[0] = o
	}
}

// openOrder opens the wave of the first order. One that ends the scene is in the scene's
// last wave, with what the end workflow does.
func (s *Stage) openOrder(at protocol.Time) error {
	o := s.orders[0]
	p, err := o.plan()
	if err != nil {
		return err
	}
	if p.End {
		s.stop(agenda.StoppedByRequest, at)
		return s.next()
	}
	s.orders = s.orders[1:]
	s.openWave(at)
	return s.carryOutOrder(o, p)
}

// carryOutOrder keeps the order of the open wave and asks for what it changes.
func (s *Stage) carryOutOrder(o *Order, p *order.Plan) error {
	if err := s.keepOwn(o.Intervened); err != nil {
		return err
	}
	s.joinDeferred()
	if p.Letter != nil {
		if err := s.letter(p.Letter); err != nil {
			return err
		}
		return s.closeWave()
	}
	why := s.unsettled(p, o.By)
	if p.Plugins != nil {
		why = s.mayReload(p.Plugins)
	}
	if why != "" {
		if err := s.keepOwn(&agenda.OrderRefused{ID: o.ID, Error: why}); err != nil {
			return err
		}
		return s.closeWave()
	}
	if p.Plugins != nil {
		if err := s.keepOwn(p.Plugins); err != nil {
			return err
		}
		return s.closeWave()
	}
	s.wave.ordered, s.wave.orderBy = p, &cast.Request{ID: o.ID, By: order.By, Reason: o.Reason}
	s.wave.orderer = o.By
	for i := range p.World {
		s.sequence([]protocol.Sequenced{{To: worldstate.Service, Data: p.World[i].AppendMsg(nil)}})
	}
	if len(p.World) == 0 {
		if err := s.worldAgreed(""); err != nil {
			return err
		}
	}
	return s.closeWave()
}

func (o *Order) plan() (*order.Plan, error) { return order.Read(o.ID, o.Reason, o.Do) }

// worldAgreed carries out what the order whose wave is open changes beside the world, and
// publishes its events, after the world has decided; refused says why the world did not agree. Without an order it does nothing.
func (s *Stage) worldAgreed(refused string) error {
	p := s.wave.ordered
	if p == nil {
		return nil
	}
	s.wave.ordered = nil
	if refused != "" {
		return s.keepOwn(&agenda.OrderRefused{ID: s.wave.orderBy.ID, Error: refused})
	}
	if err := s.change(p.Stage, s.wave.orderBy); err != nil {
		return err
	}
	s.settlePeople(p, s.wave.orderer)
	s.wave.given = append(s.wave.given, script.Given{Set: p.Set, To: p.To, Why: "order " + s.wave.orderBy.ID})
	if p.Aim(s.people(), setup.ActorScene) != nil { // nobody whom they mean is there: the channel refuses them
		if err := p.Aim(s.placed(s.scene), setup.ActorScene); err != nil {
			return err
		}
	}
	for i := range p.Events {
		s.sequence([]protocol.Sequenced{{To: bus.Service, Data: p.Events[i].AppendMsg(nil)}})
	}
	return nil
}

// ending takes the order that ends the scene at a time; nil = none does.
func (s *Stage) ending(at protocol.Time) (*Order, error) {
	if len(s.orders) == 0 || s.stopping.Reason != agenda.StoppedByRequest || !s.allowed(s.orders[0], at) {
		return nil, nil
	}
	o := s.orders[0]
	if p, err := o.plan(); err != nil || !p.End {
		return nil, err
	}
	s.orders = s.orders[1:]
	return o, nil
}

// keepLast keeps an order that ends the scene, and the outcome that it gives.
func (s *Stage) keepLast(o *Order) error {
	p, err := o.plan()
	if err != nil {
		return err
	}
	if err := s.keepOwn(o.Intervened); err != nil || p.Outcome == nil {
		return err
	}
	return s.keepOwn(p.Outcome)
}

// Unreached are the orders that no wave has taken. Letters are none of them: the
// scene that sent one hears that this scene has ended.
func (s *Stage) Unreached() []*Order {
	return slices.DeleteFunc(slices.Clone(s.orders), func(o *Order) bool { return o.By == travel.By })
}
