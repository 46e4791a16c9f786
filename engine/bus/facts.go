package bus

import (
	"slices"
	"time"

	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"

	"tavernsim/engine/bus/naming"
	"tavernsim/engine/bus/ordinals"
	"tavernsim/engine/bus/throttle"
	"tavernsim/protocol"
)

// Kinds of the channel's facts.
const (
	FactRouted       = "event.routed"
	FactRefused      = "event.refused"
	FactSubscription = "subscription.changed"
	FactThrottle     = "throttle.changed"
	FactNotDone      = "channel.refused"
	FactListener     = "channel.listener"
)

// Reason is why an event, or one delivery of it, was refused.
type Reason string

const (
	ReasonInvalid      Reason = "invalid"        // no event type, or a malformed one
	ReasonDepth        Reason = "depth"          // the causal chain is too long
	ReasonLoop         Reason = "loop"           // the loop rule
	ReasonTTL          Reason = "ttl"            // it had expired before it was routed
	ReasonSchema       Reason = "schema"         // the payload violates the schema of its type
	ReasonSize         Reason = "size"           // payload or target list too large
	ReasonFlood        Reason = "flood"          // too many events or deliveries at one moment
	ReasonNoSuchTarget Reason = "no_such_target" // nobody has that instance id
	ReasonOutOfReach   Reason = "out_of_reach"   // in a scene in space: the receiver is not near
	ReasonThrottled    Reason = "throttled"      // a throttle rule: refused, held or at low priority
	ReasonDebounced    Reason = "debounced"      // held until its subscription is quiet
	ReasonMiddleware   Reason = "middleware"     // the scene's own middleware
)

// Range is a run of neighbouring ordinals.
type Range = ordinals.Range

// Ranges is a set of ordinals.
type Ranges = ordinals.Ranges

// Mark is an exception for one receiver. Action is the loop action, drop, or the
// priority that a middleware gave the event.
type Mark struct {
	Agent  string // instance id
	Reason Reason
	Action LoopAction
}

// Routed records an event and its receivers. Body is nil if the event is ephemeral and
// not held; the event that Decide returns has one.
type Routed struct {
	protocol.EventHeader
	Seq          uint64        // of all published events, from 1
	Expires      protocol.Time // 0 = never
	Body         protocol.Raw
	Receivers    Ranges // shared; never changed
	Marks        []Mark
	FilterErrors uint32 // filters that failed, once per receiver
	Held         []Held // receivers that hear it later
	Released     uint64 // number of the hold that ends with this fact; 0 = the event was just published
	Merged       uint32 // of a release: events that came while it was held

	event      *protocol.SharedEvent
	priorities map[string]protocol.Priority // of marks, when they are many
}

// Held is a set of receivers for which an event is held.
type Held struct {
	Subscription Subscription  // debounced; Type is "" if none is
	Key          string        // of a middleware's merge
	Until        protocol.Time // moment of the release; 0 = as the subscription sets it
	Reason       Reason
	Receivers    Ranges
}

// Refused records an event without receivers because of a rule.
type Refused struct {
	protocol.EventHeader
	Seq    uint64
	Reason Reason
	Detail string
	TTL    time.Duration // as published
	Body   protocol.Raw  // nil when it was too large to keep
}

// SubscriptionChanged records the added and removed subscriptions of one agent.
type SubscriptionChanged struct {
	Agent  uint32
	Add    []Subscription
	Remove []Subscription
}

// ThrottleChanged records a rule that the scene set or removed at run time.
type ThrottleChanged struct {
	Rule    throttle.Rule
	Removed bool
	Time    protocol.Time
}

// NotDone records a refused request to the channel that is not an event.
type NotDone struct {
	By      string // instance id
	What    string // subscribe, unsubscribe, throttle
	Subject string // event type
	Code    protocol.ErrorKind
	Message string
}

// Fact is one of this package's facts. The linter checks that a switch over it has
// a case for each.
//
//sumtype:decl
type Fact interface {
	protocol.Fact
	fact()
}

// LastAgent implements protocol.Naming. Receivers stand in their order.
func (f *Routed) LastAgent() (last uint32) {
	if n := len(f.Receivers); n > 0 {
		last = f.Receivers[n-1].From + f.Receivers[n-1].Count - 1
	}
	return last
}

func (*Routed) FactKind() string              { return FactRouted }
func (*Refused) FactKind() string             { return FactRefused }
func (*SubscriptionChanged) FactKind() string { return FactSubscription }
func (*ThrottleChanged) FactKind() string     { return FactThrottle }
func (*NotDone) FactKind() string             { return FactNotDone }
func (*Listener) FactKind() string            { return FactListener }

func (*Routed) fact()              {}
func (*Refused) fact()             {}
func (*SubscriptionChanged) fact() {}
func (*ThrottleChanged) fact()     {}
func (*NotDone) fact()             {}
func (*Listener) fact()            {}

// Waiting counts the deliveries that are held by this fact.
func (f *Routed) Waiting() (n int) {
	for i := range f.Held {
		n += f.Held[i].Receivers.Len()
	}
	return n
}

// Again reports whether the fact releases an event under its own id. A merged event is
// a new event with a new id.
func (f *Routed) Again() bool {
	return f.Released != 0 && !naming.Numbered(&f.EventHeader, f.Seq)
}

// Event is the event for its receivers. On a Routed of Decide all calls return the
// same event, with the parts that filters have decoded. On a Routed from a journal
// each call makes another.
func (f *Routed) Event(scene string) *protocol.SharedEvent {
	if f.event != nil {
		return f.event
	}
	return protocol.NewSharedEvent(&protocol.Envelope{EventHeader: f.EventHeader, Kind: protocol.KindEvent, Scene: scene,
		Expires: f.Expires, Body: protocol.NewBody(f.Body)})
}

// PriorityFor is the priority at which a receiver gets the event. If there are many
// marks, the first call makes an index of them, so a fact must have one owner.
func (f *Routed) PriorityFor(instanceID string) protocol.Priority {
	if len(f.Marks) > manyMarks {
		if f.priorities == nil {
			f.priorities = map[string]protocol.Priority{}
			for i := range f.Marks {
				if p, ok := f.Marks[i].priority(); ok {
					f.priorities[f.Marks[i].Agent] = p
				}
			}
		}
		if p, ok := f.priorities[instanceID]; ok {
			return p
		}
		return f.Priority
	}
	priority := f.Priority
	for i := range f.Marks {
		if p, ok := f.Marks[i].priority(); ok && f.Marks[i].Agent == instanceID {
			priority = p
		}
	}
	return priority
}

// manyMarks is the number of marks from which an index is worth its cost.
const manyMarks = 16

// priority is the priority that the mark gives the event for its receiver. Of several
// marks the last counts.
func (m *Mark) priority() (protocol.Priority, bool) {
	switch m.Action {
	case LoopDeprioritize:
		return protocol.Low, true
	case "", LoopDrop, LoopWarn:
		return 0, false
	}
	p, err := protocol.ParsePriority(string(m.Action))
	return p, err == nil
}

// Draft is the refused event as a draft, to publish it again. Its time to live begins
// anew.
func (f *Refused) Draft() *protocol.Draft { return again(f.EventHeader, f.TTL, f.Body) }

// Draft is the event as a draft, to send it to one agent again. Its time to live
// begins anew.
func (f *Routed) Draft(to string) *protocol.Draft {
	ttl := time.Duration(0)
	if f.Expires != 0 {
		ttl = f.Expires.Sub(f.Time)
	}
	d := again(f.EventHeader, ttl, f.Body)
	d.Targets = []string{to}
	return d
}

func again(h protocol.EventHeader, ttl time.Duration, body protocol.Raw) *protocol.Draft {
	h.Time = 0
	return &protocol.Draft{EventHeader: h, TTL: ttl, Body: body}
}

// Lengths of the msgpack arrays of events that were routed and refused.
const (
	routedFields        = 23
	routedFieldsOldest  = 16 // before cause, turn, holds and task
	refusedFields       = 19
	refusedFieldsOldest = 15 // before cause, turn and task
)

// Layout names the stored fields in their order.
func (Routed) Layout() string {
	return "seq id type source targets priority trace_id chain time expires ephemeral requires_ack body " +
		"receivers marks filter_errors cause turn held released merged task_id expects_reply"
}

// Layout names the stored fields in their order.
func (Refused) Layout() string {
	return "seq id reason detail type source targets priority trace_id chain time ttl ephemeral requires_ack body " +
		"cause turn task_id expects_reply"
}

// AppendMsg writes the msgpack form.
func (f *Routed) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, routedFields)
	b = msgp.AppendUint64(b, f.Seq)
	b = msgp.AppendString(b, f.ID)
	b = f.AppendFields(b, int64(f.Expires), f.Body)
	b = f.Receivers.AppendMsg(b)
	b = appendMarks(b, f.Marks)
	b = msgp.AppendUint32(b, f.FilterErrors)
	b = f.AppendCause(b)
	b = appendHeld(b, f.Held)
	b = msgp.AppendUint64(b, f.Released)
	b = msgp.AppendUint32(b, f.Merged)
	return f.AppendTask(b)
}

// AppendMsg writes the msgpack form.
func (f *Refused) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, refusedFields)
	b = msgp.AppendUint64(b, f.Seq)
	b = msgp.AppendString(b, f.ID)
	b = msgp.AppendString(b, string(f.Reason))
	b = msgp.AppendString(b, f.Detail)
	b = f.AppendFields(b, int64(f.TTL), f.Body)
	return f.AppendTask(f.AppendCause(b))
}

func appendHeld(b []byte, held []Held) []byte {
	if held == nil {
		return msgp.AppendNil(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(held)))
	for i := range held {
		h := &held[i]
		b = msgp.AppendArrayHeader(b, 5)
		b = h.Subscription.appendMsg(b)
		b = msgp.AppendString(b, h.Key)
		b = protocol.AppendInt(b, int64(h.Until))
		b = msgp.AppendString(b, string(h.Reason))
		b = h.Receivers.AppendMsg(b)
	}
	return b
}

func (sub *Subscription) appendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, 6+uint32(min(1, len(sub.Group))))
	b = msgp.AppendString(b, sub.Type)
	b = msgp.AppendString(b, sub.FilterCondition)
	b = msgp.AppendString(b, sub.Path)
	b = msgp.AppendString(b, string(sub.Debounce))
	b = protocol.AppendInt(b, int64(sub.Quiet))
	b = protocol.AppendInt(b, int64(sub.Most))
	if sub.Group != "" {
		b = msgp.AppendString(b, sub.Group)
	}
	return b
}

// EncodeMsgpack makes protocol.Codec write what appendMsg writes: a group only if there is one.
func (sub Subscription) EncodeMsgpack(enc *msgpack.Encoder) error {
	return protocol.Raw(sub.appendMsg(nil)).EncodeMsgpack(enc)
}

// DecodeMsgpack reads what appendMsg wrote.
func (sub *Subscription) DecodeMsgpack(dec *msgpack.Decoder) error {
	var raw protocol.Raw
	if err := raw.DecodeMsgpack(dec); err != nil {
		return err
	}
	r := protocol.NewReader(append(msgp.AppendArrayHeader(nil, 1), raw...), "subscription", 1)
	*sub = readSubscription(r)
	return r.End()
}

func readSubscription(r *protocol.Reader) Subscription {
	grouped := r.Fields("subscription", 6, 7) == 7
	sub := Subscription{Type: r.String(), FilterCondition: r.String(), Path: r.String(), Debounce: DebounceMode(r.String()),
		Quiet: time.Duration(r.Int()), Most: time.Duration(r.Int())}
	if grouped {
		sub.Group = r.String()
	}
	return sub
}

func readHeld(r *protocol.Reader) []Held {
	n, ok := r.Count(6)
	if !ok {
		return nil
	}
	held := make([]Held, n)
	for i := range held {
		r.Fields("held", 5)
		held[i] = Held{Subscription: readSubscription(r), Key: r.String(), Until: protocol.Time(r.Int()),
			Reason: Reason(r.String()), Receivers: ordinals.Read(r)}
	}
	return held
}

func appendMarks(b []byte, marks []Mark) []byte {
	if marks == nil {
		return msgp.AppendNil(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(marks)))
	for i := range marks {
		b = msgp.AppendArrayHeader(b, 3)
		b = msgp.AppendString(b, marks[i].Agent)
		b = msgp.AppendString(b, string(marks[i].Reason))
		b = msgp.AppendString(b, string(marks[i].Action))
	}
	return b
}

// ReadRouted decodes the output of AppendMsg, also of older programs. The body shares
// the memory of b, which must not change.
func ReadRouted(b protocol.Raw) (*Routed, error) {
	r := protocol.NewReader(b, FactRouted, routedFields, routedFieldsOldest)
	f := &Routed{Seq: r.Uint()}
	f.ID = r.String()
	expires, body := f.ReadFields(r)
	f.Expires, f.Body = protocol.Time(expires), body
	f.Receivers, f.Marks, f.FilterErrors = ordinals.Read(r), readMarks(r), r.Uint32()
	if r.Has(routedFields) {
		f.ReadCause(r)
		f.Held, f.Released, f.Merged = readHeld(r), r.Uint(), r.Uint32()
		f.ReadTask(r)
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return f, f.check()
}

// check refuses a stored fact that Decide cannot have made.
func (f *Routed) check() error {
	for i := range f.Held {
		h := &f.Held[i]
		if err := h.Receivers.Check(); err != nil {
			return err
		}
		if h.Subscription.Type == "" && h.Until == 0 {
			return protocol.Errorf(protocol.KindCorrupt, "bus: %s: held for no time", FactRouted)
		}
	}
	return f.Receivers.Check()
}

// ReadRefused decodes the output of AppendMsg, also of older programs. The body shares
// the memory of b, which must not change.
func ReadRefused(b protocol.Raw) (*Refused, error) {
	r := protocol.NewReader(b, FactRefused, refusedFields, refusedFieldsOldest)
	f := &Refused{Seq: r.Uint()}
	f.ID, f.Reason, f.Detail = r.String(), Reason(r.Word()), r.String()
	ttl, body := f.ReadFields(r)
	f.TTL, f.Body = time.Duration(ttl), body
	if r.Has(refusedFields) {
		f.ReadCause(r)
		f.ReadTask(r)
	}
	return f, r.End()
}

func readMarks(r *protocol.Reader) []Mark {
	n, ok := r.Count(4)
	if !ok {
		return nil
	}
	marks := make([]Mark, n)
	for i := range marks {
		r.Fields("mark", 3)
		marks[i] = Mark{Agent: r.String(), Reason: Reason(r.String()), Action: LoopAction(r.String())}
	}
	return marks
}

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByHand(ReadRouted).Traced(6),
		protocol.ByHand(ReadRefused).Traced(8),
		protocol.ByCodec((*SubscriptionChanged).check),
		protocol.ByCodec((*ThrottleChanged).check),
		protocol.ByCodec[NotDone](),
		protocol.ByCodec[Listener](),
	}
}

// Answers implements protocol.Answering. The refusal of an event wakes no agent,
// because a refused loop would continue by way of its refusals.
func (f *Refused) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.Source, Kind: "event_refused"}, true
}

// Told implements protocol.Answering.
func (f *Refused) Told() map[string]any {
	return map[string]any{"type": f.Type, "code": string(f.Reason), "message": f.Detail}
}

// Answers implements protocol.Answering.
func (f *NotDone) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: f.By, Kind: "channel_refused", Wakes: true}, true
}

func (f *NotDone) Told() map[string]any {
	return map[string]any{"request": f.What, "type": f.Subject, "code": string(f.Code), "message": f.Message}
}

// check refuses a stored fact that Change cannot have made.
func (f *SubscriptionChanged) check() error {
	for _, sub := range slices.Concat(f.Add, f.Remove) {
		if err := sub.check(); err != nil {
			return protocol.Errorf(protocol.KindCorrupt, "%s: %w", FactSubscription, err)
		}
	}
	return nil
}

func (f *ThrottleChanged) check() error {
	if field, fault := CheckRule(f.Rule); fault != "" {
		return protocol.Errorf(protocol.KindCorrupt, "%s: %s: %s", FactThrottle, field, fault)
	}
	return nil
}
