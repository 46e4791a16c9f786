package audit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/cast"
	"tavernsim/engine/secret"
	"tavernsim/protocol"
	"tavernsim/scenes/view/inspect"
)

// orders are what agents are told to change, until they have. No fact says that a change was ordered. A turn begins
// with the orders that it perceives, the most urgent first: each leaves its change, or a call that says what is wrong with it. So the first
// order that says what was changed is the one that was carried out.
type orders struct {
	turns map[string]*turnOrders // by agent
	said  publish.Orders
}

// turnOrders are the orders for one turn that are left.
type turnOrders struct {
	turn uint64
	list []*protocol.Envelope
}

// see reads a fact of an agent before it is folded, and says in its change who ordered it and why.
func (a *auditing) see(actor string, fact protocol.Fact, list []inspect.Change) {
	var is func(e *protocol.Envelope, said map[string]any) bool
	switch x := fact.(type) {
	case *agentfact.CallMade:
		a.ordersOf(actor).call(x)
		return
	case *agentfact.StateUpdated:
		is = func(e *protocol.Envelope, said map[string]any) bool { return a.orders.changes(e, said, x) }
	case *agentfact.GoalsUpdated:
		is = func(e *protocol.Envelope, said map[string]any) bool {
			return e.Type == cast.TypeGoal && said["id"] == x.Goal.ID
		}
	case *agentfact.GoalChanged:
		if x.By == "" {
			return
		}
		is = func(e *protocol.Envelope, said map[string]any) bool {
			return e.Type == cast.TypeGoal && e.Source == x.By && said["id"] == x.Goal.ID
		}
	default:
		return
	}
	left, c := a.ordersOf(actor), &list[0]
	for i, e := range left.list {
		v, _ := e.Body.Value()
		said, _ := v.(map[string]any)
		if !is(e, said) {
			continue
		}
		left.list = left.list[i+1:]
		if c.Of, c.By, c.Through = c.By, e.Source, e.ID; e.Source == cast.Scene {
			c.By = ""
		}
		why := "reason"
		if e.Type == cast.TypeGoal {
			why = "why"
		}
		reason, _ := said[why].(string)
		c.Reason = secret.Text(reason)
		return
	}
}

// ordersOf are those of the turn in which an agent is.
func (a *auditing) ordersOf(id string) *turnOrders {
	now := a.turn(id)
	if t := a.orders.turns[id]; t != nil && t.turn == now {
		return t
	}
	t := &turnOrders{turn: now}
	if o, ok := a.state.Ordinal(id); ok {
		for _, h := range a.state.Agents[o].State.Inbox() {
			if cast.Needs(h.Event.Type) != "" && slices.Contains(h.Event.Targets, id) {
				t.list = append(t.list, h.Event)
			}
		}
		slices.SortStableFunc(t.list, func(a, b *protocol.Envelope) int { return cmp.Compare(b.Priority, a.Priority) })
	}
	a.orders.turns[id] = t
	return t
}

// call reads a call: one of the agent's own comes after all orders, and one that was not understood may be an order.
func (t *turnOrders) call(c *agentfact.CallMade) {
	if c.Tool != agent.NotUnderstood {
		t.list = nil
		return
	}
	if i := slices.IndexFunc(t.list, func(e *protocol.Envelope) bool {
		return strings.HasPrefix(c.Error, publish.Refused(e, ""))
	}); i >= 0 {
		t.list = slices.Delete(t.list, i, i+1)
	}
}

// changes reports whether an order says a change of the private state.
func (k *orders) changes(e *protocol.Envelope, said map[string]any, x *agentfact.StateUpdated) bool {
	if e.Type != cast.TypeState {
		return false
	}
	bound, err := k.said.Bind(e.Type, said)
	if err != nil {
		return false
	}
	p := private.Told(bound, e.Source)
	return p.Text("path") == x.Path && private.OpOf(p) == x.Op && bytes.Equal(protocol.Encode(p["value"]), x.Value)
}
