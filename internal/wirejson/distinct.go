package wirejson

import (
	"bytes"
	"cmp"
	"fmt"
)

// fewNames is how many names of an object are compared one by one; more are kept in a map.
const fewNames = 16

// Distinct reports a text that is no single value, or in which an object has a name twice:
// readers differ in which of the two they take.
func Distinct(data []byte) error {
	var twice error
	err := Read(data, func(r *Reader) { _, twice = r.Doubled() })
	return cmp.Or(err, twice)
}

// Doubled is Raw, and says which name stands twice in an object of the value; nil = none does. It is no error
// of the text: the reading goes on.
func (r *Reader) Doubled() (raw []byte, twice error) {
	r.peek()
	from := r.at
	switch {
	case r.Is('['):
		r.Array(func() {
			if _, in := r.Doubled(); twice == nil {
				twice = in
			}
		})
	case r.Is('{'):
		var names names
		r.Object(func(name []byte) {
			if twice == nil && names.has(name) {
				twice = fmt.Errorf("%s at byte %d", stands(name), r.at)
			}
			if _, in := r.Doubled(); twice == nil {
				twice = in
			}
		})
	default:
		r.Skip()
	}
	if r.err != nil {
		return nil, nil
	}
	return r.data[from:r.at], twice
}

func stands(name []byte) string {
	return fmt.Sprintf("the name %.80q stands twice in an object, the second time", name)
}

// Distinct is Object for one that has no name twice.
func (r *Reader) Distinct(field func(name []byte)) {
	var names names
	r.Object(func(name []byte) {
		if names.has(name) {
			r.Fail(stands(name))
			return
		}
		field(name)
	})
}

// names are those of one object.
type names struct {
	few  [fewNames][]byte
	n    int                 // of few
	many map[string]struct{} // all of them, once there are more
}

// has reports whether a name was there, and adds it.
func (n *names) has(name []byte) bool {
	if n.many == nil {
		for _, x := range n.few[:n.n] {
			if bytes.Equal(x, name) {
				return true
			}
		}
		if n.n < fewNames {
			n.few[n.n] = name
			n.n++
			return false
		}
		n.many = make(map[string]struct{}, 2*fewNames)
		for _, x := range n.few {
			n.many[string(x)] = struct{}{}
		}
		n.many[string(name)] = struct{}{}
		return false
	}
	if _, there := n.many[string(name)]; there {
		return true
	}
	n.many[string(name)] = struct{}{}
	return false
}
