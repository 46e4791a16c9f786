package knowledge

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// Base is one knowledge base at one moment.
type Base struct {
	def     KnowledgeBase // without its entries
	layers  []*layer      // oldest first; a newer layer hides the entries of an older
	count   int           // visible entries
	lengths int64         // terms of all visible entries
}

// doc is an entry prepared for searching. It is immutable.
type doc struct {
	entry   *Entry
	text    string // folded: title, tags, content, goal
	terms   []termCount
	length  int64
	when    *expr.Program // condition of the activation criteria
	written bool          // by this run, not the project's files
}

// layer is a searchable set of entries, sorted by id.
type layer struct {
	docs     []*doc
	ids      map[string]int32
	keys     map[string]int32 // by reference key
	postings map[string][]posting
	active   []int32 // docs that have activation criteria
}

type posting struct{ doc, n int32 }

// New makes a base of its definition. The error lists every fault.
func New(def KnowledgeBase) (*Base, error) {
	if faults := Validate(&def); len(faults) > 0 {
		return nil, faults.err(def.ID)
	}
	docs := make([]*doc, len(def.Entries))
	for i := range def.Entries {
		e := def.Entries[i]
		e.EntryType = CanonicalType(e.EntryType)
		docs[i] = newDoc(&e, false)
	}
	slices.SortFunc(docs, func(a, b *doc) int { return strings.Compare(a.entry.ID, b.entry.ID) })
	b := &Base{def: def}
	b.def.Entries = nil
	if len(docs) > 0 {
		b.layers = []*layer{newLayer(docs)}
	}
	for _, d := range docs {
		b.count++
		b.lengths += d.length
	}
	return b, nil
}

// newDoc prepares a valid entry, which must not change afterwards.
func newDoc(e *Entry, written bool) *doc {
	head := fold(e.Title + "\n" + strings.Join(e.Tags, "\n") + "\n")
	body := appendTexts(nil, e.Content)
	if g := e.Goal; g != nil {
		for _, s := range append([]string{g.Description}, append(slices.Clone(g.Preconditions), g.CompletionCriteria...)...) {
			body = appendTexts(body, s)
		}
	}
	d := &doc{entry: e, text: head + fold(string(body)), written: written}
	d.terms, d.length = countTerms(d.text[:len(head)], d.text[len(head):])
	if a := e.ActivationCriteria; a != nil && a.Condition != "" {
		d.when, _ = expr.Compile(a.Condition, conditionRoots()...) // checked by Validate
	}
	return d
}

func newLayer(docs []*doc) *layer {
	l := &layer{docs: docs, ids: make(map[string]int32, len(docs)), keys: map[string]int32{}, postings: map[string][]posting{}}
	for i, d := range docs {
		l.ids[d.entry.ID] = int32(i)
		if key := d.entry.ReferenceKey; key != "" {
			l.keys[key] = int32(i)
		}
		if d.entry.ActivationCriteria != nil {
			l.active = append(l.active, int32(i))
		}
		for _, t := range d.terms {
			l.postings[t.term] = append(l.postings[t.term], posting{int32(i), t.n})
		}
	}
	return l
}

// ID, Name and Description are the definition's.
func (b *Base) ID() string          { return b.def.ID }
func (b *Base) Name() string        { return b.def.Name }
func (b *Base) Description() string { return b.def.Description }

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

// with returns the base with one entry added or replaced. The new layer is
// merged downwards while the one below is not more than twice its size, which
// keeps the layers logarithmic in number.
func (b *Base) with(d *doc) *Base {
	next := &Base{def: b.def, count: b.count, lengths: b.lengths + d.length}
	if old := b.find(d.entry.ID); old != nil {
		next.lengths -= old.length
	} else {
		next.count++
	}
	top := []*doc{d}
	keep := len(b.layers)
	for keep > 0 && len(b.layers[keep-1].docs) <= 2*len(top) {
		keep--
		top = merge(b.layers[keep].docs, top)
	}
	next.layers = append(b.layers[:keep:keep], newLayer(top))
	return next
}

// merge joins two sorted lists; the newer hides the older.
func merge(older, newer []*doc) []*doc {
	out := make([]*doc, 0, len(older)+len(newer))
	for len(older) > 0 && len(newer) > 0 {
		c := strings.Compare(older[0].entry.ID, newer[0].entry.ID)
		if c < 0 {
			out, older = append(out, older[0]), older[1:]
			continue
		}
		if c == 0 {
			older = older[1:]
		}
		out, newer = append(out, newer[0]), newer[1:]
	}
	return append(append(out, older...), newer...)
}

// errUnknown is the error for an entry that a base does not have.
func (b *Base) errUnknown(id string) error {
	return protocol.Errorf(protocol.KindNotFound, "knowledge base %s: no entry %q", b.def.ID, id)
}
