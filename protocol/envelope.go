package protocol

import (
	"sync/atomic"

	"github.com/tinylib/msgp/msgp"
)

// Kind says what an envelope carries; it decides the type of the body.
type Kind uint8

const (
	KindEvent    Kind = iota + 1 // something happened; the body is the payload, a value
	KindWake                     // scene to agent: deliberate now
	KindTurn                     // agent to scene: a deliberation ended
	KindAnswer                   // shell to agent: the result of an effect
	KindObserve                  // to an agent: what became of something it asked for
	KindCommit                   // scene to a service: decide about these requests
	_                            // was publish; the numbers of the others stay
	KindDecided                  // any actor to the scene: facts of one decision
	_                            // was release; the numbers of the others stay
	KindSnapshot                 // scene to any actor: give your state
	KindState                    // any actor to the scene: its state
	KindFailed                   // supervisor to the scene: an actor failed
	KindControl                  // to the scene: pause, resume, stop
	KindTick                     // shell to the scene: a timer fired
	KindWaits                    // agent to scene: its deliberation waits for a model (realtime)
	KindStep                     // agent to scene: what its deliberation did, under a budget
	KindGrant                    // scene to agent: a request may leave, or not
)

func (k Kind) String() string {
	names := [...]string{"none", "event", "wake", "turn", "answer", "observe", "commit", "",
		"decided", "", "snapshot", "state", "failed", "control", "tick", "waits", "step", "grant"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Link is one step of a causal chain: who published what.
type Link struct {
	Agent string
	Type  string
}

// Envelope is what crosses between actors: a small typed header and a msgpack
// body. The publisher encodes the body once; from then on the same bytes are
// routed, shared by every receiver and journaled. An envelope is immutable once
// sent, and one envelope serves all its receivers.
//
// An event is an envelope of KindEvent.
type Envelope struct {
	EventHeader
	Kind    Kind
	Scene   string
	Expires Time   // 0 = never
	Wave    uint64 // that released it; a restored actor knows what it already folded
	Place   uint32 // in its wave; not encoded, since only what is under way is compared
	Body    Body
}

// Depth is the length of the causal chain.
func (e *Envelope) Depth() int { return len(e.Chain) }

// Body is encoded once and decoded at most once, by the first who reads it.
// What Value returns is shared: read-only. A Body must not be copied after use.
type Body struct {
	Raw     Raw
	decoded atomic.Pointer[any]
	given   any // room for what SetValue gives
}

// NewBody holds encoded bytes.
func NewBody(raw Raw) Body { return Body{Raw: raw} }

// Value decodes the body as a value and keeps the result for the next reader.
func (b *Body) Value() (any, error) {
	if v := b.decoded.Load(); v != nil {
		return *v, nil
	}
	v, err := b.Raw.Value()
	if err != nil {
		return nil, err
	}
	b.decoded.Store(&v)
	return v, nil
}

// SetValue gives the body what Value returns: a value that crosses beside the bytes
// within a process. Nobody may change it afterwards.
func (b *Body) SetValue(v any) {
	b.given = v
	b.decoded.Store(&b.given)
}

// Fact is a past-tense, versioned record of something that a machine decided.
type Fact interface{ FactKind() string }

// Record is a fact on its way to the journal and back.
type Record struct {
	Seq   uint64 // position in the scene's journal, from 1; 0 before it is kept
	Time  Time   // of the scene's clock
	Actor string // who decided
	Kind  string // of the fact
	Data  Raw    // the fact's msgpack form
}

// envelopeFields is the length of an envelope's msgpack array.
const (
	envelopeFields       = 19
	envelopeFieldsTask   = 17 // in older snapshots, before cause and turn
	envelopeFieldsOldest = 15 // before the task
)

// AppendMsg writes the wire form: a list of kind, id, scene, source, targets,
// type, priority, trace id, chain, time, expiry, ephemeral, acknowledged, wave,
// body, task, reply expected, cause, turn.
func (e *Envelope) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, envelopeFields)
	b = msgp.AppendUint64(b, uint64(e.Kind))
	b = msgp.AppendString(b, e.ID)
	b = msgp.AppendString(b, e.Scene)
	b = msgp.AppendString(b, e.Source)
	b = AppendStrings(b, e.Targets)
	b = msgp.AppendString(b, e.Type)
	b = e.appendCourse(b, int64(e.Expires))
	b = msgp.AppendUint64(b, e.Wave)
	b = AppendRaw(b, e.Body.Raw)
	return e.AppendCause(e.AppendTask(b))
}

// ReadEnvelope reads what AppendMsg wrote, now or before the envelope had grown.
// The body shares the memory of b, which nobody may change.
func ReadEnvelope(b Raw) (*Envelope, error) {
	r := NewReader(b, "envelope", envelopeFields, envelopeFieldsTask, envelopeFieldsOldest)
	e := &Envelope{Kind: Kind(r.Uint())}
	e.ID, e.Scene = r.String(), r.String()
	e.Source, e.Targets, e.Type = r.String(), r.Strings(), r.String()
	e.Expires = Time(e.readCourse(r))
	e.Wave, e.Body = r.Uint(), NewBody(r.Raw())
	if r.Has(envelopeFieldsTask) {
		e.ReadTask(r)
	}
	if r.Has(envelopeFields) {
		e.ReadCause(r)
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return e, nil
}

// Bare is the event without its payload.
func (e *Envelope) Bare() *Envelope { return e.with(e.Priority, nil) }

// At is the event as somebody gets it at a priority.
func (e *Envelope) At(p Priority) *Envelope {
	if p == e.Priority {
		return e
	}
	return e.with(p, e.Body.Raw)
}

func (e *Envelope) with(p Priority, body Raw) *Envelope {
	c := &Envelope{EventHeader: e.EventHeader, Kind: e.Kind, Scene: e.Scene, Expires: e.Expires, Wave: e.Wave, Place: e.Place, Body: NewBody(body)}
	c.Priority = p
	return c
}

// RoutedBefore reports whether an event comes before another in the one order of
// their scene.
func (e *Envelope) RoutedBefore(o *Envelope) bool {
	return e.Wave < o.Wave || e.Wave == o.Wave && e.Place < o.Place
}
