package world

import (
	"math"
	"slices"
	"strings"

	"github.com/tinylib/msgp/msgp"

	"tavernsim/protocol"
)

// builder makes nodes that belong to one owner and bear one version.
type builder struct {
	own *owner
	ver int64
	// strict refuses reserved keys, as a write from outside must.
	strict bool
}

// value makes a node out of a protocol value.
func (b builder) value(v any, depth int) (any, error) {
	if depth > protocol.MaxDepth-2 {
		return nil, faultf(CodeLimit, "the value nests deeper than %d levels", protocol.MaxDepth-2)
	}
	switch x := v.(type) {
	case nil, bool, int64, string:
		return x, nil
	case float64:
		return finite(x)
	case []any:
		all := make([]slot, len(x))
		for i, e := range x {
			node, err := b.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			all[i] = slot{node, b.ver}
		}
		return newList(b.own, all, b.ver), nil
	case map[string]any:
		return b.object(x, depth)
	case protocol.Raw:
		return b.raw(x, depth)
	}
	norm, err := protocol.Normalize(v)
	if err != nil {
		return nil, faultf(CodeInvalid, "%s", err)
	}
	return b.value(norm, depth)
}

func (b builder) object(m map[string]any, depth int) (any, error) {
	all := make([]entry, 0, len(m)+1)
	for _, k := range protocol.SortedKeys(m) {
		node, err := b.value(m[k], depth+1)
		if err == nil {
			err = b.key(k)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, entry{k, slot{node, b.ver}})
	}
	return newObject(b.own, all, b.ver), nil
}

func (b builder) key(k string) error {
	if b.strict && Reserved(k) {
		return faultf(CodeInvalidPath, "the value holds the reserved key %q; leave it out", k)
	}
	return nil
}

// newObject takes over entries that are sorted and hold no key twice.
func newObject(own *owner, all []entry, born int64) *object {
	o := &object{own: own, small: all, born: born}
	for i := range all {
		o.body += stringSize(all[i].key) + sizeOf(all[i].val)
		o.counted = o.counted || all[i].key == CounterKey
	}
	if len(all) > widen {
		o.widen()
	}
	return o
}

// raw makes a node out of encoded bytes. No bytes are null.
func (b builder) raw(raw protocol.Raw, depth int) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	node, rest, err := b.read(raw, depth)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, faultf(CodeInvalid, "%d bytes follow the encoded value", len(rest))
	}
	return node, nil
}

func (b builder) read(raw []byte, depth int) (node any, rest []byte, err error) {
	if depth > protocol.MaxDepth-2 {
		return nil, raw, faultf(CodeLimit, "the value nests deeper than %d levels", protocol.MaxDepth-2)
	}
	switch msgp.NextType(raw) {
	case msgp.ArrayType:
		return b.readList(raw, depth)
	case msgp.MapType:
		return b.readObject(raw, depth)
	}
	node, rest, err = protocol.ReadValue(raw)
	if err != nil {
		return nil, raw, faultf(CodeInvalid, "%s", err)
	}
	if f, ok := node.(float64); ok {
		node, err = finite(f)
	}
	return node, rest, err
}

func finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, faultf(CodeInvalid, "%v has no JSON form; want a finite number", f)
	}
	return f, nil
}

func (b builder) readList(raw []byte, depth int) (any, []byte, error) {
	n, raw, err := msgp.ReadArrayHeaderBytes(raw)
	if err != nil || int(n) > len(raw) {
		return nil, raw, faultf(CodeInvalid, "an encoded list claims %d elements in %d bytes", n, len(raw))
	}
	all := make([]slot, n)
	for i := range all {
		var node any
		if node, raw, err = b.read(raw, depth+1); err != nil {
			return nil, raw, err
		}
		all[i] = slot{node, b.ver}
	}
	return newList(b.own, all, b.ver), raw, nil
}

func (b builder) readObject(raw []byte, depth int) (any, []byte, error) {
	n, raw, err := msgp.ReadMapHeaderBytes(raw)
	if err != nil || int(n) > len(raw)/2 {
		return nil, raw, faultf(CodeInvalid, "an encoded object claims %d keys in %d bytes", n, len(raw))
	}
	all := make([]entry, 0, int(n)+1)
	sorted := true
	for range n {
		var k string
		if k, raw, err = msgp.ReadStringBytes(raw); err != nil {
			return nil, raw, faultf(CodeInvalid, "an encoded object has a key that is no text")
		}
		if err = b.key(k); err != nil {
			return nil, raw, err
		}
		var node any
		if node, raw, err = b.read(raw, depth+1); err != nil {
			return nil, raw, err
		}
		sorted = sorted && (len(all) == 0 || all[len(all)-1].key < k)
		all = append(all, entry{k, slot{node, b.ver}})
	}
	if !sorted {
		all = sortEntries(all)
	}
	return newObject(b.own, all, b.ver), raw, nil
}

// sortEntries orders by key; of a key that comes twice the last stays.
func sortEntries(all []entry) []entry {
	slices.SortStableFunc(all, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	out := all[:0]
	for _, e := range all {
		if n := len(out); n > 0 && out[n-1].key == e.key {
			out[n-1] = e
			continue
		}
		out = append(out, e)
	}
	return out
}
