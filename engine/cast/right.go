package cast

import (
	"strings"

	"tavernsim/protocol"
)

// Right is what a scene allows some of its agents to do to others. The scene itself, and
// its directors, have every right.
type Right string

// Rights, by the fields of a scene that give them.
const (
	GiveGoals     Right = "orders.goals"         // by events of TypeGoal
	AskReflection Right = "orders.reflection"    // by events of TypeReflect
	ChangeState   Right = "orders.private_state" // by events of TypeState
	Direct        Right = "directors"            // call the tools that change who acts in the scene, and when
)

// Types of events that an agent takes as an order when they name it (seed 004 §2.1.3, §2.1.5).
const (
	TypeGoal    = "agent.goal_assigned"
	TypeReflect = "agent.reflection_requested"
	TypeState   = "agent.private_state_assigned"
)

// Needs is the right that the publisher of an event needs for its effect on the agents that
// it names; "" = the event has no such effect.
func Needs(eventType string) Right {
	switch eventType {
	case TypeGoal:
		return GiveGoals
	case TypeReflect:
		return AskReflection
	case TypeState:
		return ChangeState
	}
	return ""
}

// Denied is why somebody may not do something.
func Denied(what, instance string, needs Right) *protocol.Error {
	if needs == Direct {
		return protocol.Errorf(protocol.KindDenied, "%s: %s is no director of the scene (directors)", what, instance)
	}
	return protocol.Errorf(protocol.KindDenied, "%s: the scene does not allow it to %s (%s, directors)", what, instance, needs)
}

// Changes of who acts in the scene, by the names that they have in orders (engine/order).
const (
	Rest   = "rest"
	Wake   = "wake"
	Turn   = "turn"
	Move   = "move"
	Spawn  = "spawn"
	Remove = "remove"
	Travel = "travel"
)

// MaxReason bounds why somebody changes something, in bytes.
const MaxReason = 2048

// Scene is the instance id of the agent that runs the scene's own workflows, and the source of
// its events.
const Scene = "$scene"

// OfScene reports whether a name is no agent's: the scene itself, its script, an order from outside. No
// instance id begins with "$".
func OfScene(by string) bool { return strings.HasPrefix(by, "$") }

// Stage is the addressee of what directors ask for: the stage itself, which is no service.
const Stage = "stage"

// Request is what a director asks the stage to change.
type Request struct {
	ID     string
	By     string // instance id
	Reason string
	Do     protocol.Raw // a list of changes, as in an order: see package engine/order
}

const requestFields = 4

// AppendMsg encodes a request.
func (q *Request) AppendMsg(b []byte) []byte {
	return protocol.AppendValue(b, map[string]any{"id": q.ID, "by": q.By, "reason": q.Reason, "do": q.Do})
}

// ReadRequest decodes a request.
func ReadRequest(raw protocol.Raw) (*Request, error) {
	v, err := raw.Value()
	m, _ := v.(map[string]any)
	if err != nil || len(m) != requestFields {
		return nil, protocol.Errorf(protocol.KindCorrupt, "a request to the stage: %v", err)
	}
	text := func(name string) string { s, _ := m[name].(string); return s }
	return &Request{ID: text("id"), By: text("by"), Reason: text("reason"), Do: protocol.Encode(m["do"])}, nil
}
