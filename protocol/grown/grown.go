// Package grown reads structs of snapshots that an older program wrote with fewer fields. It
// also writes them without trailing zero fields. Facts never get a field.
package grown

import (
	"reflect"

	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"

	"tavernsim/protocol"
)

// Marshal is [protocol.Codec.Marshal] of the first fields of a struct: Unmarshal reads the others as zero.
func Marshal(c *protocol.Codec, v any, fields int) (protocol.Raw, error) {
	raw, err := c.Marshal(v)
	if err != nil {
		return nil, err
	}
	_, first, err := msgp.ReadArrayHeaderBytes(raw)
	rest := first
	for i := 0; i < fields && err == nil; i++ {
		rest, err = msgp.Skip(rest)
	}
	return append(msgp.AppendArrayHeader(nil, uint32(fields)), first[:len(first)-len(rest)]...), err
}

// Unmarshal is [protocol.Codec.Unmarshal]. A field that the struct, or one in it, got at
// its end since it was written is zero.
func Unmarshal(c *protocol.Codec, b protocol.Raw, into any) error {
	err := c.Unmarshal(b, into)
	if err == nil || protocol.CheckState(b) != nil {
		return err
	}
	v := reflect.ValueOf(into).Elem()
	whole, _, bad := whole(nil, b, v.Type())
	if bad != nil {
		return err
	}
	v.SetZero()
	return c.Unmarshal(whole, into)
}

// whole copies one value of a type from the front of b to out. Structs get the fields
// that they lack at their end, as nil.
func whole(out, b []byte, typ reflect.Type) (_, rest []byte, err error) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	list, fields := typ.Kind() == reflect.Slice, []reflect.Type(nil)
	if typ.Kind() == reflect.Struct {
		fields = storedFields(typ)
	}
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if own := reflect.PointerTo(typ).Implements(reflect.TypeFor[msgpack.CustomDecoder]()); err != nil || own || !list && int(n) > len(fields) {
		rest, err = msgp.Skip(b)
		return append(out, b[:len(b)-len(rest)]...), rest, err
	}
	out = msgp.AppendArrayHeader(out, max(n, uint32(len(fields))))
	for i := 0; i < int(n) && err == nil; i++ {
		if list {
			out, rest, err = whole(out, rest, typ.Elem())
		} else {
			out, rest, err = whole(out, rest, fields[i])
		}
	}
	for range len(fields) - int(n) {
		out = msgp.AppendNil(out)
	}
	return out, rest, err
}

// storedFields are the types of a struct's fields as the codec stores them.
func storedFields(typ reflect.Type) (list []reflect.Type) {
	for _, f := range reflect.VisibleFields(typ) {
		if f.IsExported() && !f.Anonymous {
			list = append(list, f.Type)
		}
	}
	return list
}
