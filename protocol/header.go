package protocol

import "github.com/tinylib/msgp/msgp"

// EventHeader is what an event is beside its payload, wherever it stands: a draft,
// an envelope, a fact that it was routed or refused. Who takes an event from one
// to another copies the header as a whole, so that no field is forgotten.
type EventHeader struct {
	ID          string
	Type        string
	Source      string   // instance id of the publisher; "" = from outside
	Targets     []string // instance ids; empty = whoever subscribed
	Priority    Priority
	TraceID     string
	Chain       []Link // causes, oldest first: see CausedBy; its length is the depth
	Time        Time
	Ephemeral   bool // facts have no body of it, unless somebody waits for it
	RequiresAck bool
	Cause       string // id of the event that the publisher reacted to; "" = none
	Turn        uint64 // of the publisher's deliberation; 0 = the scene, or outside

	TaskID       string // of the task that it asks for or answers; "" = none
	ExpectsReply bool   // it asks for it
}

// What follows writes and reads the header in parts, because the forms that hold
// it have grown at different places.

// AppendFields writes type, source and targets, what appendCourse writes, and the
// body.
func (h *EventHeader) AppendFields(b []byte, life int64, body Raw) []byte {
	b = msgp.AppendString(b, h.Type)
	b = msgp.AppendString(b, h.Source)
	b = AppendStrings(b, h.Targets)
	return AppendRaw(h.appendCourse(b, life), body)
}

// ReadFields reads what AppendFields wrote.
func (h *EventHeader) ReadFields(r *Reader) (life int64, body Raw) {
	h.Type, h.Source, h.Targets = r.String(), r.String(), r.Strings()
	life = h.readCourse(r)
	return life, r.Raw()
}

// appendCourse writes priority, trace id, chain, time, life, ephemeral and
// acknowledged. life is the moment at which the event expires, or its time to live.
func (h *EventHeader) appendCourse(b []byte, life int64) []byte {
	b = AppendInt(b, int64(h.Priority))
	b = msgp.AppendString(b, h.TraceID)
	b = AppendChain(b, h.Chain)
	b = AppendInt(b, int64(h.Time))
	b = AppendInt(b, life)
	b = msgp.AppendBool(b, h.Ephemeral)
	return msgp.AppendBool(b, h.RequiresAck)
}

func (h *EventHeader) readCourse(r *Reader) (life int64) {
	h.Priority, h.TraceID, h.Chain, h.Time = r.Priority(), r.String(), r.Chain(), Time(r.Int())
	life = r.Int()
	h.Ephemeral, h.RequiresAck = r.Bool(), r.Bool()
	return life
}

// AppendCause writes cause and turn.
func (h *EventHeader) AppendCause(b []byte) []byte {
	return msgp.AppendUint64(msgp.AppendString(b, h.Cause), h.Turn)
}

// ReadCause reads what AppendCause wrote.
func (h *EventHeader) ReadCause(r *Reader) { h.Cause, h.Turn = r.String(), r.Uint() }

// AppendTask writes the task and whether an answer is expected.
func (h *EventHeader) AppendTask(b []byte) []byte {
	return msgp.AppendBool(msgp.AppendString(b, h.TaskID), h.ExpectsReply)
}

// ReadTask reads what AppendTask wrote.
func (h *EventHeader) ReadTask(r *Reader) { h.TaskID, h.ExpectsReply = r.String(), r.Bool() }
