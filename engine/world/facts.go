package world

import (
	"fmt"

	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"

	"tavernsim/protocol"
)

// Op is what is done at a path.
type Op string

// What a request may ask for. Each raises the counter ([CounterKey]) of every
// object on its path that has one.
const (
	OpSet    Op = "set"    // create or replace; missing objects on the way are made, lists are not
	OpAdd    Op = "add"    // add to a number; missing counts as 0
	OpPush   Op = "push"   // append one element to a list; a missing list is made
	OpMerge  Op = "merge"  // set the fields of an object one by one; a missing object is made
	OpDelete Op = "delete" // remove; nothing there is no fault
)

// What only engines write into facts.
const (
	OpPut    Op = "put"    // set that raises no counter and may write one
	OpRemove Op = "remove" // delete that raises no counter
	OpSplice Op = "splice" // value [from, drop, element...]: replace elements of a list
	OpBump   Op = "bump"   // raise the counters on the path and of the object at its end
)

func (op Op) counts() bool {
	switch op {
	case OpPut, OpRemove, OpSplice:
		return false
	}
	return true
}

// Requestable reports whether a request may ask for the operation.
func (op Op) Requestable() bool {
	switch op {
	case OpSet, OpAdd, OpPush, OpMerge, OpDelete:
		return true
	}
	return false
}

// Cause says what led to a request.
type Cause struct {
	Trace string
	Chain []protocol.Link
	Event string // id of the event that the writer reacted to; "" = none
	Turn  uint64 // of the writer's deliberation; 0 = none
}

// Lengths of msgpack arrays. The oldest causes in journals end before the event.
const (
	committedFields   = 4
	changeFields      = 7
	refusedFields     = 9
	causeFields       = 4
	causeFieldsOldest = 2
)

// Change is one request that was carried out.
type Change struct {
	Op      Op
	Path    Path
	Value   protocol.Raw // the operand as requested
	By      string
	Request string
	Reason  string
	Cause   Cause
}

// Kinds of this package's facts.
const (
	FactCommitted = "world.committed"
	FactRefused   = "world.refused"
)

// Committed says that a document went from one version to the next. Version 1
// of this fact.
type Committed struct {
	Time    protocol.Time
	Before  int64
	After   int64
	Changes []Change // in the order in which they were carried out
}

// FactKind implements protocol.Fact.
func (*Committed) FactKind() string { return FactCommitted }

// Refused says that a request was not carried out. It changes nothing.
type Refused struct {
	Time    protocol.Time
	Version int64 // of the document when it was refused
	Op      Op
	Path    Path
	By      string
	Request string
	Code    Code
	Message string
	Cause   Cause
}

func (*Refused) FactKind() string { return FactRefused }

// AppendMsg writes the fact as protocol.Codec would.
func (c *Committed) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, committedFields)
	b = protocol.AppendInt(b, int64(c.Time))
	b = protocol.AppendInt(b, c.Before)
	b = protocol.AppendInt(b, c.After)
	if c.Changes == nil {
		return msgp.AppendNil(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(c.Changes)))
	for i := range c.Changes {
		b = c.Changes[i].AppendMsg(b)
	}
	return b
}

// AppendMsg writes the change as protocol.Codec would.
func (c *Change) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, changeFields)
	b = msgp.AppendString(b, string(c.Op))
	b = c.Path.AppendMsg(b)
	b = protocol.AppendRaw(b, c.Value)
	b = msgp.AppendString(b, c.By)
	b = msgp.AppendString(b, c.Request)
	b = msgp.AppendString(b, c.Reason)
	return c.Cause.appendMsg(b)
}

// AppendMsg writes the fact as protocol.Codec would.
func (r *Refused) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, refusedFields)
	b = protocol.AppendInt(b, int64(r.Time))
	b = protocol.AppendInt(b, r.Version)
	b = msgp.AppendString(b, string(r.Op))
	b = r.Path.AppendMsg(b)
	b = msgp.AppendString(b, r.By)
	b = msgp.AppendString(b, r.Request)
	b = msgp.AppendString(b, string(r.Code))
	b = msgp.AppendString(b, r.Message)
	return r.Cause.appendMsg(b)
}

func (c *Cause) appendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, causeFields)
	b = msgp.AppendString(b, c.Trace)
	b = protocol.AppendChain(b, c.Chain)
	b = msgp.AppendString(b, c.Event)
	return msgp.AppendUint64(b, c.Turn)
}

// AppendMsg writes the path as a list: a text per name, an integer per position,
// null for [-]. Wildcards become {"*": 1} and {"*": 2}.
func (p Path) AppendMsg(b []byte) []byte {
	if p == nil {
		return msgp.AppendNil(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(p)))
	for i := range p {
		switch s := &p[i]; s.Kind {
		case Name:
			b = msgp.AppendString(b, s.Key)
		case Index:
			b = msgp.AppendInt64(b, int64(s.Pos))
		case Append:
			b = msgp.AppendNil(b)
		default:
			b = msgp.AppendMapHeader(b, 1)
			b = msgp.AppendString(b, "*")
			b = msgp.AppendInt64(b, int64(s.Kind-AnyOne)+1)
		}
	}
	return b
}

// EncodeMsgpack makes protocol.Codec write what AppendMsg writes.
func (p Path) EncodeMsgpack(enc *msgpack.Encoder) error {
	return enc.Encode(msgpack.RawMessage(p.AppendMsg(nil)))
}

// DecodeMsgpack reads what AppendMsg wrote.
func (p *Path) DecodeMsgpack(dec *msgpack.Decoder) error {
	raw, err := dec.DecodeRaw()
	if err != nil {
		return err
	}
	r := protocol.NewValues(protocol.Raw(raw), "path")
	*p = ReadPath(r)
	return r.Err()
}

// ReadCommitted decodes a Committed. What it holds shares the bytes.
func ReadCommitted(raw protocol.Raw) (*Committed, error) {
	r := protocol.NewReader(raw, FactCommitted, committedFields)
	c := &Committed{Time: protocol.Time(r.Int()), Before: r.Int(), After: r.Int()}
	if n, ok := r.Count(changeFields + 1); ok {
		c.Changes = make([]Change, n)
		for i := range c.Changes {
			c.Changes[i] = ReadChange(r)
		}
	}
	return c, r.End()
}

// ReadRefused decodes a Refused.
func ReadRefused(raw protocol.Raw) (*Refused, error) {
	r := protocol.NewReader(raw, FactRefused, refusedFields)
	f := &Refused{Time: protocol.Time(r.Int()), Version: r.Int(), Op: Op(r.String()), Path: ReadPath(r),
		By: r.String(), Request: r.String(), Code: Code(r.String()), Message: r.String(), Cause: readCause(r)}
	return f, r.End()
}

// Facts are the kinds of this package.
func Facts() []protocol.FactType {
	return []protocol.FactType{
		protocol.ByHand(ReadCommitted).Traced(3, protocol.Each, 6, 0),
		protocol.ByHand(ReadRefused).Traced(8, 0),
	}
}

// Answers implements protocol.Answering.
func (r *Refused) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: r.By, Kind: "world_refused", Wakes: true}, true
}

// Told implements protocol.Answering.
func (r *Refused) Told() map[string]any {
	return map[string]any{
		"request_id": r.Request, "path": r.Path.String(), "op": string(r.Op), "code": string(r.Code), "message": r.Message, "version": r.Version,
	}
}

// ReadPath reads what [Path.AppendMsg] wrote.
func ReadPath(r *protocol.Reader) Path {
	n, ok := r.Count(1)
	if !ok {
		return nil
	}
	p := make(Path, n)
	for i := range p {
		p[i] = segment(r)
	}
	return p
}

func segment(r *protocol.Reader) Segment {
	switch r.Next() {
	case msgp.StrType:
		return Segment{Key: r.String()}
	case msgp.NilType:
		r.Nil()
		return Segment{Kind: Append}
	case msgp.MapType:
		v, _ := r.Raw().Value()
		m, _ := v.(map[string]any)
		star, ok := m["*"].(int64)
		if !ok {
			r.Fail(protocol.Errorf(protocol.KindCorrupt, "segment %.80q is unknown", fmt.Sprint(v)))
		}
		return Segment{Kind: AnyOne + SegmentKind(star-1)&1}
	}
	return Segment{Kind: Index, Pos: int(r.Int())}
}

func readCause(r *protocol.Reader) Cause {
	n := r.Fields("cause", causeFields, causeFieldsOldest)
	c := Cause{Trace: r.String(), Chain: r.Chain()}
	if n == causeFields {
		c.Event, c.Turn = r.String(), r.Uint()
	}
	return c
}

// ReadChange reads what [Change.AppendMsg] wrote. What it holds shares the bytes.
func ReadChange(r *protocol.Reader) Change {
	r.Fields("change", changeFields)
	return Change{Op: Op(r.String()), Path: ReadPath(r), Value: r.Raw(), By: r.String(), Request: r.String(), Reason: r.String(), Cause: readCause(r)}
}
