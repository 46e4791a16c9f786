package publish

import (
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/cast"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Orders are what events say that an agent takes as orders, by their types.
type Orders map[string]*bind.Schema

// NewOrders makes those that some agent may take: who publishes one does not know whether the receiver has rules for
// its goals.
func NewOrders() (Orders, error) {
	o := Orders{}
	for name, params := range map[string][]tool.Param{cast.TypeGoal: tool.MotiveGoal(), cast.TypeState: private.Assigned(), cast.TypeReflect: tool.Reflection()} {
		spec := tool.Spec("", "", params...)
		schema, err := bind.SchemaOf(spec.Parameters)
		if err != nil {
			return nil, err
		}
		o[name] = &schema
	}
	return o, nil
}

// Bind reads what an order says, like the parameters of a call.
func (o Orders) Bind(eventType string, payload map[string]any) (tool.Params, error) {
	return bind.Bind(&protocol.Call{Params: payload}, o[eventType])
}

// Check denies an order to an agent without the right, and refuses one that no agent could take. What only the receiver
// knows (its state, its goals, its schema), the receiver observes. The author of a change of a private state, and its
// reason, are kept.
func (o Orders) Check(by string, may func(instance string, right cast.Right) bool, e *protocol.EventHeader, payload any) error {
	right := cast.Needs(e.Type)
	m, object := payload.(map[string]any)
	switch {
	case len(e.Targets) == 0 || right == "":
		return nil
	case !may(by, right):
		return cast.Denied("an event "+e.Type, by, right)
	case right == cast.ChangeState && e.Ephemeral:
		return protocol.Errorf(protocol.KindInvalid, "an event %s cannot be ephemeral: its reason is kept", e.Type)
	case !object && payload != nil:
		return protocol.Errorf(protocol.KindInvalid, "an event %s: the payload is no object", e.Type)
	}
	p, err := o.Bind(e.Type, m)
	if err == nil && right == cast.ChangeState {
		if err = private.CheckAssigned(p); err == nil {
			_, err = private.ValueOf(p, private.OpOf(p))
		}
	}
	if err != nil {
		return protocol.Errorf(protocol.KindInvalid, "the payload of an event %s: %w", e.Type, err)
	}
	return nil
}

// Refused says what is wrong with an order, to whom it names.
func Refused(e *protocol.Envelope, why string) string {
	return "event " + e.Type + " of " + e.Source + ": " + why
}
