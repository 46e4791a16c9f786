package knowledge

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Bounds of a query.
const (
	DefaultLimit = 10
	MaxLimit     = 1000
)

// Query asks a base for entries. Every part that is given must hold. Text ranks
// and only finds entries that share a term with it; the other parts filter.
type Query struct {
	Text        string
	Keywords    []string // any of them occurs, without regard to case, also inside words
	AllKeywords []string // every one of them occurs
	Tags        []string // any of them
	AllTags     []string // every one of them
	ExcludeTags []string // none of them
	EntryTypes  []string // any of them; aliases are read
	IDs         []string // any of them
	Metadata    map[string]any
	Status      GoalStatus
	Source      string
	Author      string
	MinPriority *float64
	Limit       int // 0 = DefaultLimit; more than MaxLimit is MaxLimit
}

// Hit is an entry that a query found. Score is the BM25 score with text, the
// number of keywords that occur without, in millionths, and only comparable
// within one answer.
type Hit struct {
	Entry *Entry
	Score int64
}

// Query answers in the order of score (higher first), priority (higher first),
// id. Metadata keys are dotted paths into custom_metadata.
func (b *Base) Query(q Query) []Hit {
	f := newFilter(q)
	top := best{limit: f.limit}
	if terms := queryTerms(q.Text); len(terms) > 0 {
		b.rank(terms, &f, &top)
		return top.hits
	}
	if strings.TrimSpace(q.Text) != "" {
		return nil // punctuation only: nothing can share a term with it
	}
	for n, l := range b.layers {
		for _, d := range l.docs {
			if score, ok := f.match(d); ok && b.visible(n, d) {
				top.add(d, score)
			}
		}
	}
	return top.hits
}

// filter is a query made ready: folded words, canonical types.
type filter struct {
	Query
	limit int
}

func newFilter(q Query) filter {
	f := filter{Query: q, limit: min(q.Limit, MaxLimit)}
	if q.Limit <= 0 {
		f.limit = DefaultLimit
	}
	f.Keywords, f.AllKeywords = foldAll(q.Keywords), foldAll(q.AllKeywords)
	f.EntryTypes = slices.Clone(q.EntryTypes)
	for i, t := range f.EntryTypes {
		f.EntryTypes[i] = CanonicalType(t)
	}
	return f
}

func foldAll(words []string) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		if w = fold(w); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// match tests an entry; score counts the keywords that occur, in millionths.
func (f *filter) match(d *doc) (score int64, ok bool) {
	e := d.entry
	if !f.matchFields(e) || !f.matchTags(e.Tags) || !matchMetadata(f.Metadata, e.CustomMetadata) {
		return 0, false
	}
	for _, w := range f.AllKeywords {
		if !strings.Contains(d.text, w) {
			return 0, false
		}
		score += 1_000_000
	}
	found := len(f.Keywords) == 0
	for _, w := range f.Keywords {
		if strings.Contains(d.text, w) {
			found = true
			score += 1_000_000
		}
	}
	return score, found
}

func (f *filter) matchFields(e *Entry) bool {
	switch {
	case len(f.IDs) > 0 && !slices.Contains(f.IDs, e.ID):
	case len(f.EntryTypes) > 0 && !slices.Contains(f.EntryTypes, e.EntryType):
	case f.Source != "" && f.Source != e.Source:
	case f.Author != "" && f.Author != e.Author:
	case f.MinPriority != nil && e.Priority < *f.MinPriority:
	case f.Status != "" && f.Status != e.Status():
	default:
		return true
	}
	return false
}

func (f *filter) matchTags(tags []string) bool {
	has := func(t string) bool { return slices.Contains(tags, t) }
	if len(f.Tags) > 0 && !slices.ContainsFunc(f.Tags, has) || slices.ContainsFunc(f.ExcludeTags, has) {
		return false
	}
	return !slices.ContainsFunc(f.AllTags, func(t string) bool { return !has(t) })
}

func matchMetadata(want, have map[string]any) bool {
	for path, w := range want {
		v, ok := have[path]
		if !ok {
			v, ok = descend(have, path)
		}
		if !ok || !protocol.Equal(v, w) {
			return false
		}
	}
	return true
}

// descend follows a dotted path into objects.
func descend(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		next, ok := m[name]
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

// rank scores the entries that hold any of the terms.
func (b *Base) rank(terms []string, f *filter, top *best) {
	weights := make([]int64, len(terms))
	for i, t := range terms {
		weights[i] = rarity(b.count, b.holders(t))
	}
	average := max(b.lengths, 1)
	lists := make([][]posting, len(terms))
	for n, l := range b.layers {
		for i, t := range terms {
			lists[i] = l.postings[t]
		}
		for at := next(lists); at >= 0; at = next(lists) {
			d := l.docs[at]
			score := int64(0)
			for i, list := range lists {
				if len(list) > 0 && list[0].doc == at {
					score += contribution(weights[i], int64(list[0].n), d.length, int64(b.count), average)
					lists[i] = list[1:]
				}
			}
			if _, ok := f.match(d); ok && b.visible(n, d) {
				top.add(d, score)
			}
		}
	}
}

// next is the first document that any list still holds, or -1.
func next(lists [][]posting) int32 {
	at := int32(-1)
	for _, list := range lists {
		if len(list) > 0 && (at < 0 || list[0].doc < at) {
			at = list[0].doc
		}
	}
	return at
}

// holders counts the visible entries with a term.
func (b *Base) holders(term string) int {
	count := 0
	for n, l := range b.layers {
		if n == len(b.layers)-1 {
			count += len(l.postings[term])
			continue
		}
		for _, p := range l.postings[term] {
			if b.visible(n, l.docs[p.doc]) {
				count++
			}
		}
	}
	return count
}

// rarity is BM25's idf, log2((2N+2)/(2n+1)), with 16 binary places. Integers
// only: floating point may differ between processors.
func rarity(all, holding int) int64 {
	x := uint64(2*all+2) << 31 / uint64(2*holding+1)
	shift := bits.Len64(x) - 32
	result := int64(shift) << 16
	if shift > 0 {
		x >>= shift
	} else {
		x <<= -shift
	}
	for bit := int64(1) << 15; bit > 0; bit >>= 1 { // x is in [1,2) with 31 places
		if x = x * x >> 31; x >= 1<<32 {
			x >>= 1
			result += bit
		}
	}
	return result
}

// contribution of one term: rarity * n*(k1+1) / (n + k1*(1-b+b*length/average)),
// k1 1.2, b 0.75, in millionths.
func contribution(rarity, n, length, count, lengths int64) int64 {
	penalty := 300 + 900*length*count/lengths // k1*(…), times 1000
	share := n * 2_200_000_000 / (n*1000 + penalty)
	return rarity * share >> 16
}

// best keeps the first hits in order.
type best struct {
	limit int
	hits  []Hit
}

func (t *best) add(d *doc, score int64) {
	h := Hit{Entry: d.entry, Score: score}
	if len(t.hits) == t.limit && compareHits(h, t.hits[t.limit-1]) >= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(t.hits, h, compareHits)
	if len(t.hits) == t.limit {
		t.hits = t.hits[:t.limit-1]
	}
	t.hits = slices.Insert(t.hits, i, h)
}

func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Entry.Priority, a.Entry.Priority), strings.Compare(a.Entry.ID, b.Entry.ID))
}
