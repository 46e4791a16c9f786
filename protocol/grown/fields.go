package grown

import (
	"reflect"
	"slices"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// Append appends a struct, given by pointers to its fields, as [protocol.Codec.Marshal] encodes it. A
// field that is a number, bytes or a list of nothing takes no reflection, which is most of the cost of a
// small struct.
func Append(c *protocol.Codec, b []byte, fields ...any) (_ []byte, err error) {
	b = msgp.AppendArrayHeader(b, uint32(len(fields)))
	for _, field := range fields {
		switch x := field.(type) {
		case *uint64:
			b = msgp.AppendUint64(b, *x)
		case *int64:
			if *x < 0 {
				b = msgp.AppendInt64(b, *x)
			} else {
				b = msgp.AppendUint64(b, uint64(*x))
			}
		case *map[string]any:
			b = protocol.AppendValue(b, *x)
		case *protocol.Raw:
			if len(*x) == 0 {
				b = msgp.AppendNil(b)
			}
			b = append(b, *x...)
		default:
			v := reflect.ValueOf(x).Elem()
			if v.IsZero() && v.Kind() == reflect.Slice {
				b = msgp.AppendNil(b)
			} else if b, err = c.Append(b, v.Interface()); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// Read reads what Append wrote, or an older program of fewer fields, into zero fields: those stay zero
// that are missing. Fields of bytes are parts of b.
func Read(c *protocol.Codec, b protocol.Raw, fields ...any) error {
	if err := protocol.CheckState(b); err != nil {
		return err
	}
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		return protocol.Errorf(protocol.KindCorrupt, "msgpack: the fields of a struct: %w", err)
	}
	if int(n) > len(fields) {
		return protocol.Errorf(protocol.KindCorrupt, "msgpack: a struct of %d fields; want at most %d (a newer program wrote it?)", n, len(fields))
	}
	for _, into := range fields[:n] {
		field := rest
		if rest, err = msgp.Skip(field); err != nil {
			return protocol.Errorf(protocol.KindCorrupt, "msgpack: %w", err)
		}
		if field = field[:len(field)-len(rest)]; msgp.IsNil(field) {
			continue
		}
		switch x := into.(type) {
		case *uint64:
			*x, _, err = msgp.ReadUint64Bytes(field)
		case *int64:
			*x, _, err = msgp.ReadInt64Bytes(field)
		case *protocol.Raw:
			*x = slices.Clip(field)
		default:
			err = Unmarshal(c, field, x)
		}
		if err != nil {
			return protocol.Errorf(protocol.KindCorrupt, "msgpack: decode %T: %w", into, err)
		}
	}
	return nil
}
