// Package order reads orders: changes of a running scene that somebody outside of it
// requests (docs/formats/orders.md).
//
// [Parse] reads a file of orders. [Plan] turns the changes of one order into requests to
// the world, changes of the stage and events; it reads requests of directors in the same
// way. The stage takes an order between two waves and keeps it as the
// fact scene.intervened (engine/agenda), whose Do has the changes as they were written.
//
// # Promises
//
//  1. Equal changes make equal requests: a plan depends on nothing else.
//  2. A plan is complete or an error that names the change and the field.
//  3. Do is canonical: the changes that [Parse] read and those of the fact print the same.
package order

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/direct"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus/eventtype"
	"tavernsim/engine/cast"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/script"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
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
	MaxAnswer  = 1 << 20   // of those of an order that answers an interaction and does nothing else
)

// Plan is what an order asks for.
type Plan struct {
	World  []worldstate.Request // one transaction: all or none
	Stage  []Change             // of the stage itself, in their order
	Events []protocol.Draft     // their targets are selectors
	End    bool                 // the scene ends; an order asks for nothing else then
	// Outcome is what the scene comes to when it ends; nil = nothing is said.
	Outcome *script.Outcome
	Set     map[string]any         // variables of the script
	To      string                 // state of the script; "" = it stays
	Settled []Settled              // interactions that end
	Reviews []knowledge.Request    // of suggestions to knowledge bases
	Seats   []Seat                 // agents that people take over, and release
	Plugins *agenda.PluginsChanged // simd has read them again, and nobody else orders that; nothing else is asked for then
	Letter  *travel.Letter         // between linked scenes, of which nobody else gives one; nothing else is asked for then

	// Lacks is the change that has no value although it needs one, or one although it takes none. An older program took
	// the first for null and kept the second where nothing reads it, so an order that a run has is carried out so; a new
	// one is refused.
	Lacks error

	changes int
	later   []cast.Request // of a script: what the stage changes one tick later
}

// Settled is an open interaction that ends.
type Settled struct {
	ID     string
	Status string       // answered, timeout, cancelled
	Value  protocol.Raw // of an answer
}

// specs are the kinds of changes, with their fields.
func specs() []protocol.ToolSpec {
	return append([]protocol.ToolSpec{
		tool.Spec("event", "Publishes an event of the scene.",
			tool.Required("type", "string", "event type, words with dots"),
			tool.Optional("payload", "", "what it says"),
			tool.Optional("to", "array", "the receivers: "+cast.Grammar+"; without it whoever subscribed"),
			tool.OneOf("priority", "normal when it is missing", "low", "normal", "high", "critical"),
			tool.Optional("ttl_seconds", "number", "it expires after this time; else as the channel says"),
			tool.Optional("requires_ack", "boolean", "delivered again until a deliberation of the receiver has handled it"),
			tool.Optional("expects_reply", "boolean", "the receivers are asked for an answer"),
			tool.Optional("task_id", "string", "under which they are asked")),
		tool.Spec("say", "Says something aloud, as the scene.",
			tool.Required("text", "string", "what"),
			tool.Optional("to", "array", "the receivers, as for event; without it whoever subscribed")),
		tool.Spec("world", "Changes one place of the world. All of an order are carried out or none.",
			tool.Required("path", "string", "what to change"),
			tool.OneOf("op", "how; set when it is missing", private.Ops()...),
			tool.Optional("value", "", "the new value, number to add, element or fields"),
			tool.Optional("expected_version", "integer", "refuse the order when the path was changed after this version")),
		tool.Spec("goal", "Gives an agent a goal, or changes or ends one.",
			append([]tool.Param{tool.Optional("agent", "string", "instance id"), tool.Optional("to", "array", "in place of agent: several, as for event")}, tool.MotiveGoal()...)...),
		tool.Spec("reflect", "Asks an agent to reflect.",
			append([]tool.Param{tool.Optional("agent", "string", "instance id"), tool.Optional("to", "array", "in place of agent: several, as for event")}, tool.Reflection()...)...),
		tool.Spec("private_state", "Changes one place of the private state of an agent.",
			append([]tool.Param{tool.Required("agent", "string", "instance id")}, private.Assigned()...)...),
		tool.Spec(cast.Rest, "Lets agents rest: they hear everything and are not woken.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar)),
		tool.Spec(cast.Wake, "Ends the rest of agents.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar)),
		tool.Spec("transition", "Leads the script of the scene to a state.",
			tool.Required("to", "string", "state id")),
		tool.Spec("answer", "Answers an open interaction; the value fits its schema.",
			tool.Required("interaction", "string", "its id"),
			tool.Optional("value", "", "the answer; null when it is missing")),
		tool.Spec("cancel", "Ends an open interaction without an answer.",
			tool.Required("interaction", "string", "its id"),
			tool.OneOf("status", "what its agent hears; cancelled when it is missing", tooltask.Dismissed, tooltask.TimedOut)),
		tool.Spec(takeOver, "A person plays an agent from now on: in each of its turns it asks who gives the order.",
			tool.Required("agent", "string", "instance id"),
			tool.Optional("timeout_seconds", "number", "how long its player is waited for; 300 when it is missing"),
			tool.OneOf("on_timeout", "what a turn does without an answer; pass = nothing (when it is missing), play = its core workflow decides", tooltask.SilentPasses, tooltask.SilentPlays),
			tool.OneOf("wait", "hold = time stands until the answer (when it is missing), run = it goes on", tooltask.WaitHold, tooltask.WaitRun)),
		tool.Spec(release, "Nobody plays an agent any more.",
			tool.Required("agent", "string", "instance id")),
		tool.Spec("review", "Accepts a suggestion to a knowledge base, or drops it.",
			tool.Required("kb", "string", "id of the base"),
			tool.Required("suggestion", "integer", "its number"),
			tool.Required("accept", "boolean", "whether the entry is written")),
		tool.Spec(cast.Turn, "Gives agents turns, in a scene with an order of turns.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar),
			tool.Optional("turns", "integer", "how many each; 1 when it is missing")),
		tool.Spec(cast.Move, "Sends agents somewhere, in a scene in space.", direct.Moved()...),
		tool.Spec(cast.Spawn, "Lets agents come into the scene, of those that it declares as spawnable.", direct.Spawned()...),
		tool.Spec(cast.Remove, "Takes agents out of a scene that declares spawnable ones.",
			tool.Required("agents", "", "whom, or a list: "+cast.Grammar)),
		tool.Spec(cast.Travel, "Sends agents to another scene, in a scene with a link to it.", direct.Sent()...),
		tool.Spec("end", "Ends the scene; its end workflow runs. The only change of its order.",
			tool.Optional("outcome", "string", "what the scene came to"),
			tool.Optional("winners", "", "a text, or a list of texts"),
			tool.Optional("reason", "string", "why"),
			tool.Optional("comment", "string", "a note")),
	}, askSpecs()...)
}

// kindSet has no specification: its fields are the variables of a script.
const kindSet = "set"

// canonical is the name of a kind that has two.
func canonical(kind string) string {
	switch kind {
	case "publish":
		return "event"
	case "variable":
		return kindSet
	case "spotlight":
		return cast.Turn
	case "take":
		return takeOver
	}
	return kind
}

// Read makes the plan of an order. do is a list of changes, each an object with one field,
// the name of its kind; id names the requests to the world.
func Read(id, reason string, do protocol.Raw) (*Plan, error) {
	p, err := ReadBy(By, id, reason, do)
	if err == nil && p.End && p.changes > 1 {
		return nil, protocol.Errorf(protocol.KindInvalid, "do: end is the only change of its order; give the others in an order before it")
	}
	return p, err
}

// ReadBy is Read for changes that somebody else than an order asks for; by is what the
// world says of who asked.
func ReadBy(by, id, reason string, do protocol.Raw) (*Plan, error) {
	limit := MaxAnswer
	if by == By && travel.IsLetter(id) {
		limit = travel.MaxLetter
	}
	if len(do) > limit {
		return nil, tooLarge(do, limit)
	}
	v, err := do.Value()
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > MaxChanges {
		return nil, protocol.Errorf(protocol.KindInvalid, "do: want a list of 1 to %d changes", MaxChanges)
	}
	if by == By && len(list) == 1 {
		if l, err := travel.Read(list[0]); l != nil || err != nil {
			return &Plan{Letter: l}, err
		}
		if f := readReload(list[0]); f != nil {
			return &Plan{Plugins: f}, nil
		}
	}
	r := reader{by: by, id: id, reason: reason, schemas: map[string]*bind.Schema{}}
	r.plan.changes = len(list)
	for i, change := range list {
		if err := r.change(i, change); err != nil {
			return nil, err
		}
	}
	if len(do) > MaxBytes && (len(list) > 1 || len(r.plan.Settled) == 0) {
		return nil, tooLarge(do, MaxBytes)
	}
	if by != By && len(r.plan.Settled)+len(r.plan.Reviews)+len(r.plan.Seats) > 0 {
		return nil, errForOrders(strings.Join(ofPeople(), ", "))
	}
	return &r.plan, nil
}

// errForOrders says that a change is no action of a script and no tool of a director.
func errForOrders(kind string) error {
	return protocol.Errorf(protocol.KindInvalid, "%s: people answer, review and take agents over by orders alone", kind)
}

func tooLarge(do protocol.Raw, most int) error {
	return protocol.Errorf(protocol.KindLimit, "do: %d bytes; an order has at most %d: split it", len(do), most)
}

type reader struct {
	by, id, reason string
	schemas        map[string]*bind.Schema
	plan           Plan
}

func (r *reader) change(i int, change any) error {
	m, _ := change.(map[string]any)
	if len(m) != 1 {
		return protocol.Errorf(protocol.KindInvalid, "do[%d]: want an object with one field, the kind of the change: %s", i, kinds())
	}
	for kind, fields := range m {
		had := r.plan.Lacks
		if err := r.one(kind, fields); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "do[%d].%s: %w", i, kind, err)
		}
		if r.plan.Lacks != nil && had == nil {
			r.plan.Lacks = protocol.Errorf(protocol.KindInvalid, "do[%d].%s: %w", i, kind, r.plan.Lacks)
		}
	}
	return nil
}

func (r *reader) one(kind string, fields any) error {
	params, ok := fields.(map[string]any)
	if !ok && fields != nil {
		return fmt.Errorf("want an object with its fields")
	}
	kind = canonical(kind)
	if kind == kindSet {
		return r.set(params)
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
	case "say":
		return r.event(tool.Params{"type": agentfact.EventSaid, "to": p["to"], "payload": p.Without("to")})
	case "world":
		return r.world(p)
	case "goal":
		return r.tell(cast.TypeGoal, p, p.Without("agent", "to"))
	case "reflect":
		return r.tell(cast.TypeReflect, p, p.Without("agent", "to"))
	case "private_state":
		return r.privateState(p)
	case cast.Rest, cast.Wake:
		return r.rest(p, kind == cast.Wake)
	case "transition":
		if r.plan.To != "" {
			return fmt.Errorf("there is another transition before it; one at most")
		}
		r.plan.To = p.Text("to")
	case "answer":
		return r.settle(p.Text("interaction"), tooltask.Answered, protocol.Encode(p["value"]))
	case "cancel":
		status := cmp.Or(p.Text("status"), tooltask.Dismissed)
		if status != tooltask.Dismissed && status != tooltask.TimedOut {
			return fmt.Errorf("status %q: want %s or %s", status, tooltask.Dismissed, tooltask.TimedOut)
		}
		return r.settle(p.Text("interaction"), status, nil)
	case "review":
		return r.review(p)
	case takeOver, release:
		return r.seat(kind, p)
	case cast.Turn:
		return r.turn(p)
	case cast.Move:
		return r.move(p)
	case cast.Spawn, cast.Remove:
		return r.presence(kind, p)
	case cast.Travel:
		return r.travel(p)
	case kindAsk, kindRun:
		return r.asks(kind, p)
	case "end":
		return r.end(p)
	}
	return nil
}

// set takes variables of the script.
func (r *reader) set(values map[string]any) error {
	if len(values) == 0 {
		return fmt.Errorf("want the variables to set, with their values")
	}
	if r.plan.Set == nil {
		r.plan.Set = map[string]any{}
	}
	maps.Copy(r.plan.Set, values)
	return nil
}

func (r *reader) end(p tool.Params) (err error) {
	r.plan.End = true
	if p.Text("outcome") == "" && p["winners"] == nil && p.Text("reason") == "" {
		return nil
	}
	r.plan.Outcome, err = script.OutcomeOf(p.Text("outcome"), p.Text("reason"), p["winners"])
	return err
}

// settle ends an interaction, once in an order.
func (r *reader) settle(id, status string, value protocol.Raw) error {
	if slices.ContainsFunc(r.plan.Settled, func(x Settled) bool { return x.ID == id }) {
		return fmt.Errorf("the order ends the interaction %s already", protocol.Short(id, 80))
	}
	r.plan.Settled = append(r.plan.Settled, Settled{ID: id, Status: status, Value: value})
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
	for _, s := range specs() {
		names += s.Name + ", "
	}
	return names + kindSet
}

func (r *reader) event(p tool.Params) error {
	to, err := p.Receivers("to")
	if err != nil {
		return err
	}
	if fault := eventtype.Check(p.Text("type")); fault != "" {
		return fmt.Errorf("the event type %s", fault)
	}
	d := protocol.Draft{EventHeader: protocol.EventHeader{Type: p.Text("type"), Targets: to, RequiresAck: p.Flag("requires_ack"), ExpectsReply: p.Flag("expects_reply"), TaskID: p.Text("task_id")}}
	if d.Priority, err = protocol.ParsePriority(p.Text("priority")); err != nil {
		return err
	}
	ttl := p.Number("ttl_seconds", 0)
	if !(ttl >= 0 && ttl <= protocol.MaxTTL.Seconds()) {
		return fmt.Errorf("ttl_seconds %s: want 0 to %s", protocol.Decimal(ttl), protocol.Decimal(protocol.MaxTTL.Seconds()))
	}
	d.TTL, d.Body = protocol.Seconds(ttl), protocol.Encode(p["payload"])
	r.plan.Events = append(r.plan.Events, d)
	return nil
}

// tell sends agents an event that they take as an order.
func (r *reader) tell(typ string, p tool.Params, payload map[string]any) error {
	to, err := p.Receivers("to")
	if err != nil {
		return err
	}
	switch agent := p.Text("agent"); {
	case agent != "" && len(to) > 0, agent == "" && len(to) == 0:
		return fmt.Errorf("want one of agent and to: who is meant")
	case agent != "":
		to = []string{agent}
	}
	r.plan.Events = append(r.plan.Events, protocol.Draft{EventHeader: protocol.EventHeader{Type: typ, Targets: to}, Body: protocol.Encode(payload)})
	return nil
}

// valueOf reads the value of a change; one that is missing is null, and one that nothing takes stays as it is written.
func (r *reader) valueOf(p tool.Params, op string) any {
	v, err := private.ValueOf(p, op)
	if op == private.OpDelete && v != nil {
		err = protocol.Errorf(protocol.KindInvalid, "delete takes no value")
	}
	if err != nil && r.plan.Lacks == nil {
		r.plan.Lacks = err
	}
	return v
}

// privateState checks what can be known without the agent, which decides in its turn.
func (r *reader) privateState(p tool.Params) error {
	if err := private.CheckAssigned(p); err != nil {
		return err
	}
	r.valueOf(p, private.OpOf(p))
	return r.tell(cast.TypeState, p, p.Without("agent"))
}

func (r *reader) rest(p tool.Params, wake bool) error {
	agents, err := direct.Agents(p)
	r.plan.Stage = append(r.plan.Stage, &Rest{Agents: agents, Wake: wake})
	return err
}

func (r *reader) turn(p tool.Params) error {
	agents, n, err := direct.Turns(p)
	r.plan.Stage = append(r.plan.Stage, &Turn{Agents: agents, Turns: n})
	return err
}

func (r *reader) move(p tool.Params) error {
	agents, err := direct.Agents(p)
	if err == nil {
		err = space.CheckTo(p.Text("to"))
	}
	r.plan.Stage = append(r.plan.Stage, &Move{Agents: agents, To: p.Text("to"), Put: p.Flag("at_once")})
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
	value := r.valueOf(p, string(op))
	q := worldstate.Request{Change: world.Request{
		ID: fmt.Sprintf("%s/%d", r.id, len(r.plan.World)), By: r.by, Reason: r.reason, Path: path, Op: op, Value: protocol.Encode(value), Group: r.id,
	}}
	if v, ok := p.Integer("expected_version"); ok {
		q.Change.Expected = &v
	}
	r.plan.World = append(r.plan.World, q)
	return nil
}
