package world

import (
	"strings"

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

// causeFields is the length of a cause's msgpack array; the oldest in journals
// end before the event.
const (
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

// FactKind implements protocol.Fact.
func (*Refused) FactKind() string { return FactRefused }

// AppendMsg writes the fact as protocol.Codec would.
func (c *Committed) AppendMsg(b []byte) []byte {
	b = msgp.AppendArrayHeader(b, 4)
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
	b = msgp.AppendArrayHeader(b, 7)
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
	b = msgp.AppendArrayHeader(b, 9)
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
	r := reader{b: raw}
	*p = r.path()
	return r.err
}

// ReadCommitted decodes a Committed. What it holds shares the bytes.
func ReadCommitted(raw protocol.Raw) (*Committed, error) {
	r := reader{b: raw}
	r.array(FactCommitted, 4)
	c := &Committed{Time: protocol.Time(r.int()), Before: r.int(), After: r.int()}
	if n, ok := r.list(8); ok {
		c.Changes = make([]Change, n)
		for i := range c.Changes {
			r.change(&c.Changes[i])
		}
	}
	return c, r.done(FactCommitted)
}

func (r *reader) change(c *Change) {
	r.array("change", 7)
	c.Op, c.Path, c.Value = Op(r.text()), r.path(), r.raw()
	c.By, c.Request, c.Reason, c.Cause = r.text(), r.text(), r.text(), r.cause()
}

// ReadRefused decodes a Refused.
func ReadRefused(raw protocol.Raw) (*Refused, error) {
	r := reader{b: raw}
	r.array(FactRefused, 9)
	f := &Refused{Time: protocol.Time(r.int()), Version: r.int(), Op: Op(r.text()), Path: r.path(),
		By: r.text(), Request: r.text(), Code: Code(r.text()), Message: r.text(), Cause: r.cause()}
	return f, r.done(FactRefused)
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

// reader decodes in order; after the first error it reads zeros.
type reader struct {
	b     []byte
	texts protocol.Texts // of b
	err   error
}

func (r *reader) done(what string) error {
	if r.err == nil && len(r.b) > 0 {
		r.err = protocol.Errorf(protocol.KindCorrupt, "%d bytes after the end", len(r.b))
	}
	if r.err != nil {
		return protocol.Errorf(protocol.KindCorrupt, "world: read %s: %w", what, r.err)
	}
	return nil
}

func take[T any](r *reader, read func([]byte) (T, []byte, error)) T {
	var v T
	if r.err == nil {
		v, r.b, r.err = read(r.b)
	}
	return v
}

func (r *reader) int() int64   { return take(r, msgp.ReadInt64Bytes) }
func (r *reader) text() string { return take(r, r.texts.Read) }

func (r *reader) uint() uint64 { return take(r, msgp.ReadUint64Bytes) }

// grown reads the length of a list that has grown at its end since the oldest
// journals.
func (r *reader) grown(what string, oldest, newest uint32) uint32 {
	n := take(r, msgp.ReadArrayHeaderBytes)
	if r.err == nil && n != oldest && n != newest {
		r.err = protocol.Errorf(protocol.KindCorrupt, "%s has %d fields; this version knows %d", what, n, newest)
	}
	return n
}

func (r *reader) array(what string, want uint32) {
	if n := take(r, msgp.ReadArrayHeaderBytes); r.err == nil && n != want {
		r.err = protocol.Errorf(protocol.KindCorrupt, "%s has %d fields; this version knows %d", what, n, want)
	}
}

// list reads the header of a list that may be null. Each element takes at least
// least bytes, which bounds what a false length can claim.
func (r *reader) list(least int) (int, bool) {
	if r.err == nil && msgp.IsNil(r.b) {
		r.b = r.b[1:]
		return 0, false
	}
	n := int(take(r, msgp.ReadArrayHeaderBytes))
	if r.err == nil && n > len(r.b)/least {
		r.err = protocol.Errorf(protocol.KindCorrupt, "a list claims %d elements in %d bytes", n, len(r.b))
	}
	return n, r.err == nil
}

func (r *reader) raw() protocol.Raw {
	if r.err != nil {
		return nil
	}
	if msgp.IsNil(r.b) {
		r.b = r.b[1:]
		return nil
	}
	rest, err := msgp.Skip(r.b)
	if err != nil {
		r.err = err
		return nil
	}
	raw := protocol.Raw(r.b[: len(r.b)-len(rest) : len(r.b)-len(rest)])
	r.b = rest
	return raw
}

func (r *reader) path() Path {
	n, ok := r.list(1)
	if !ok {
		return nil
	}
	p := make(Path, n)
	for i := range p {
		p[i] = r.segment()
	}
	return p
}

func (r *reader) segment() Segment {
	if r.err != nil {
		return Segment{}
	}
	switch msgp.NextType(r.b) {
	case msgp.StrType:
		return Segment{Key: r.text()}
	case msgp.NilType:
		r.b = r.b[1:]
		return Segment{Kind: Append}
	case msgp.MapType:
		take(r, msgp.ReadMapHeaderBytes)
		if star := r.text(); r.err == nil && !strings.HasPrefix(star, "*") {
			r.err = protocol.Errorf(protocol.KindCorrupt, "segment %q is unknown", star)
		}
		return Segment{Kind: AnyOne + SegmentKind(r.int()-1)&1}
	}
	return Segment{Kind: Index, Pos: int(r.int())}
}

func (r *reader) cause() Cause {
	grown := r.grown("cause", causeFieldsOldest, causeFields)
	c := Cause{Trace: r.text()}
	if n, ok := r.list(3); ok {
		c.Chain = make([]protocol.Link, n)
		for i := range c.Chain {
			r.array("link", 2)
			c.Chain[i] = protocol.Link{Agent: r.text(), Type: r.text()}
		}
	}
	if grown == causeFields {
		c.Event, c.Turn = r.text(), r.uint()
	}
	return c
}

// ReadChange decodes one change. What it holds shares the bytes.
func ReadChange(raw protocol.Raw) (Change, error) {
	r := reader{b: raw}
	var c Change
	r.change(&c)
	return c, r.done("change")
}

// ReadPath decodes what [Path.AppendMsg] wrote; no bytes are the nil path.
func ReadPath(raw protocol.Raw) (Path, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	r := reader{b: raw}
	p := r.path()
	return p, r.done("path")
}
