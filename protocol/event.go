package protocol

import (
	"slices"
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
	// Reach bounds who hears it in a scene in space: near, place or scene; "" = as the scene
	// says of its type.
	Reach string
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
		m["target_agent_instance_id"] = ListOf(e.Targets)
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

// MaxTTL bounds how long an event may live.
const MaxTTL = 100 * 365 * 24 * time.Hour

// draftFields is the length of a draft's msgpack array; draftFieldsOldest that of
// the oldest drafts in journals, before cause, turn and task.
const (
	draftFields       = 16
	draftFieldsReach  = 17 // of one with Reach
	draftFieldsOldest = 12
)

// Layout names the stored fields in their order.
func (Draft) Layout() string {
	return "id type source targets priority trace_id chain time ttl ephemeral requires_ack body cause turn task_id expects_reply reach"
}

// AppendMsg writes the msgpack form.
func (d *Draft) AppendMsg(b []byte) []byte {
	fields := uint32(draftFields)
	if d.Reach != "" {
		fields = draftFieldsReach
	}
	b = msgp.AppendArrayHeader(b, fields)
	b = msgp.AppendString(b, d.ID)
	b = d.AppendFields(b, int64(d.TTL), d.Body)
	b = d.AppendTask(d.AppendCause(b))
	if d.Reach != "" {
		b = msgp.AppendString(b, d.Reach)
	}
	return b
}

// ReadDraft reads what AppendMsg wrote, now or before the draft had grown. The
// body shares the memory of b, which nobody may change.
func ReadDraft(b Raw) (*Draft, error) {
	r := NewReader(b, "draft", draftFieldsReach, draftFields, draftFieldsOldest)
	d := &Draft{EventHeader: EventHeader{ID: r.String()}}
	ttl, body := d.ReadFields(r)
	d.TTL, d.Body = time.Duration(ttl), body
	if r.Has(draftFields) {
		d.ReadCause(r)
		d.ReadTask(r)
	}
	if r.Has(draftFieldsReach) {
		d.Reach = r.String()
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return d, nil
}
