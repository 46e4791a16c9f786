package agent

import (
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// takeOrders carries out the orders in events that name this agent: a new goal (§2.1.3,
// "external"), a change of its private state (likewise), a reflection (§2.1.5). The call
// that publishes an order is denied to an agent without the right; an event of another
// origin without it has no effect, and the turn observes that.
func (t *Turn) takeOrders() {
	for _, e := range t.events {
		right := cast.Needs(e.Type)
		if len(e.Targets) == 0 || right == "" {
			continue
		}
		var err error = cast.Denied("refused", e.Source, right)
		if t.m.Def.may(e.Source, right) {
			err = t.takeOrder(e)
		}
		if err != nil {
			t.problem(publish.Refused(e, err.Error()))
		}
	}
}

// takeOrder binds what an order says like the parameters of a call.
func (t *Turn) takeOrder(e *protocol.Envelope) error {
	v, err := e.Body.Value()
	if err != nil {
		return err
	}
	payload, _ := v.(map[string]any)
	p, err := t.m.Def.orders.Bind(e.Type, payload)
	if err != nil {
		return err
	}
	switch e.Type {
	case cast.TypeGoal:
		return t.changeGoal(p, goal.Given, e.Source)
	case cast.TypeState:
		return t.own.Change(private.Told(p, e.Source), &t.out, &t.space.paths)
	default:
		return t.toReflect(p, e.Source)
	}
}

// toReflect makes the turn reflect because somebody asked for it.
func (t *Turn) toReflect(p tool.Params, by string) error {
	if err := t.m.State.Mind().MayReflect(t.m.Def.Memory, t.wake.Now); err != nil {
		return err
	}
	asked := &reflection{reason: "requested by " + by}
	if id := p.Text("goal"); id != "" {
		g, found := goal.Find(t.goals.Goals, id)
		if !found {
			return protocol.Errorf(protocol.KindNotFound, "goal %s: the agent has no such goal", tool.Cut(id))
		}
		asked.reason, asked.goal = asked.reason+" about the goal "+id, t.goals.Told.Value(&g)
	}
	if why := p.Text("reason"); why != "" {
		asked.reason += ": " + why
	}
	t.reflect = asked
	return nil
}
