package wirejson

import (
	"bytes"
	"fmt"
	"slices"
)

// fewNames is how many names of an object are compared one by one; more are kept in a map.
const fewNames = 16

// Distinct reports a text that is no single value, or in which an object has a name twice:
// readers differ in which of the two they take.
func Distinct(data []byte) error { return Read(data, distinct) }

func distinct(r *Reader) {
	switch {
	case r.Is('['):
		r.Array(func() { distinct(r) })
	case r.Is('{'):
		r.Distinct(func([]byte) { distinct(r) })
	default:
		r.Skip()
	}
}

// Distinct is Object for one that has no name twice.
func (r *Reader) Distinct(field func(name []byte)) {
	var names names
	r.Object(func(name []byte) {
		if names.has(name) {
			r.fail(fmt.Sprintf("the name %.80q stands twice in an object, the second time", name))
			return
		}
		field(name)
	})
}

// names are those of one object.
type names struct {
	few  [][]byte
	many map[string]struct{}
}

// has reports whether a name was there, and adds it.
func (n *names) has(name []byte) bool {
	if n.many == nil {
		if slices.ContainsFunc(n.few, func(x []byte) bool { return bytes.Equal(x, name) }) {
			return true
		}
		if n.few = append(n.few, name); len(n.few) <= fewNames {
			return false
		}
		n.many = make(map[string]struct{}, 2*fewNames)
		for _, x := range n.few {
			n.many[string(x)] = struct{}{}
		}
		return false
	}
	if _, there := n.many[string(name)]; there {
		return true
	}
	n.many[string(name)] = struct{}{}
	return false
}
