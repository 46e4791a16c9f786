package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/engine/knowledge/words"
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
	Now         protocol.Time // for recency; 0 = everything is as recent
	Vector      vector.Vector // of Text, if the base has vectors
	Limit       int           // 0 = DefaultLimit; more than MaxLimit is MaxLimit
}

// Hit is an entry that a query found. Score is the rank with text, the number of
// keywords that occur without, in millionths, and only comparable within one answer.
type Hit struct {
	Entry *Entry
	Score int64
}

// Query answers in the order of score (higher first), priority (higher first),
// id. Metadata keys are dotted paths into custom_metadata.
func (b *Base) Query(q Query) []Hit {
	f := newFilter(q)
	top := best{limit: f.limit}
	if terms := words.OfQuery(q.Text); len(terms) > 0 {
		if q.Vector.None() || !b.embedded {
			b.rank(terms, &f, &top)
		} else {
			b.closest(terms, &f, &top)
		}
		return top.hits
	}
	if strings.TrimSpace(q.Text) != "" {
		return nil // punctuation only: nothing can share a term with it
	}
	for n, l := range b.layers {
		for _, d := range l.docs {
			if !d.valid(q.Now) || d.entry.Retired() && len(q.IDs) == 0 {
				continue
			}
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
	open  bool // everything passes
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
	f.open = len(f.Keywords)+len(f.AllKeywords)+len(f.Tags)+len(f.AllTags)+len(f.ExcludeTags)+len(f.EntryTypes)+len(f.IDs)+len(f.Metadata) == 0 &&
		f.Status == "" && f.Source == "" && f.Author == "" && f.MinPriority == nil
	return f
}

func foldAll(list []string) []string {
	out := make([]string, 0, len(list))
	for _, w := range list {
		if w = words.Fold(w); w != "" && !slices.Contains(out, w) {
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
			v, ok = Descend(have, path)
		}
		if !ok || !protocol.Equal(v, w) {
			return false
		}
	}
	return true
}

// Descend follows a dotted path into objects.
func Descend(v any, path string) (any, bool) {
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

// best keeps the first hits in order.
type best struct {
	limit int
	hits  []Hit
}

func (t *best) add(d *doc, score int64) {
	h := Hit{Entry: d.entry, Score: score}
	if !t.takes(h) {
		return
	}
	i, _ := slices.BinarySearchFunc(t.hits, h, compareHits)
	if len(t.hits) == t.limit {
		t.hits = t.hits[:t.limit-1]
	}
	t.hits = slices.Insert(t.hits, i, h)
}

// takes reports whether a hit is among the first so far.
func (t *best) takes(h Hit) bool {
	return len(t.hits) < t.limit || compareHits(h, t.hits[t.limit-1]) < 0
}

// compareHits is a total order. It looks at no entry whose score decides.
func compareHits(a, b Hit) int {
	if a.Score != b.Score {
		return cmp.Compare(b.Score, a.Score)
	}
	if c := cmp.Compare(b.Entry.Priority, a.Entry.Priority); c != 0 {
		return c
	}
	return strings.Compare(a.Entry.ID, b.Entry.ID)
}
