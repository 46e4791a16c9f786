package statecmd

import (
	"slices"

	"tavernsim/engine/statecmd/ledger"
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
	keys   ledger.Keys
	timers ledger.Timers
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

// NextExpiry is the first moment at which something expires; 0 when nothing
// will.
func (s State) NextExpiry() protocol.Time {
	var first protocol.Time
	for i := range s.docs {
		if at, ok := s.docs[i].timers.First(); ok && (first == 0 || at.Until < first) {
			first = at.Until
		}
	}
	return first
}

// Timers counts what is waiting to expire in a document.
func (s State) Timers(name string) int {
	if d := s.find(name); d != nil {
		return d.timers.Len()
	}
	return 0
}

// Keys counts the idempotency keys that a document remembers.
func (s State) Keys(name string) int {
	if d := s.find(name); d != nil {
		return d.keys.Len()
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

// Operations counts what was ever asked of the state, and what expired.
func (s State) Operations() uint64 { return s.seq }

// Replace puts another document in the place of one; what is remembered beside
// it stays.
func (s State) Replace(name string, doc *world.Document) State {
	d := document{name: name, doc: doc}
	if old := s.find(name); old != nil {
		d.keys, d.timers = old.keys.Frozen(), old.timers.Frozen()
	}
	return s.with(d)
}
