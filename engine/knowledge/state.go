package knowledge

import (
	"maps"
	"slices"

	"tavernsim/protocol"
)

// State is every knowledge base of a scene. The zero State has none. A State is
// immutable and shared freely; [Apply] makes the next one.
type State struct {
	shelves map[string]shelf // never written once the State is made
	embeds  bool             // some base asks for vectors
	scene   string           // whose state it is; "" = it is not known
}

// shelf is a base with its counters and its review queue.
type shelf struct {
	base      *Base
	shared    bool         // more than one agent of the scene reads it
	keeper    string       // the scene that decides about it; "" = this one
	lent      []string     // the other scenes that have it
	writes    uint64       // accepted by this run; numbers generated ids
	suggested uint64       // suggestions ever made
	queue     []Suggestion // waiting for review, oldest first

	failed int64         // how often in a row nobody gave vectors
	again  protocol.Time // when they are asked for next
}

// Suggestion is a proposed change that waits for review.
type Suggestion struct {
	ID    uint64
	By    string
	Op    Op
	Entry protocol.Raw
	At    protocol.Time
}

// NewState holds the bases of a project. Two of one id are an error.
func NewState(bases ...*Base) (State, error) {
	s := State{shelves: make(map[string]shelf, len(bases))}
	for _, b := range bases {
		if _, ok := s.shelves[b.ID()]; ok {
			return State{}, protocol.Errorf(protocol.KindInvalid, "knowledge base %s: defined twice", b.ID())
		}
		s.shelves[b.ID()] = shelf{base: b}
		s.embeds = s.embeds || b.def.Embedding != nil
	}
	return s, nil
}

// Shared says which bases more than one agent reads: what agents write there reaches
// others.
func (s State) Shared(shared func(id string) bool) State {
	next := State{maps.Clone(s.shelves), s.embeds, s.scene}
	for id, sh := range next.shelves {
		sh.shared = shared(id)
		next.shelves[id] = sh
	}
	return next
}

// Base finds a base by id.
func (s State) Base(id string) (*Base, bool) {
	sh, ok := s.shelves[id]
	return sh.base, ok
}

// IDs lists the bases in byte order.
func (s State) IDs() []string { return protocol.SortedKeys(s.shelves) }

// Suggestions lists a base's review queue, oldest first. It is read-only.
func (s State) Suggestions(id string) []Suggestion { return s.shelves[id].queue }

// Apply folds one fact of this machine; other facts change nothing.
func Apply(s State, f protocol.Fact) State {
	own, _ := f.(Fact)
	switch f := own.(type) {
	case *Written:
		return s.change(f.KB, func(sh shelf) shelf { return sh.written(f) })
	case *Suggested:
		return s.change(f.KB, func(sh shelf) shelf {
			sh.suggested = f.Suggestion
			sh.queue = append(slices.Clip(sh.queue), Suggestion{ID: f.Suggestion, By: f.By, Op: f.Op, Entry: f.Entry, At: f.At})
			return sh
		})
	case *Reviewed:
		return s.change(f.KB, func(sh shelf) shelf {
			sh.queue = slices.DeleteFunc(slices.Clone(sh.queue), func(x Suggestion) bool { return x.ID == f.Suggestion })
			return sh
		})
	case *Embedded:
		return s.change(f.KB, func(sh shelf) shelf { return sh.seen(f) })
	case *Refused, *Forwarded: // they change nothing
	}
	return s
}

func (s State) change(kb string, f func(shelf) shelf) State {
	sh, ok := s.shelves[kb]
	if !ok {
		return s // a base that the project no longer has; the loader of the run says so
	}
	next := State{maps.Clone(s.shelves), s.embeds, s.scene}
	next.shelves[kb] = f(sh)
	return next
}

func (sh shelf) written(f *Written) shelf {
	entry, err := decodeEntry(f.Entry)
	if err != nil {
		return sh // cannot happen: Decide made the bytes, and the journal's checksum finds damage
	}
	sh.writes++
	if sh.base = sh.base.with(sh.base.carried(sh.base.doc(entry, true))); entry.Retired() {
		sh.base = sh.base.forgetful()
	}
	return sh
}

func decodeEntry(raw protocol.Raw) (*Entry, error) {
	v, err := raw.Value()
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, protocol.Errorf(protocol.KindCorrupt, "knowledge entry: %T; want an object", v)
	}
	return EntryOf(m)
}
