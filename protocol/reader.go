package protocol

import (
	"math"
	"slices"

	"github.com/tinylib/msgp/msgp"
)

// What follows writes and reads the fields of hot structs by hand, in the bytes
// that the codec would write.

// AppendInt writes an integer in its shortest form.
func AppendInt(b []byte, i int64) []byte {
	if i >= 0 {
		return msgp.AppendUint64(b, uint64(i))
	}
	return msgp.AppendInt64(b, i)
}

// AppendRaw writes an encoded value; no bytes become nil.
func AppendRaw(b []byte, raw Raw) []byte {
	if len(raw) == 0 {
		return msgp.AppendNil(b)
	}
	return append(b, raw...)
}

// AppendStrings writes a list of texts; the nil slice becomes nil.
func AppendStrings(b []byte, list []string) []byte {
	if list == nil {
		return msgp.AppendNil(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(list)))
	for _, s := range list {
		b = msgp.AppendString(b, s)
	}
	return b
}

// AppendChain writes a causal chain.
func AppendChain(b []byte, chain []Link) []byte {
	if chain == nil {
		return msgp.AppendNil(b)
	}
	b = msgp.AppendArrayHeader(b, uint32(len(chain)))
	for _, l := range chain {
		b = msgp.AppendString(msgp.AppendString(msgp.AppendArrayHeader(b, 2), l.Agent), l.Type)
	}
	return b
}

// Reader reads the fields of one struct from its msgpack array. After the first
// error everything reads as zero, and End tells it.
type Reader struct {
	b      []byte
	text   string // the bytes to their end, of which texts are parts; "" = each has memory of its own
	what   string
	err    error
	fields uint32 // of the array
}

// NewReader expects an array of the given number of fields, or of one of the
// numbers that the type had before it grew at its end. Has says what is there.
func NewReader(b Raw, what string, fields uint32, older ...uint32) *Reader {
	r := &Reader{b: b, what: what} // NewReader is inlined, so that readers live on the stack
	r.open(fields, older)
	return r
}

// NewValues reads values that stand one behind the other, in no array.
func NewValues(b Raw, what string) *Reader { return &Reader{b: b, what: what} }

// Share makes the texts that are read from now on parts of one copy of the bytes, if these are few.
func (r *Reader) Share() {
	if len(r.b) <= maxShared {
		r.text = string(r.b)
	}
}

// Next is the type of the next value.
func (r *Reader) Next() msgp.Type { return msgp.NextType(r.b) }

func (r *Reader) open(fields uint32, older []uint32) {
	if len(r.b) > MaxState {
		r.Fail(Errorf(KindLimit, "%d bytes; the limit is %d", len(r.b), MaxState))
		return
	}
	n, rest, err := msgp.ReadArrayHeaderBytes(r.b)
	if err == nil && n != fields && !slices.Contains(older, n) {
		err = Errorf(KindCorrupt, "%d fields, want %d", n, fields)
	}
	r.b, r.fields = rest, n
	r.Fail(err)
}

// Fail makes err the reader's error, unless it has one.
func (r *Reader) Fail(err error) {
	if err != nil && r.err == nil {
		r.err = Errorf(KindCorrupt, "msgpack: %s: %w", r.what, err)
		r.b = nil
	}
}

// Has reports whether the array has a field at the place, counted from 1.
func (r *Reader) Has(field uint32) bool { return r.fields >= field }

// Err is the first error so far, for who does not read to the end.
func (r *Reader) Err() error { return r.err }

// End reports the first error, or bytes that nobody read.
func (r *Reader) End() error {
	if r.err == nil && len(r.b) > 0 {
		r.Fail(Errorf(KindCorrupt, "%d bytes after the end", len(r.b)))
	}
	return r.err
}

// take reads one value. Who calls it is not inlined: in other packages the compiler would put the reader on the heap for it.
func take[T any](r *Reader, read func([]byte) (T, []byte, error)) (v T) {
	if r.err != nil {
		return v
	}
	v, rest, err := read(r.b)
	if err != nil {
		var zero T
		r.Fail(err)
		return zero
	}
	r.b = rest
	return v
}

// String reads a text.
func (r *Reader) String() string {
	raw := take(r, msgp.ReadStringZC)
	return part(r.text, raw, r.b)
}

// part is raw, in front of rest, as a part of the text that holds the bytes to their end; "" = it is copied.
func part(text string, raw, rest []byte) string {
	if text == "" {
		return string(raw)
	}
	end := len(text) - len(rest)
	return text[end-len(raw) : end]
}

// Bool reads a boolean.
//
//go:noinline
func (r *Reader) Bool() bool { return take(r, msgp.ReadBoolBytes) }

// Int reads an integer.
//
//go:noinline
func (r *Reader) Int() int64 { return take(r, msgp.ReadInt64Bytes) }

// Uint reads an integer that is not negative.
//
//go:noinline
func (r *Reader) Uint() uint64 { return take(r, msgp.ReadUint64Bytes) }

// Uint32 reads an integer of 32 bits.
func (r *Reader) Uint32() uint32 {
	u := r.Uint()
	if u > math.MaxUint32 {
		r.Fail(Errorf(KindCorrupt, "%d does not fit 32 bits", u))
		return 0
	}
	return uint32(u)
}

// Priority reads one of the priorities.
func (r *Reader) Priority() Priority {
	i := r.Int()
	if i < int64(Low) || i > int64(Critical) {
		r.Fail(Errorf(KindCorrupt, "priority %d", i))
		return Normal
	}
	return Priority(i)
}

// Raw reads one encoded value without decoding it; nil is no bytes. The result
// shares the reader's memory.
func (r *Reader) Raw() Raw {
	raw := take(r, func(b []byte) (Raw, []byte, error) {
		rest, err := skip(b, 0)
		n := len(b) - len(rest)
		return Raw(b[:n:n]), rest, err
	})
	if len(raw) == 1 && raw[0] == msgpNil {
		return nil
	}
	return raw
}

const msgpNil = 0xc0

// Nil skips a nil, and reports whether there was one.
func (r *Reader) Nil() bool {
	if len(r.b) == 0 || r.b[0] != msgpNil {
		return false
	}
	r.b = r.b[1:]
	return true
}

// Count reads the length of a list whose items take at least each bytes; ok is
// false for nil.
func (r *Reader) Count(each int) (n int, ok bool) {
	if r.Nil() {
		return 0, false
	}
	count := take(r, msgp.ReadArrayHeaderBytes)
	if int64(count) > int64(len(r.b)/each) {
		r.Fail(Errorf(KindCorrupt, "list of %d in %d bytes", count, len(r.b)))
		return 0, false
	}
	return int(count), r.err == nil
}

// Fields expects the array header of a nested struct, which errors call what, with the given number of
// fields or one of the other numbers, and gives it.
func (r *Reader) Fields(what string, want int, others ...int) int {
	n, ok := r.Count(1)
	if r.err == nil && (!ok || n != want && !slices.Contains(others, n)) {
		r.Fail(Errorf(KindCorrupt, "%s: %d fields, want %d", what, n, want))
	}
	return n
}

// Strings reads a list of texts.
func (r *Reader) Strings() []string {
	n, ok := r.Count(1)
	if !ok {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.String()
	}
	return list
}

// Chain reads a causal chain.
func (r *Reader) Chain() []Link {
	n, ok := r.Count(3)
	if !ok {
		return nil
	}
	list := make([]Link, n)
	for i := range list {
		r.Fields("link", 2)
		list[i] = Link{Agent: r.String(), Type: r.String()}
	}
	return list
}

// Word reads text that is one of few: no allocation for those [Intern] knows.
func (r *Reader) Word() string {
	b := take(r, msgp.ReadStringZC)
	if len(b) == 0 {
		return ""
	}
	return Intern(b)
}
