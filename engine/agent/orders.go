package agent

import (
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
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
			t.problem("event " + e.Type + " of " + e.Source + ": " + err.Error())
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
	switch e.Type {
	case cast.TypeGoal:
		params, err := bind.Bind(&protocol.Call{Params: payload}, t.m.Def.goal)
		if err != nil {
			return err
		}
		return t.changeGoal(params, goal.Given, e.Source)
	case cast.TypeState:
		params, err := bind.Bind(&protocol.Call{Params: payload}, t.m.Def.state)
		if err != nil {
			return err
		}
		return t.own.Change(private.Told(params, e.Source), &t.out, &t.space.paths)
	case cast.TypeReflect:
		if err := t.m.State.Mind().MayReflect(t.m.Def.Memory, t.wake.Now); err != nil {
			return err
		}
		t.reflect = &reflection{reason: "requested by " + e.Source}
	}
	return nil
}

// stateSchema is what an event of cast.TypeState says.
func stateSchema() (*bind.Schema, error) {
	spec := tool.Spec("", "", private.Assigned()...)
	schema, err := bind.SchemaOf(spec.Parameters)
	return &schema, err
}
