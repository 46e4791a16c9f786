package knowledge

import (
	"cmp"
	"iter"
	"slices"

	"tavernsim/protocol"
)

// Base is one knowledge base at one moment.
type Base struct {
	def     KnowledgeBase // without its entries
	layers  []*layer      // oldest first; a newer layer hides the entries of an older
	count   int           // visible entries
	lengths int64         // of all visible entries, in fifths of a term

	bare     int  // visible entries whose vector nobody has given
	embedded bool // some entry has, or had, a vector
}

// New makes a base of its definition. The error lists every fault.
func New(def KnowledgeBase) (*Base, error) {
	if faults := Validate(&def); len(faults) > 0 {
		return nil, faults.err(def.ID)
	}
	b := &Base{def: def}
	b.def.Entries = nil
	docs := make([]*doc, len(def.Entries))
	for i := range def.Entries {
		e := def.Entries[i]
		e.EntryType = CanonicalType(e.EntryType)
		docs[i] = b.doc(&e, false)
	}
	return b.with(docs...), nil
}

// ID and Name are the definition's.
func (b *Base) ID() string   { return b.def.ID }
func (b *Base) Name() string { return b.def.Name }

// Definition is the base as a file, with its entries by id. They are read-only.
func (b *Base) Definition() KnowledgeBase {
	def := b.def
	for e := range b.Entries() {
		def.Entries = append(def.Entries, *e)
	}
	return def
}

// Len is the number of entries.
func (b *Base) Len() int { return b.count }

// Get finds an entry by id.
func (b *Base) Get(id string) (*Entry, bool) {
	if d := b.find(id); d != nil {
		return d.entry, true
	}
	return nil, false
}

func (b *Base) find(id string) *doc {
	for _, l := range slices.Backward(b.layers) {
		if i, ok := l.ids[id]; ok {
			return l.docs[i]
		}
	}
	return nil
}

// Reference finds an entry by its id, or else by its reference key.
func (b *Base) Reference(key string) (*Entry, bool) {
	if e, ok := b.Get(key); ok {
		return e, true
	}
	for n, l := range slices.Backward(b.layers) {
		if i, ok := l.keys[key]; ok && b.visible(n, l.docs[i]) {
			return l.docs[i].entry, true
		}
	}
	return nil, false
}

// visible reports that no layer above n hides the entry.
func (b *Base) visible(n int, d *doc) bool {
	for _, l := range b.layers[n+1:] {
		if _, ok := l.ids[d.entry.ID]; ok {
			return false
		}
	}
	return true
}

// Entries walks the base in the order of the ids.
func (b *Base) Entries() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, d := range b.sorted() {
			if !yield(d.entry) {
				return
			}
		}
	}
}

func (b *Base) sorted() []*doc {
	if len(b.layers) == 1 {
		return b.layers[0].docs
	}
	out := make([]*doc, 0, b.count)
	for n, l := range b.layers {
		for _, d := range l.docs {
			if b.visible(n, d) {
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(x, y *doc) int { return cmp.Compare(x.entry.ID, y.entry.ID) })
	return out
}

// errUnknown is the error for an entry that a base does not have.
func (b *Base) errUnknown(id string) error {
	return protocol.Errorf(protocol.KindNotFound, "knowledge base %s: no entry %q", b.def.ID, id)
}
