package machines

import (
	"fmt"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/order"
	"tavernsim/engine/script"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/replies"
	"tavernsim/scenes/machines/tally"
)

// An order from outside is a wave without turns. Its first fact is the order. The world
// decides about its changes as one transaction; only if it agrees, the order's events are
// published in the same wave. So an order is carried out as a whole or not at all, and a
// kill leaves all of it or nothing.

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

// OrderDue is the time of the open wave if an order opened it, else when the next order whose time is known opens one, before all
// turns of that moment; 0 = none has a time. One that waits for its wave, too, may come later.
func (s *Stage) OrderDue() (due protocol.Time) {
	if s.wave != nil && s.wave.changes.orderBy != nil {
		return s.wave.time
	}
	begun := s.Agenda.Begun()
	if !s.Agenda.Started {
		begun = s.Agenda.Now
	}
	for _, o := range s.Waiting {
		at := s.Agenda.Grid(begun.Add(o.After))
		if o.After != 0 && at >= s.Agenda.Now && (due == 0 || at < due) {
			due = at
		}
	}
	return due
}

// openOrder opens the wave of the first order. One that ends the scene is in the scene's
// last wave, with what the end workflow does.
func (s *Stage) openOrder(at protocol.Time) error {
	p, err := s.Waiting[0].plan()
	if err != nil {
		return err
	}
	if p.End {
		s.halt.stop(agenda.StoppedByRequest, at)
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
	c.settlePeople(p, c.orderer)
	if err := order.CarryOut(p.Stage, c.asItIs(), c.orderBy, c.keepChange); err != nil {
		return err
	}
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
	if len(s.Waiting) == 0 || s.halt.Reason != agenda.StoppedByRequest || !s.Waiting[0].allowed(s.Agenda.Wave+1, at.Sub(s.Agenda.Begun())) {
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

// unsettled says why an order cannot move agents, let them come or go, or end the questions that it names; "" = it can. The order
// is then refused as a whole, before the services decide about the rest.
func (c *changes) unsettled(p *order.Plan, by string) string {
	if err := p.Fits(c.asItIs()); err != nil {
		return err.Error()
	}
	if why := p.Empty(c.people()); why != "" {
		return why
	}
	if moves := order.Moves(p.Stage, c.asItIs()); len(moves) > 0 {
		if err := c.View.Space().Check(moves); err != nil {
			return "move: " + err.Error()
		}
	}
	shelves, _ := c.View.Shown(knowledge.Service).(knowledge.State)
	if why := p.Reviewed(shelves, c.time); why != "" {
		return why
	}
	if len(p.Settled)+len(p.Seats) == 0 {
		return ""
	}
	people := replies.People{Tasks: c.questions(), Players: c.scene.Players}
	for i := range p.Seats {
		x := p.Seats[i].By(by)
		here := c.people().Members(cast.Named(x.Player.Agent))
		why := people.Unseatable(x, len(here) > 0)
		if why == "" && !x.Release && p.Leaves(c.people(), here[0]) {
			why = "it leaves the scene with the same order"
		}
		if why != "" {
			return fmt.Sprintf("%s: %s", x.Player.Agent, why)
		}
	}
	for i := range p.Settled {
		x := &p.Settled[i]
		if why := people.Unanswerable(x.ID, x.Status == tooltask.Answered, x.Value, by); why != "" {
			return fmt.Sprintf("interaction %s: %s", protocol.Short(x.ID, 80), why)
		}
	}
	return ""
}

// settlePeople asks the services to end the questions that an order names, and to review
// suggestions: before agents leave or anything else of the order happens, as unsettled has looked at it.
func (c *changes) settlePeople(p *order.Plan, by string) {
	for i := range p.Reviews {
		c.asking.first(knowledge.Service, protocol.Encode(p.Reviews[i].Value()))
	}
	for i := range p.Settled {
		x := &p.Settled[i]
		q := tooltask.Request{Task: tooltask.Task{ID: x.ID}, Settle: &tooltask.Settle{Status: x.Status, By: by, Value: x.Value}}
		c.sequence([]protocol.Sequenced{{To: tooltask.Service, Data: q.AppendMsg(nil)}})
	}
	for i := range p.Seats {
		q := tooltask.Request{Seat: p.Seats[i].By(by)}
		c.sequence([]protocol.Sequenced{{To: tooltask.Service, Data: q.AppendMsg(nil)}})
	}
}
