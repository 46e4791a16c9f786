package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/tally"
)

// An order from outside is a wave without turns. Its first fact is the order. The world
// decides about its changes as one transaction; only if it agrees, the order's events are
// published in the same wave. So an order is carried out as a whole or not at all, and a
// kill leaves all of it or nothing.

// ordered takes an order from outside.
func (s *Stage) ordered(in *Order) error {
	s.Waiting.add(in)
	return s.next()
}

// CheckOrder refuses an order that cannot be carried out in a scene. had = it is not new to the run.
func CheckOrder(sc *setup.Scene, o *agenda.Intervened, had bool) error {
	p, err := order.Read(o.ID, o.Reason, o.Do)
	if err == nil && !had {
		err = p.Lacks
	}
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

// orderTime is the time of an order. On the virtual clock its wave may be later, at a tick.
func (s *Stage) orderTime(o *Order) protocol.Time { return s.Agenda.Begun().Add(o.After) }

// openOrder opens the wave of the first order. One that ends the scene is in the scene's
// last wave, with what the end workflow does.
func (s *Stage) openOrder(at protocol.Time) error {
	p, err := s.Waiting[0].plan()
	if err != nil {
		return err
	}
	if p.End {
		s.halting.stop(agenda.StoppedByRequest, at)
		return s.next()
	}
	s.openWave(at)
	return s.carryOut(s.Waiting.take(), p)
}

func (s *Stage) carryOut(o *Order, p *order.Plan) error {
	if err := s.wave.changes.carryOut(o, p); err != nil {
		return err
	}
	return s.closeWave()
}

// carryOut keeps the order of the wave and asks for what it changes.
func (c *changes) carryOut(o *Order, p *order.Plan) error {
	if err := c.keepOwn(o.Intervened); err != nil {
		return err
	}
	c.joinDeferred()
	if p.Letter != nil {
		return c.letter(p.Letter)
	}
	why := c.unsettled(p, o.By)
	if p.Plugins != nil {
		why = c.mayReload(p.Plugins)
	}
	if why != "" {
		return c.keepOwn(&agenda.OrderRefused{ID: o.ID, Error: why})
	}
	if p.Plugins != nil {
		return c.keepOwn(p.Plugins)
	}
	c.ordered, c.orderBy, c.orderer = p, &cast.Request{ID: o.ID, By: order.By, Reason: o.Reason}, o.By
	for i := range p.World {
		c.sequence([]protocol.Sequenced{{To: worldstate.Service, Data: p.World[i].AppendMsg(nil)}})
	}
	if len(p.World) == 0 {
		return c.worldAgreed("")
	}
	return nil
}

func (o *Order) plan() (*order.Plan, error) { return order.Read(o.ID, o.Reason, o.Do) }

// worldAgreed carries out what the order whose wave is open changes beside the world, and
// publishes its events, after the world has decided; refused says why the world did not agree. Without an order it does nothing.
func (c *changes) worldAgreed(refused string) error {
	p := c.ordered
	if p == nil {
		return nil
	}
	c.ordered = nil
	if refused != "" {
		return c.keepOwn(&agenda.OrderRefused{ID: c.orderBy.ID, Error: refused})
	}
	if err := order.CarryOut(p.Stage, c.asItIs(), c.orderBy, c.keepChange); err != nil {
		return err
	}
	c.settlePeople(p, c.orderer)
	c.given = append(c.given, script.Given{Set: p.Set, To: p.To, Why: "order " + c.orderBy.ID})
	if p.Aim(c.people(), setup.ActorScene) != nil { // nobody whom they mean is there: the channel refuses them
		if err := p.Aim(c.placed(c.scene), setup.ActorScene); err != nil {
			return err
		}
	}
	for i := range p.Events {
		c.sequence([]protocol.Sequenced{{To: bus.Service, Data: p.Events[i].AppendMsg(nil)}})
	}
	return nil
}

// ending takes the order that ends the scene at a time; nil = none does.
func (s *Stage) ending(at protocol.Time) (*Order, error) {
	if len(s.Waiting) == 0 || s.halting.Reason != agenda.StoppedByRequest || !s.Waiting[0].allowed(s.Agenda.Wave+1, at.Sub(s.Agenda.Begun())) {
		return nil, nil
	}
	if p, err := s.Waiting[0].plan(); err != nil || !p.End {
		return nil, err
	}
	return s.Waiting.take(), nil
}

// keepLast keeps an order that ends the scene, and the outcome that it gives.
func (c *changes) keepLast(o *Order) error {
	p, err := o.plan()
	if err != nil {
		return err
	}
	if err := c.keepOwn(o.Intervened); err != nil || p.Outcome == nil {
		return err
	}
	return c.keepOwn(p.Outcome)
}
