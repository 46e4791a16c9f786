package machines

import (
	"fmt"

	"tavernsim/engine/cast"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/order"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/replies"
)

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
// suggestions: before anything else of the wave, as unsettled has looked at it.
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
