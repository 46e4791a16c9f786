package protocol

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// Draft is an event as its publisher wants it; the event channel makes an
// Envelope out of it, or refuses. Its ID is that of an event that is published
// again (the channel gives its own), no TraceID begins a new trace, and Time is
// when it was made, from which TTL counts; 0 = when the channel gets it.
type Draft struct {
	EventHeader
	TTL  time.Duration // 0 = the channel's default, below 0 = does not expire
	Body Raw           // the payload
}

// CausedBy makes the draft a reaction to an event: it names the event, continues
// its chain with the event itself, and keeps its trace.
func (d *Draft) CausedBy(cause *Envelope) {
	d.Cause = cause.ID
	d.Chain = append(slices.Clip(cause.Chain), Link{Agent: cause.Source, Type: cause.Type})
	if d.TraceID == "" {
		d.TraceID = cause.TraceID
	}
}

// SharedEvent is an event with its wire form, computed by the first receiver
// that asks and shared, read-only, by all.
type SharedEvent struct {
	*Envelope
	view atomic.Pointer[map[string]any]
}

// NewSharedEvent shares an event.
func NewSharedEvent(e *Envelope) *SharedEvent { return &SharedEvent{Envelope: e} }

// Value is EventValue of the event. Two first readers may both compute it: the
// values are equal, and one of them stays.
func (s *SharedEvent) Value() map[string]any {
	if v := s.view.Load(); v != nil {
		return *v
	}
	v := EventValue(s.Envelope)
	s.view.CompareAndSwap(nil, &v)
	return *s.view.Load()
}

// EventValue is the wire form of an event (docs/formats/events.md): what
// workflows get and exports contain. Fields that say nothing are left out. A
// body that is no value, which no publisher can send, reads as null.
func EventValue(e *Envelope) map[string]any {
	payload, err := e.Body.Value()
	if err != nil {
		payload = nil
	}
	return map[string]any{
		"id":                       e.ID,
		"type":                     e.Type,
		"payload":                  payload,
		"source_agent_instance_id": e.Source,
		"timestamp":                e.Time.String(),
		"metadata":                 eventMetadata(e),
	}
}

func eventMetadata(e *Envelope) map[string]any {
	m := map[string]any{"priority": e.Priority.String(), "trace_id": e.TraceID, "source_chain": chainValue(e.Chain)}
	switch len(e.Targets) {
	case 0:
	case 1:
		m["target_agent_instance_id"] = e.Targets[0]
	default:
		list := make([]any, len(e.Targets))
		for i, t := range e.Targets {
			list[i] = t
		}
		m["target_agent_instance_id"] = list
	}
	if e.Ephemeral {
		m["ephemeral"] = true
	}
	if e.RequiresAck {
		m["requires_ack"] = true
	}
	if e.TaskID != "" {
		m["task_id"] = e.TaskID
	}
	if e.ExpectsReply {
		m["expects_reply"] = true
	}
	if e.Expires != 0 {
		m["ttl_seconds"] = seconds(e.Expires.Sub(e.Time))
	}
	return m
}

// seconds is a whole number where it can be.
func seconds(d time.Duration) any {
	if d%time.Second == 0 {
		return int64(d / time.Second)
	}
	return d.Seconds()
}

func chainValue(chain []Link) []any {
	list := make([]any, len(chain))
	for i, l := range chain {
		list[i] = map[string]any{"source_agent_instance_id": l.Agent, "type": l.Type}
	}
	return list
}

// ParseEvent reads the wire form, in snake_case or camelCase. It wants a type
// and takes everything else as given or not; a field that does not exist is an
// error that says which one was probably meant.
func ParseEvent(value any) (*Draft, error) {
	v, err := Normalize(value)
	if err != nil {
		return nil, Errorf(KindInvalid, "event: %w", err)
	}
	fields, err := readFields(v, "event", eventFields())
	if err != nil {
		return nil, err
	}
	d := &Draft{Body: Encode(fields["payload"])}
	r := fieldReader{fields: fields, where: "event"}
	d.ID = r.text("id")
	d.Type = r.text("type")
	d.Source = r.text("source_agent_instance_id")
	d.Time = r.time("timestamp")
	if r.err == nil && d.Type == "" {
		r.fail("type", "missing; want the event type, as in \"player.action.speak\"")
	}
	if r.err == nil && fields["metadata"] != nil {
		r.err = d.readMetadata(fields["metadata"])
	}
	if r.err != nil {
		return nil, r.err
	}
	return d, nil
}

func (d *Draft) readMetadata(v any) error {
	fields, err := readFields(v, "event metadata", metadataFields())
	if err != nil {
		return err
	}
	r := fieldReader{fields: fields, where: "event metadata"}
	if d.Priority, err = ParsePriority(r.text("priority")); err != nil {
		r.fail("priority", err.Error())
	}
	d.TraceID = r.text("trace_id")
	d.Chain = r.chain("source_chain")
	d.Targets = r.texts("target_agent_instance_id")
	d.Ephemeral = r.flag("ephemeral")
	d.RequiresAck = r.flag("requires_ack")
	d.TTL = r.ttl("ttl_seconds")
	d.TaskID = r.text("task_id")
	d.ExpectsReply = r.flag("expects_reply")
	if d.ExpectsReply && d.TaskID == "" {
		r.fail("task_id", "missing; an event that expects a reply names its task")
	}
	return r.err
}

func eventFields() []string {
	return []string{"id", "metadata", "payload", "source_agent_instance_id", "timestamp", "type"}
}

func metadataFields() []string {
	return []string{"ephemeral", "expects_reply", "priority", "requires_ack", "source_chain", "target_agent_instance_id", "task_id", "trace_id", "ttl_seconds"}
}

// readFields takes an object's fields under their canonical names.
func readFields(v any, where string, known []string) (map[string]any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, Errorf(KindInvalid, "%s: got %s, want an object", where, typeName(v))
	}
	out := make(map[string]any, len(m))
	for _, key := range SortedKeys(m) {
		name := snakeCase(key)
		if !slices.Contains(known, name) {
			return nil, Errorf(KindInvalid, "%s: unknown field %q; %s", where, key, fieldHint(name, known))
		}
		if _, twice := out[name]; twice {
			return nil, Errorf(KindInvalid, "%s: field %q is given in two spellings", where, name)
		}
		out[name] = m[key]
	}
	return out, nil
}

func fieldHint(name string, known []string) string {
	if slices.Contains(metadataFields(), name) {
		return "it belongs under metadata"
	}
	if slices.Contains(eventFields(), name) {
		return "it belongs beside metadata, not in it"
	}
	return "want " + strings.Join(known, ", ")
}

// snakeCase turns aTextID and aTextId into a_text_id.
func snakeCase(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		upper := c >= 'A' && c <= 'Z'
		if upper {
			c += 'a' - 'A'
			if i > 0 && s[i-1] != '_' && (s[i-1] < 'A' || s[i-1] > 'Z') {
				b.WriteByte('_')
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// fieldReader reads typed fields and keeps the first error. null is not given.
type fieldReader struct {
	fields map[string]any
	where  string
	err    error
}

func (r *fieldReader) fail(name, what string) {
	if r.err == nil {
		r.err = Errorf(KindInvalid, "%s: %s: %s", r.where, name, what)
	}
}

func (r *fieldReader) text(name string) string {
	switch x := r.fields[name].(type) {
	case nil:
	case string:
		return x
	default:
		r.fail(name, "got "+typeName(x)+", want text")
	}
	return ""
}

func (r *fieldReader) flag(name string) bool {
	switch x := r.fields[name].(type) {
	case nil:
	case bool:
		return x
	default:
		r.fail(name, "got "+typeName(x)+", want true or false")
	}
	return false
}

func (r *fieldReader) time(name string) Time {
	s := r.text(name)
	if s == "" || s == "-" {
		return 0
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() < 1678 || t.Year() > 2261 { // what nanoseconds in 64 bits can hold
		r.fail(name, "got \""+s+"\", want a time such as 2025-01-31T12:00:00Z")
		return 0
	}
	return TimeOf(t)
}

func (r *fieldReader) texts(name string) []string {
	switch x := r.fields[name].(type) {
	case nil:
	case string:
		return []string{x}
	case []any:
		var out []string
		for _, e := range x {
			s, ok := e.(string)
			if !ok {
				r.fail(name, "got "+typeName(e)+" in the list, want text")
				return nil
			}
			out = append(out, s)
		}
		return out
	default:
		r.fail(name, "got "+typeName(x)+", want text or a list of texts")
	}
	return nil
}

func (r *fieldReader) ttl(name string) time.Duration {
	v, given := r.fields[name]
	if !given || v == nil {
		return 0
	}
	f, ok := Number(v)
	switch {
	case !ok || f < 0 || f > MaxTTL.Seconds():
		r.fail(name, "want seconds, at most 100 years; 0 for never")
	case f == 0:
		return -1
	}
	return max(1, time.Duration(math.Round(f*float64(time.Second))))
}

// MaxTTL bounds how long an event may live.
const MaxTTL = 100 * 365 * 24 * time.Hour

func (r *fieldReader) chain(name string) []Link {
	v := r.fields[name]
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		r.fail(name, "got "+typeName(v)+", want a list")
		return nil
	}
	var out []Link
	for _, e := range list {
		fields, err := readFields(e, r.where+" source_chain", []string{"source_agent_instance_id", "type"})
		if err != nil {
			r.err = cmpOr(r.err, err)
			return nil
		}
		link := fieldReader{fields: fields, where: r.where + " source_chain"}
		out = append(out, Link{Agent: link.text("source_agent_instance_id"), Type: link.text("type")})
		r.err = cmpOr(r.err, link.err)
	}
	return out
}

func cmpOr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// draftFields is the length of a draft's msgpack array; draftFieldsOldest that of
// the oldest drafts in journals, before cause, turn and task.
const (
	draftFields       = 16
	draftFieldsOldest = 12
)

// Layout names the stored fields in their order.
func (Draft) Layout() string {
	return "id type source targets priority trace_id chain time ttl ephemeral requires_ack body cause turn task_id expects_reply"
}

// AppendMsg writes the msgpack form.
func (d *Draft) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, draftFields)
	b = msgp.AppendString(b, d.ID)
	b = d.AppendFields(b, int64(d.TTL), d.Body)
	return d.AppendTask(d.AppendCause(b))
}

// ReadDraft reads what AppendMsg wrote, now or before the draft had grown. The
// body shares the memory of b, which nobody may change.
func ReadDraft(b Raw) (*Draft, error) {
	r := NewReader(b, "draft", draftFields, draftFieldsOldest)
	d := &Draft{EventHeader: EventHeader{ID: r.String()}}
	ttl, body := d.ReadFields(r)
	d.TTL, d.Body = time.Duration(ttl), body
	if r.Has(draftFields) {
		d.ReadCause(r)
		d.ReadTask(r)
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return d, nil
}
