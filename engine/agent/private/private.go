package private

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Tool is the id of the tool that changes the private state.
const Tool = "UpdatePrivateStateTool"

// Operations on the private state.
const (
	OpSet    = "set"
	OpAdd    = "add"    // number onto number; missing counts as 0
	OpPush   = "push"   // element onto list; missing counts as empty
	OpDelete = "delete" // missing is no error
	OpMerge  = "merge"  // fields of an object; null is a value
)

// Ops lists them.
func Ops() []string { return []string{OpSet, OpAdd, OpPush, OpDelete, OpMerge} }

// Patch returns the state after one operation. It copies the objects and lists on
// the path and leaves the original unchanged.
func Patch(state map[string]any, path world.Path, op string, value any) (map[string]any, error) {
	next, err := patchAt(state, path, op, value, path)
	if err != nil {
		return nil, err
	}
	m, ok := next.(map[string]any)
	if !ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "private state: the whole state must stay an object, not %T", next)
	}
	return m, nil
}

func patchAt(have any, rest world.Path, op string, value any, full world.Path) (any, error) {
	if len(rest) == 0 {
		return operate(have, op, value, full)
	}
	seg := rest[0]
	switch x := have.(type) {
	case nil:
		if seg.Kind == world.Index {
			return nil, noElement(full)
		}
		return patchField(nil, seg.Key, rest[1:], op, value, full)
	case map[string]any:
		if seg.Kind == world.Index {
			return nil, noElement(full)
		}
		return patchField(x, seg.Key, rest[1:], op, value, full)
	case []any:
		return patchElement(x, seg, rest[1:], op, value, full)
	}
	return nil, protocol.Errorf(protocol.KindInvalid, "private state: %s leads through %s, which is no object", full, world.Path{seg})
}

func noElement(full world.Path) error {
	return protocol.Errorf(protocol.KindInvalid, "private state: %s: no such list element", full)
}

func patchField(m map[string]any, key string, rest world.Path, op string, value any, full world.Path) (any, error) {
	if len(rest) == 0 && op == OpDelete {
		return without(m, key), nil
	}
	v, err := patchAt(m[key], rest, op, value, full)
	if err != nil {
		return nil, err
	}
	next := maps.Clone(m)
	if next == nil {
		next = make(map[string]any, 1)
	}
	next[key] = v
	return next, nil
}

func patchElement(list []any, seg world.Segment, rest world.Path, op string, value any, full world.Path) (any, error) {
	i, ok := elementAt(seg, len(list))
	if !ok {
		return nil, noElement(full)
	}
	if len(rest) == 0 && op == OpDelete {
		return slices.Delete(slices.Clone(list), i, i+1), nil
	}
	v, err := patchAt(list[i], rest, op, value, full)
	if err != nil {
		return nil, err
	}
	next := slices.Clone(list)
	next[i] = v
	return next, nil
}

func operate(have any, op string, value any, full world.Path) (any, error) {
	switch op {
	case OpSet:
		return value, nil
	case OpAdd:
		return add(have, value, full)
	case OpPush:
		list, ok := have.([]any)
		if !ok && have != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "private state: push to %s, which is no list", place(full))
		}
		return append(slices.Clip(list), value), nil
	case OpMerge:
		return merge(have, value, full)
	case OpDelete:
		return map[string]any{}, nil // of the whole state
	}
	return nil, protocol.Errorf(protocol.KindInvalid, "private state: operation %q; want set, add, push, delete or merge", op)
}

func add(have, value any, full world.Path) (any, error) {
	if have == nil {
		have = int64(0)
	}
	a, aInt := have.(int64)
	b, bInt := value.(int64)
	if sum := a + b; aInt && bInt && (sum > a) == (b > 0) {
		return sum, nil
	}
	x, okX := protocol.Number(have)
	y, okY := protocol.Number(value)
	if !okX || !okY {
		return nil, protocol.Errorf(protocol.KindInvalid, "private state: add at %s needs two numbers", place(full))
	}
	if math.IsInf(x+y, 0) {
		return nil, protocol.Errorf(protocol.KindInvalid, "private state: the sum at %s is too large for a number", place(full))
	}
	return x + y, nil
}

// place names a path in an error.
func place(p world.Path) string {
	if len(p) == 0 {
		return "the top"
	}
	return p.String()
}

func merge(have, value any, full world.Path) (any, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, protocol.Errorf(protocol.KindInvalid, "private state: merge at %s needs an object", place(full))
	}
	base, ok := have.(map[string]any)
	if !ok && have != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "private state: merge into %s, which is no object", place(full))
	}
	next := maps.Clone(base)
	if next == nil {
		next = make(map[string]any, len(fields))
	}
	maps.Copy(next, fields)
	return next, nil
}

// Lookup reads a path of the private state.
func Lookup(v any, path world.Path) (any, bool) {
	for _, seg := range path {
		switch x := v.(type) {
		case map[string]any:
			if seg.Kind == world.Index {
				return nil, false
			}
			next, ok := x[seg.Key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, ok := elementAt(seg, len(x))
			if !ok {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// elementAt reads a segment as an index into a list of n elements.
func elementAt(seg world.Segment, n int) (int, bool) {
	i := seg.Pos
	if seg.Kind == world.Name {
		var err error
		if i, err = strconv.Atoi(seg.Key); err != nil || i < 0 {
			return 0, false
		}
	}
	if i < 0 {
		i += n
	}
	return i, i >= 0 && i < n
}

// without is a copy of an object without one field. It is made from nothing, because
// a clone keeps the room of all fields that the map ever had, and the copy lives as
// long as the agent.
func without(m map[string]any, key string) map[string]any {
	if _, ok := m[key]; !ok {
		return m
	}
	next := make(map[string]any, len(m)-1)
	for k, v := range m {
		if k != key {
			next[k] = v
		}
	}
	return next
}

// Size is an upper bound of the bytes of the encoded private state; 0 = not
// measured. Measuring takes time in proportion to the state, so a change adds the most
// that it can take, and the whole is measured when the bound exceeds the limit. A bound
// that is too low would let a state pass that a resumed run, which measures, refuses.
type Size int

// After is the size after a change of at most so many bytes that led to next.
func (s Size) After(next map[string]any, bytes, limit int) Size {
	if s == 0 || int(s)+bytes > limit {
		return Size(len(protocol.Encode(next)))
	}
	return s + Size(bytes)
}

// Rejected is the first command of an outcome that was not carried out; nil = all were.
func Rejected(outcome any) error {
	m, _ := outcome.(map[string]any)
	results, _ := m["results"].([]any)
	for _, r := range results {
		if m, _ := r.(map[string]any); m["status"] == "rejected" {
			return protocol.Errorf(protocol.KindInvalid, "%v %v: %v", m["action"], m["key"], m["message"])
		}
	}
	return nil
}
