package knowledge

import (
	"slices"
	"strings"

	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/bound"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/knowledge/score"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// doc is an entry prepared for searching. It is immutable.
type doc struct {
	entry    *Entry
	timed    bool               // valid for a time only; beside entry, since a search reads both and nothing else
	written  bool               // by this run, not the project's files
	filed    bool               // the project's files have an entry of that id
	text     string             // folded: title and tags, then content and goal
	head     int                // bytes of title and tags in it
	terms    words.Terms        // with those of its neighbours
	length   int64              // of the terms
	criteria *criteria.Compiled // nil = the entry has none, or is retired
	print    *words.Print       // of a lesson
	vector   vector.Vector
	seen     bool          // somebody has given its vector, which may be none
	like     vector.Vector // of the text that the text at hand has to be like (similar.to)
	liked    bool          // somebody has given that one
}

// newDoc prepares a valid entry, which must not change afterwards. Its terms are
// counted when its neighbours are known.
func newDoc(e *Entry, written bool) *doc {
	head := words.Fold(e.Title + "\n" + strings.Join(e.Tags, "\n") + "\n")
	body := words.AppendTexts(nil, e.Content)
	if g := e.Goal; g != nil {
		body = words.AppendTexts(body, g.Description)
		for _, list := range [][]goal.Condition{g.Preconditions, g.CompletionCriteria, g.FailureCriteria} {
			for i := range list {
				body = words.AppendTexts(body, list[i].Text)
			}
		}
	}
	d := &doc{entry: e, text: head + words.Fold(string(body)), head: len(head), written: written, timed: !e.ValidFrom.IsZero() || !e.ValidUntil.IsZero()}
	if e.Retired() {
		d.text, d.head = "", 0 // found by its id only
	}
	if e.ActivationCriteria != nil {
		d.criteria = criteria.Compile(e.ActivationCriteria, string(body)) // checked by Validate
	}
	return d
}

// count finds the terms of an entry. Those of its neighbours have 0.4 of their weight:
// a line of a dialogue is often found by what was said just before it.
func (d *doc) count(before, after *doc, s *words.Stemmer) (words.Terms, int64) {
	parts := []words.Part{{Text: d.text[:d.head], Weight: score.InHead}, {Text: d.text[d.head:], Weight: score.InBody}}
	for _, n := range []*doc{before, after} {
		if n != nil {
			parts = append(parts, words.Part{Text: n.text, Weight: score.InNeighbour})
		}
	}
	return words.Count(parts, s)
}

// layer is a searchable set of entries, sorted by id.
type layer struct {
	docs     []*doc
	hides    []*doc // for each of docs the one of a lower layer that it hides, or nil
	ids      map[string]int32
	keys     map[string]int32 // by reference key
	followed map[string]int32 // by the entry that they follow
	trigger  *criteria.Set
	lessons  []int32         // docs that have a print
	vectors  []vector.Vector // of docs; nil = none has one

	terms   map[string]span
	lists   []postings
	levels  []bound.Levels   // of terms that many blocks of entries have
	length  []int32          // of docs
	hidden  map[string]int32 // how many of hides have the term
	boost   int64            // the highest doc.boost of the layer
	lengths int64            // of docs
}

// span is where the lists of a term begin in lists, how many it has, and which of levels
// is its own, from 1 on; 0 = none.
type span struct{ from, n, levels int32 }

// postings are entries with a term, by id. A term of many entries has several lists,
// by how much it adds to the score of an entry, so that a search can leave out those
// of which it adds little.
type postings struct {
	list []bound.Posting
	most int64 // the highest ratio of them
	at   bound.Places
}

func newLayer(docs, hides []*doc, scan *criteria.Scan) *layer {
	l := &layer{docs: docs, hides: hides, ids: make(map[string]int32, len(docs)), keys: map[string]int32{}, followed: map[string]int32{}, hidden: map[string]int32{}}
	active := make([]*criteria.Compiled, len(docs))
	for i, d := range docs {
		e := d.entry
		l.ids[e.ID] = int32(i)
		if e.ReferenceKey != "" {
			l.keys[e.ReferenceKey] = int32(i)
		}
		if e.Follows != "" {
			l.followed[e.Follows] = int32(i)
		}
		if d.print != nil && !e.Retired() {
			l.lessons = append(l.lessons, int32(i))
		}
		if !e.Retired() {
			active[i] = d.criteria
		}
		l.boost = max(l.boost, d.boost())
		l.see(i)
		if old := hides[i]; old != nil {
			old.terms.All(func(t string, _ int32) { l.hidden[t]++ })
		}
	}
	l.trigger = criteria.NewSet(active, scan)
	l.index()
	return l
}

// index fills terms and lists, which share one array.
func (l *layer) index() {
	l.terms = map[string]span{}
	var holders []int32 // of each term
	var order []string  // of the terms
	for _, d := range l.docs {
		l.lengths += d.length
		l.length = append(l.length, int32(d.length))
		d.terms.All(func(t string, _ int32) {
			at, ok := l.terms[t]
			if !ok {
				at.from = int32(len(holders))
				l.terms[t], holders, order = at, append(holders, 0), append(order, t)
			}
			holders[at.from]++
		})
	}
	lists, blocks := int32(0), bound.Blocks(len(l.docs))
	for i, t := range order {
		n, levels := bound.Lists(int(holders[i]), blocks)
		at := span{from: lists, n: n}
		if levels {
			l.levels = append(l.levels, make(bound.Levels, blocks))
			at.levels = int32(len(l.levels))
		}
		l.terms[t], lists = at, lists+at.n
	}
	l.lists = make([]postings, lists)
	l.each(func(p *postings, _ span, _ bound.Posting, _ int64) { p.most++ }) // counts at first
	total := int64(0)
	for i := range l.lists {
		total += l.lists[i].most
	}
	room := make([]bound.Posting, total)
	for i := range l.lists {
		n := l.lists[i].most
		l.lists[i] = postings{list: room[:0:n]}
		room = room[n:]
	}
	l.each(func(p *postings, at span, one bound.Posting, ratio int64) {
		p.list, p.most = append(p.list, one), max(p.most, ratio)
		if at.levels > 0 {
			l.levels[at.levels-1].Raise(one.Doc, ratio)
		}
	})
	for i := range l.lists {
		l.lists[i].at = bound.PlacesOf(l.lists[i].list, blocks)
	}
}

// each calls f for every posting, with its list, the span of its term and its ratio.
func (l *layer) each(f func(*postings, span, bound.Posting, int64)) {
	for i, d := range l.docs {
		penalty := score.Penalty(d.length, int64(len(l.docs)), max(l.lengths, 1))
		d.terms.All(func(t string, weight int32) {
			at, ratio := l.terms[t], bound.Ratio(int64(weight), penalty)
			list := at.from
			if at.n > 1 {
				list += bound.Grade(ratio)
			}
			f(&l.lists[list], at, bound.Posting{Doc: int32(i), Weight: weight}, ratio)
		})
	}
}

// with returns the base with entries added or replaced.
func (b *Base) with(docs ...*doc) *Base {
	if len(docs) == 0 {
		return b
	}
	c := change{base: b, fresh: make(map[string]*doc, len(docs)), follower: map[string]*doc{}}
	for _, d := range docs {
		c.fresh[d.entry.ID] = d
		if from := d.entry.Follows; from != "" {
			c.follower[from] = d
		}
	}
	for _, d := range docs {
		c.touch(d)
		c.touch(c.find(d.entry.Follows))
		c.touch(c.next(d.entry.ID))
		if old := b.find(d.entry.ID); old != nil {
			c.touch(c.find(old.entry.Follows))
		}
	}
	return b.put(c.indexed())
}

// change is a base and what will be laid over it.
type change struct {
	base     *Base
	fresh    map[string]*doc // by id
	follower map[string]*doc // of fresh, by the entry that they follow
	touched  map[string]*doc // whose terms change
}

func (c *change) touch(d *doc) {
	if d == nil {
		return
	}
	if c.touched == nil {
		c.touched = map[string]*doc{}
	}
	c.touched[d.entry.ID] = d
}

func (c *change) find(id string) *doc {
	if d, ok := c.fresh[id]; ok || id == "" {
		return d
	}
	return c.base.find(id)
}

// next is the entry that follows one, or nil.
func (c *change) next(id string) *doc {
	if d, ok := c.follower[id]; ok {
		return d
	}
	d := c.base.next(id)
	if d == nil || c.fresh[d.entry.ID] != nil {
		return nil // it follows another one now
	}
	return d
}

// indexed are the touched entries with the terms of their neighbours, by id.
func (c *change) indexed() []*doc {
	var s words.Stemmer
	out := make([]*doc, 0, len(c.touched))
	for _, id := range protocol.SortedKeys(c.touched) {
		d := *c.touched[id]
		d.terms, d.length = d.count(c.find(d.entry.Follows), c.next(id), &s)
		out = append(out, &d)
	}
	return out
}

// next is the entry that follows one, or nil.
func (b *Base) next(id string) *doc {
	for n, l := range slices.Backward(b.layers) {
		if i, ok := l.followed[id]; ok && b.visible(n, l.docs[i]) {
			return l.docs[i]
		}
	}
	return nil
}

// put lays sorted entries, which nobody else has yet, over the base. The new layer is merged downwards while the
// one below is not more than twice its size, which keeps the layers logarithmic in
// number.
func (b *Base) put(top []*doc) *Base {
	next := &Base{def: b.def, count: b.count, lengths: b.lengths, bare: b.bare, embedded: b.embedded}
	hides := make([]*doc, len(top))
	for i, d := range top {
		next.lengths += d.length
		next.bare += next.lacks(d)
		if hides[i] = b.find(d.entry.ID); hides[i] != nil {
			next.lengths -= hides[i].length
			next.bare -= next.lacks(hides[i])
			d.filed = hides[i].filed || !hides[i].written
		} else {
			next.count++
		}
	}
	keep := len(b.layers)
	for keep > 0 && len(b.layers[keep-1].docs) <= 2*len(top) {
		keep--
		top, hides = merge(b.layers[keep], top, hides)
	}
	next.layers = append(b.layers[:keep:keep], newLayer(top, hides, b.scan()))
	return next
}

// merge joins a layer and what lies above it, by id; the newer hides the older.
func merge(older *layer, newer, hides []*doc) (docs, hidden []*doc) {
	size := len(older.docs) + len(newer)
	docs, hidden = make([]*doc, 0, size), make([]*doc, 0, size)
	i := 0
	for j, d := range newer {
		for ; i < len(older.docs) && older.docs[i].entry.ID < d.entry.ID; i++ {
			docs, hidden = append(docs, older.docs[i]), append(hidden, older.hides[i])
		}
		hide := hides[j]
		if i < len(older.docs) && older.docs[i].entry.ID == d.entry.ID {
			hide = older.hides[i] // what it hid in this layer is gone
			i++
		}
		docs, hidden = append(docs, d), append(hidden, hide)
	}
	return append(docs, older.docs[i:]...), append(hidden, older.hides[i:]...)
}
