package ledger

import (
	"github.com/zeebo/xxh3"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// hashLen is how long a hash is.
const hashLen = 16

// hash is the same for values that are equal, and for no others.
func hash(v any) string {
	h := xxh3.Hash128(appendPlain(nil, v)).Bytes()
	return string(h[:])
}

// exact is a number as a float if one says the same, else the integer itself.
func exact(v any) any {
	if x, ok := v.(int64); ok {
		if f := float64(x); f < 1<<63 && int64(f) == x {
			return f
		}
	}
	return v
}

// appendPlain writes a value without the counters of its objects: those that are equal have the same bytes.
func appendPlain(b []byte, v any) []byte {
	switch x := exact(v).(type) {
	case float64:
		return protocol.AppendValue(b, x+0) // -0 is 0
	case []any:
		b = append(b, '[')
		for _, e := range x {
			b = appendPlain(b, e)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, k := range names(x) {
			b = appendPlain(protocol.AppendValue(b, k), x[k])
		}
		return append(b, '}')
	}
	return protocol.AppendValue(b, v)
}

// names are the fields of an object without its counter, in order.
func names(m map[string]any) []string {
	list := protocol.SortedKeys(m)
	for i, k := range list {
		if k == world.CounterKey {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// shape is the same for objects with the same fields; of all other values it is short.
func shape(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return "-"
	}
	var b []byte
	for _, k := range names(m) {
		b = protocol.AppendValue(b, k)
	}
	h := xxh3.Hash128(b).Bytes()
	return "o" + string(h[:])
}

// shapeLen is how long the shape of an object is.
const shapeLen = 1 + hashLen

// pick is what an object has of the fields of want; false = one of the two is no object, or a field
// is missing.
func pick(v, want any) (part map[string]any, ok bool) {
	m, isObject := v.(map[string]any)
	fields, wants := want.(map[string]any)
	if !isObject || !wants || len(m) < len(fields) {
		return nil, false
	}
	part = make(map[string]any, len(fields))
	for k := range fields {
		x, has := m[k]
		if !has {
			return nil, false
		}
		part[k] = x
	}
	return part, true
}
