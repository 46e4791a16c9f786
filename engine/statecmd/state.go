package statecmd

import (
	"slices"

	"github.com/tidwall/btree"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// State is everything that deciding depends on. It is a value: keeping one keeps
// that moment (a turn, a branch), at the cost of what changed since.
type State struct {
	docs []document // by name
	seq  uint64     // operations so far; numbers the next opId
}

type document struct {
	name   string
	doc    *world.Document
	keys   keyring
	timers timers
}

// NewState begins with documents by name. A document that a mount names and that
// is missing here is empty.
func NewState(docs map[string]*world.Document) State {
	var s State
	for _, name := range protocol.SortedKeys(docs) {
		s.docs = append(s.docs, document{name: name, doc: docs[name]})
	}
	return s
}

// Document returns a document; an unknown one is empty.
func (s State) Document(name string) *world.Document {
	if d := s.find(name); d != nil {
		return d.doc
	}
	return emptyDocument()
}

// Documents lists the names.
func (s State) Documents() []string {
	out := make([]string, len(s.docs))
	for i := range s.docs {
		out[i] = s.docs[i].name
	}
	return out
}

// NextExpiry is the first moment at which something expires; 0 when nothing
// will.
func (s State) NextExpiry() protocol.Time {
	var first protocol.Time
	for i := range s.docs {
		if at, ok := s.docs[i].timers.first(); ok && (first == 0 || at.until < first) {
			first = at.until
		}
	}
	return first
}

// Timers counts what is waiting to expire in a document.
func (s State) Timers(name string) int {
	if d := s.find(name); d != nil {
		return d.timers.byPath.len()
	}
	return 0
}

// Keys counts the idempotency keys that a document remembers.
func (s State) Keys(name string) int {
	if d := s.find(name); d != nil {
		return d.keys.byKey.len()
	}
	return 0
}

func (s State) find(name string) *document {
	for i := range s.docs {
		if s.docs[i].name == name {
			return &s.docs[i]
		}
	}
	return nil
}

// with returns the state with one document replaced or added.
func (s State) with(d document) State {
	docs := slices.Clone(s.docs)
	for i := range docs {
		if docs[i].name == d.name {
			docs[i] = d
			return State{docs, s.seq}
		}
	}
	docs = append(docs, d)
	slices.SortFunc(docs, func(a, b document) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return State{docs, s.seq}
}

func emptyDocument() *world.Document {
	d, err := world.FromValue(nil, 0)
	if err != nil {
		panic("statecmd: an empty object is a document: " + err.Error())
	}
	return d
}

// cow is a sorted map that is copied when it is shared: share freezes what both
// hold, and the next write copies a few nodes of the tree.
type cow[V any] struct {
	m     *btree.Map[string, V]
	owned bool
}

func (c *cow[V]) len() int {
	if c.m == nil {
		return 0
	}
	return c.m.Len()
}

func (c *cow[V]) get(k string) (V, bool) {
	if c.m == nil {
		var zero V
		return zero, false
	}
	return c.m.Get(k)
}

// ascend visits from a key on, in order, until yield returns false.
func (c *cow[V]) ascend(from string, yield func(string, V) bool) {
	if c.m != nil {
		c.m.Ascend(from, yield)
	}
}

// share returns a copy; from now on neither side writes what both hold.
func (c *cow[V]) share() cow[V] {
	c.owned = false
	return cow[V]{m: c.m}
}

// frozen is what share returns, for a map that others may be reading.
func (c cow[V]) frozen() cow[V] { return cow[V]{m: c.m} }

func (c *cow[V]) write() *btree.Map[string, V] {
	if c.owned {
		return c.m
	}
	if c.m == nil {
		c.m = new(btree.Map[string, V])
	} else {
		head := *c.m // Copy writes to its receiver, which others may be reading
		c.m = head.Copy()
	}
	c.owned = true
	return c.m
}
