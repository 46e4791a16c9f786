package ledger

import (
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Matches holds an element of a list against what a timer keeps of one, which may be some fields of an
// object. The element's counters do not count.
func Matches(want, v any) (fits, same bool) {
	fields, ok := want.(map[string]any)
	if !ok {
		same = equal(v, want)
		return same, same
	}
	fits = HasFields(v, fields)
	return fits, fits && equal(v, want)
}

// HasFields reports whether an object has fields with these values, in which its counters do not count.
func HasFields(v any, fields map[string]any) bool {
	m, ok := v.(map[string]any)
	for k, want := range fields {
		if x, has := m[k]; !has || !equal(x, want) {
			return false
		}
	}
	return ok
}

// equal compares a value without its counters. An integer and a float are equal if they are the same number.
func equal(v, want any) bool {
	switch x := v.(type) {
	case map[string]any:
		fields, ok := want.(map[string]any)
		n := 0
		for k, e := range x {
			if k == world.CounterKey {
				continue
			}
			n++
			if w, has := fields[k]; !has || !equal(e, w) {
				return false
			}
		}
		return ok && n == len(fields)
	case []any:
		list, ok := want.([]any)
		if !ok || len(list) != len(x) {
			return false
		}
		for i := range x {
			if !equal(x[i], list[i]) {
				return false
			}
		}
		return true
	}
	a, b := exact(v), exact(want)
	_, x := a.(int64)
	_, y := b.(int64)
	return x == y && protocol.Equal(a, b)
}
