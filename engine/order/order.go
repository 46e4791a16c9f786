// Package order reads orders: what somebody outside of a scene wants changed while it
// runs (docs/formats/orders.md).
//
// [Parse] reads a file of orders. [Plan] turns the changes of one order into requests to
// the world, changes of the stage and events; what a director asks for is read in the same
// way. The stage takes an order between two waves and keeps it as the
// fact scene.intervened (engine/agenda), whose Do has the changes as they were written.
//
// # Promises
//
//  1. Equal changes make equal requests: a plan depends on nothing else.
//  2. A plan is complete or an error that names the change and the field.
//  3. Do is canonical: what [Parse] reads and what a fact has print the same.
package order

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tavernsim/engine/agent/direct"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/world"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// By names orders where the world says who asked.
const By = "$order"

// Limits of one order.
const (
	MaxChanges = 256
	MaxBytes   = 256 << 10 // of the encoded changes
)

// Plan is what an order asks for.
type Plan struct {
	World  []worldstate.Request // one transaction: all or none
	Stage  []Change             // of the stage itself, in their order
	Events []protocol.Draft
	End    bool // the scene ends; such an order asks for nothing else
}

// Targets calls yield with each agent that an event names.
func (p *Plan) Targets(yield func(change int, agent string) bool) {
	for i := range p.Events {
		for _, to := range p.Events[i].Targets {
			if !yield(i, to) {
				return
			}
		}
	}
}

// specs are the kinds of changes, with their fields.
func specs() []protocol.ToolSpec {
	return []protocol.ToolSpec{
		tool.Spec("event", "Publishes an event of the scene.",
			tool.Required("type", "string", "event type, words with dots"),
			tool.Optional("payload", "", "what it says"),
			tool.Optional("to", "array", "instance ids of the receivers; without it whoever subscribed"),
			tool.OneOf("priority", "normal when it is missing", "low", "normal", "high", "critical"),
			tool.Optional("ttl_seconds", "number", "it expires after this time; else as the channel says"),
			tool.Optional("requires_ack", "boolean", "delivered again until a deliberation of the receiver has handled it")),
		tool.Spec("world", "Changes one place of the world. All of an order are carried out or none.",
			tool.Required("path", "string", "what to change"),
			tool.OneOf("op", "how; set when it is missing", private.Ops()...),
			tool.Optional("value", "", "the new value, number to add, element or fields"),
			tool.Optional("expected_version", "integer", "refuse the order when the path was changed after this version")),
		tool.Spec("goal", "Gives an agent a goal, or changes or ends one.",
			tool.Required("agent", "string", "instance id"),
			tool.Required("id", "string", "goal id"),
			tool.Optional("description", "string", "what it is about"),
			tool.Optional("priority", "number", "0 to 1"),
			tool.OneOf("status", "where it stands", "pending", "active", "completed", "failed"),
			tool.Optional("details", "", "anything else"),
			tool.Optional("remove", "boolean", "forget it")),
		tool.Spec("reflect", "Asks an agent to reflect.",
			tool.Required("agent", "string", "instance id")),
		tool.Spec("private_state", "Changes one place of the private state of an agent.",
			append([]tool.Param{tool.Required("agent", "string", "instance id")}, private.Assigned()...)...),
		tool.Spec(cast.Rest, "Lets agents rest: they hear everything and are not woken.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar)),
		tool.Spec(cast.Wake, "Ends the rest of agents.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar)),
		tool.Spec("end", "Ends the scene; its end workflow runs. The only change of its order.",
			tool.Optional("comment", "string", "a note")),
	}
}

// Read makes the plan of an order. do is a list of changes, each an object with one field,
// the name of its kind; id names the requests to the world.
func Read(id, reason string, do protocol.Raw) (*Plan, error) {
	if len(do) > MaxBytes {
		return nil, protocol.Errorf(protocol.KindLimit, "do: %d bytes; an order has at most %d: split it", len(do), MaxBytes)
	}
	v, err := do.Value()
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > MaxChanges {
		return nil, protocol.Errorf(protocol.KindInvalid, "do: want a list of 1 to %d changes", MaxChanges)
	}
	r := reader{id: id, reason: reason, schemas: map[string]*bind.Schema{}}
	for i, change := range list {
		if err := r.change(i, change); err != nil {
			return nil, err
		}
	}
	if r.plan.End && len(list) > 1 {
		return nil, protocol.Errorf(protocol.KindInvalid, "do: end is the only change of its order; give the others in an order before it")
	}
	return &r.plan, nil
}

type reader struct {
	id, reason string
	schemas    map[string]*bind.Schema
	plan       Plan
}

func (r *reader) change(i int, change any) error {
	m, _ := change.(map[string]any)
	if len(m) != 1 {
		return protocol.Errorf(protocol.KindInvalid, "do[%d]: want an object with one field, the kind of the change: %s", i, kinds())
	}
	for kind, fields := range m {
		if err := r.one(kind, fields); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "do[%d].%s: %w", i, kind, err)
		}
	}
	return nil
}

func (r *reader) one(kind string, fields any) error {
	params, ok := fields.(map[string]any)
	if !ok && fields != nil {
		return fmt.Errorf("want an object with its fields")
	}
	schema, err := r.schema(kind)
	if err != nil {
		return err
	}
	bound, err := bind.Bind(&protocol.Call{Params: params}, schema)
	if err != nil {
		return err
	}
	p := tool.Params(bound)
	switch kind {
	case "event":
		return r.event(p)
	case "world":
		return r.world(p)
	case "goal":
		r.tell(cast.TypeGoal, p.Text("agent"), p.Without("agent"))
	case "reflect":
		r.tell(cast.TypeReflect, p.Text("agent"), map[string]any{})
	case "private_state":
		return r.privateState(p)
	case cast.Rest, cast.Wake:
		return r.rest(p, kind == cast.Wake)
	case "end":
		r.plan.End = true
	}
	return nil
}

func (r *reader) schema(kind string) (*bind.Schema, error) {
	if s := r.schemas[kind]; s != nil {
		return s, nil
	}
	for _, spec := range specs() {
		if spec.Name == kind {
			s, err := bind.SchemaOf(spec.Parameters)
			r.schemas[kind] = &s
			return &s, err
		}
	}
	return nil, fmt.Errorf("there is no such change; want one of %s", kinds())
}

func kinds() (names string) {
	for i, s := range specs() {
		if i > 0 {
			names += ", "
		}
		names += s.Name
	}
	return names
}

func (r *reader) event(p tool.Params) error {
	to, err := p.Texts("to")
	if err != nil {
		return err
	}
	if fault := bus.CheckType(p.Text("type")); fault != "" {
		return fmt.Errorf("the event type %s", fault)
	}
	d := protocol.Draft{EventHeader: protocol.EventHeader{Type: p.Text("type"), Targets: to, RequiresAck: p.Flag("requires_ack")}}
	if d.Priority, err = protocol.ParsePriority(p.Text("priority")); err != nil {
		return err
	}
	ttl := p.Number("ttl_seconds", 0)
	if !(ttl >= 0 && ttl <= protocol.MaxTTL.Seconds()) {
		return fmt.Errorf("ttl_seconds %v: want 0 to %v", ttl, protocol.MaxTTL.Seconds())
	}
	d.TTL, d.Body = time.Duration(ttl*float64(time.Second)), protocol.Encode(p["payload"])
	r.plan.Events = append(r.plan.Events, d)
	return nil
}

// tell sends one agent an event that it takes as an order.
func (r *reader) tell(typ, agent string, payload map[string]any) {
	r.plan.Events = append(r.plan.Events, protocol.Draft{EventHeader: protocol.EventHeader{Type: typ, Targets: []string{agent}}, Body: protocol.Encode(payload)})
}

// privateState checks what can be known without the agent, which decides in its turn.
func (r *reader) privateState(p tool.Params) error {
	text, op := p.Text("path"), p.Text("op")
	path, err := private.ParsePath(text)
	if err == nil && text != "" {
		err = path.CheckWrite()
	}
	if err != nil {
		return err
	}
	if op != "" && !slices.Contains(private.Ops(), op) {
		return fmt.Errorf("op %q: want one of %s", op, strings.Join(private.Ops(), ", "))
	}
	r.tell(cast.TypeState, p.Text("agent"), p.Without("agent"))
	return nil
}

func (r *reader) rest(p tool.Params, wake bool) error {
	agents, err := direct.Agents(p)
	r.plan.Stage = append(r.plan.Stage, &Rest{Agents: agents, Wake: wake})
	return err
}

func (r *reader) world(p tool.Params) error {
	path, err := world.ParsePath(p.Text("path"))
	if err != nil {
		return err
	}
	op := world.Op(cmp.Or(p.Text("op"), private.OpSet))
	if !op.Requestable() {
		return fmt.Errorf("op %q: want one of %s", op, strings.Join(private.Ops(), ", "))
	}
	q := worldstate.Request{Change: world.Request{
		ID: fmt.Sprintf("%s/%d", r.id, len(r.plan.World)), By: By, Reason: r.reason, Path: path, Op: op, Value: protocol.Encode(p["value"]), Group: r.id,
	}}
	if v, ok := p.Integer("expected_version"); ok {
		q.Change.Expected = &v
	}
	r.plan.World = append(r.plan.World, q)
	return nil
}
