package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"
)

// Limits of what is decoded. Bytes from outside can claim sizes that they do
// not have; these hold before anything is allocated.
const (
	MaxDepth = 64 // nesting of lists and objects
	// MaxNested bounds the nesting of a value that comes from outside: facts and requests put
	// it into values of their own, which have the rest of MaxDepth.
	MaxNested = 60
	MaxBytes  = 64 << 20 // one encoded value or fact
	MaxState  = 1 << 30  // one encoded state, of many values
)

// Raw is one encoded value: msgpack, canonical (map keys in byte order) when it
// came from this package. It is immutable once made.
type Raw []byte

// Encode makes the canonical bytes of a value.
func Encode(v any) Raw { return AppendValue(nil, v) }

// Value decodes. No bytes are the value nil.
func (r Raw) Value() (any, error) {
	if len(r) == 0 {
		return nil, nil
	}
	var from values
	if len(r) <= maxShared {
		from.text = string(r)
	}
	v, rest, err := from.value(r)
	if err == nil && len(rest) > 0 {
		err = Errorf(KindCorrupt, "msgpack: %d bytes after the value", len(rest))
	}
	return v, err
}

// maxShared is how long bytes may be whose texts share one copy: whoever keeps a
// text keeps that much.
const maxShared = 256

// EncodeMsgpack writes the bytes as they are; no bytes become nil.
func (r Raw) EncodeMsgpack(enc *msgpack.Encoder) error {
	if len(r) == 0 {
		return enc.EncodeNil()
	}
	return enc.Encode(msgpack.RawMessage(r))
}

// DecodeMsgpack takes a copy of one value's bytes.
func (r *Raw) DecodeMsgpack(dec *msgpack.Decoder) error {
	raw, err := dec.DecodeRaw()
	*r = Raw(raw)
	return err
}

// Counts are numbers by name. A [Codec] writes them in the order of the names: it
// sorts maps of texts, of truths and of values, and no others.
type Counts map[string]int64

// EncodeMsgpack writes the counts in the byte order of their names.
func (c Counts) EncodeMsgpack(enc *msgpack.Encoder) error {
	if c == nil {
		return enc.EncodeNil()
	}
	if err := enc.EncodeMapLen(len(c)); err != nil {
		return err
	}
	for _, name := range SortedKeys(c) {
		if err := errors.Join(enc.EncodeString(name), enc.EncodeInt(c[name])); err != nil {
			return err
		}
	}
	return nil
}

// AppendValue appends the canonical msgpack form of a value. Something that is
// no value is a defect of the caller and panics with its type.
func AppendValue(b []byte, v any) []byte {
	switch x := v.(type) {
	case nil:
		return msgp.AppendNil(b)
	case bool:
		return msgp.AppendBool(b, x)
	case int64:
		return msgp.AppendInt64(b, x)
	case int:
		return msgp.AppendInt64(b, int64(x))
	case float64:
		return msgp.AppendFloat64(b, x)
	case string:
		return msgp.AppendString(b, x)
	case Raw:
		return append(b, x...)
	case []any:
		b = msgp.AppendArrayHeader(b, uint32(len(x)))
		for _, e := range x {
			b = AppendValue(b, e)
		}
		return b
	case map[string]any:
		return appendMap(b, x)
	}
	panic(fmt.Sprintf("protocol: AppendValue: %T is no value", v))
}

// entry is a field of an object.
type entry struct {
	name  string
	value any
}

func appendMap(b []byte, m map[string]any) []byte {
	b = msgp.AppendMapHeader(b, uint32(len(m)))
	var room [8]entry
	if len(m) > len(room) {
		var names [16]string
		for _, k := range KeysIn(names[:], m) {
			b = AppendValue(msgp.AppendString(b, k), m[k])
		}
		return b
	}
	n := 0
	for k, v := range m { // most are small, and need neither a list of keys nor a look-up of each
		i := n
		for ; i > 0 && k < room[i-1].name; i-- {
			room[i] = room[i-1]
		}
		room[i] = entry{k, v}
		n++
	}
	for i := range room[:n] {
		b = AppendValue(msgp.AppendString(b, room[i].name), room[i].value)
	}
	return b
}

// ReadValue decodes one value from the front of b.
func ReadValue(b []byte) (v any, rest []byte, err error) {
	var from values
	return from.value(b)
}

// values decodes. When text is set it holds the bytes to their end, and the texts
// in them are parts of it.
type values struct{ text string }

func (from *values) value(b []byte) (v any, rest []byte, err error) {
	v, rest, err = from.read(b, 0)
	if err != nil {
		return nil, b, Errorf(KindCorrupt, "msgpack: %w", err)
	}
	return v, rest, nil
}

func (from *values) read(b []byte, depth int) (any, []byte, error) {
	if depth > MaxDepth {
		return nil, b, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	switch msgp.NextType(b) {
	case msgp.NilType:
		rest, err := msgp.ReadNilBytes(b)
		return nil, rest, err
	case msgp.BoolType:
		return boxed(msgp.ReadBoolBytes(b))
	case msgp.IntType, msgp.UintType:
		return boxed(msgp.ReadInt64Bytes(b))
	case msgp.Float64Type, msgp.Float32Type:
		return boxed(number(b))
	case msgp.StrType:
		return boxed(from.string(b))
	case msgp.ArrayType:
		return from.list(b, depth)
	case msgp.MapType:
		return from.object(b, depth)
	case msgp.InvalidType:
		return nil, b, fmt.Errorf("no value begins here")
	default:
		return nil, b, fmt.Errorf("type %s is no value", msgp.NextType(b))
	}
}

func boxed[T any](v T, rest []byte, err error) (any, []byte, error) { return v, rest, err }

func number(b []byte) (float64, []byte, error) {
	f, rest, err := msgp.ReadFloat64Bytes(b)
	if math.IsNaN(f) || math.IsInf(f, 0) { // Normalize refuses them, so none was written
		return 0, b, fmt.Errorf("%v is no value; want a finite number", f)
	}
	return f, rest, err
}

func (from *values) string(b []byte) (string, []byte, error) {
	s, rest, err := msgp.ReadStringZC(b)
	if err != nil {
		return "", b, err
	}
	return part(from.text, s, rest), rest, nil
}

func (from *values) list(b []byte, depth int) (any, []byte, error) {
	n, b, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		return nil, b, err
	}
	if int(n) > len(b) {
		return nil, b, fmt.Errorf("list of %d in %d bytes", n, len(b))
	}
	list := make([]any, n)
	for i := range list {
		if list[i], b, err = from.read(b, depth+1); err != nil {
			return nil, b, err
		}
	}
	return list, b, nil
}

func (from *values) object(b []byte, depth int) (any, []byte, error) {
	n, b, err := msgp.ReadMapHeaderBytes(b)
	if err != nil {
		return nil, b, err
	}
	if int(n) > len(b)/2 {
		return nil, b, fmt.Errorf("object of %d in %d bytes", n, len(b))
	}
	m := make(map[string]any, n)
	for range n {
		var key string
		if key, b, err = from.string(b); err != nil {
			return nil, b, err
		}
		if m[key], b, err = from.read(b, depth+1); err != nil {
			return nil, b, err
		}
	}
	return m, b, nil
}

// Appender is a struct that writes its own msgpack form: the same bytes as
// Marshal's, faster. Hot types have it, and a test holds it to the same bytes.
type Appender interface{ AppendMsg(b []byte) []byte }

// Codec encodes and decodes structs as msgpack arrays in field order. The zero
// Codec is not ready; use [NewCodec]. It is safe for concurrent use.
type Codec struct {
	encoders sync.Pool
	decoders sync.Pool
	scratch  sync.Pool
	facts    map[string]FactType
}

// NewCodec returns a codec with pooled buffers that reads facts of the given kinds.
func NewCodec(facts ...[]FactType) *Codec {
	known := map[string]FactType{}
	for _, t := range slices.Concat(facts...) {
		known[t.Kind] = t
	}
	return &Codec{
		facts:    known,
		encoders: sync.Pool{New: func() any { return newEncoder() }},
		decoders: sync.Pool{New: func() any { return msgpack.NewDecoder(nil) }},
		scratch:  sync.Pool{New: func() any { return new([]byte) }},
	}
}

type encoder struct {
	buf bytes.Buffer
	enc *msgpack.Encoder
}

func newEncoder() *encoder {
	e := &encoder{}
	e.enc = msgpack.NewEncoder(&e.buf)
	return e
}

// Marshal encodes a struct (or anything msgpack knows).
func (c *Codec) Marshal(v any) (Raw, error) {
	if a, ok := v.(Appender); ok {
		return a.AppendMsg(nil), nil
	}
	e := c.encoders.Get().(*encoder)
	defer c.encoders.Put(e)
	e.buf.Reset()
	e.enc.Reset(&e.buf)
	e.enc.UseArrayEncodedStructs(true)
	e.enc.SetSortMapKeys(true)
	e.enc.UseCompactInts(true)
	if err := e.enc.Encode(v); err != nil {
		return nil, Errorf(KindInternal, "msgpack: encode %T: %w", v, err)
	}
	return Raw(bytes.Clone(e.buf.Bytes())), nil
}

// Append is Marshal onto the end of b.
func (c *Codec) Append(b []byte, v any) ([]byte, error) {
	if a, ok := v.(Appender); ok {
		return a.AppendMsg(b), nil
	}
	raw, err := c.Marshal(v)
	return append(b, raw...), err
}

// Unmarshal decodes what Marshal made into a pointer: at most MaxState bytes. They are
// walked once before, so a lying length cannot make it allocate.
func (c *Codec) Unmarshal(b Raw, into any) error {
	if err := CheckState(b); err != nil {
		return err
	}
	d := c.decoders.Get().(*msgpack.Decoder)
	defer c.decoders.Put(d)
	d.Reset(bytes.NewReader(b))
	d.UseLooseInterfaceDecoding(true)
	if err := d.Decode(into); err != nil {
		return Errorf(KindCorrupt, "msgpack: decode %T: %w", into, err)
	}
	return nil
}

// Check walks encoded bytes without decoding them and refuses what is cut,
// nested too deep or longer than MaxBytes.
func Check(b Raw) error { return check(b, MaxBytes) }

// CheckState is Check of a state, which may have MaxState bytes.
func CheckState(b Raw) error { return check(b, MaxState) }

func check(b Raw, limit int) error {
	if len(b) > limit {
		return Errorf(KindLimit, "msgpack: %d bytes; the limit is %d", len(b), limit)
	}
	rest, err := skip(b, 0)
	if err != nil {
		return Errorf(KindCorrupt, "msgpack: %w", err)
	}
	if len(rest) > 0 {
		return Errorf(KindCorrupt, "msgpack: %d bytes after the value", len(rest))
	}
	return nil
}

func skip(b []byte, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return b, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	var n uint32
	var err error
	switch msgp.NextType(b) {
	case msgp.ArrayType:
		n, b, err = msgp.ReadArrayHeaderBytes(b)
	case msgp.MapType:
		n, b, err = msgp.ReadMapHeaderBytes(b)
		if int(n) > len(b) {
			return b, fmt.Errorf("object of %d in %d bytes", n, len(b))
		}
		n *= 2
	case msgp.InvalidType:
		return b, fmt.Errorf("no value begins here")
	case msgp.Float64Type, msgp.Float32Type:
		_, b, err = number(b)
		return b, err
	default:
		return msgp.Skip(b)
	}
	for range n {
		if err != nil {
			return b, err
		}
		b, err = skip(b, depth+1)
	}
	return b, err
}
