package criteria

import (
	"slices"

	"tavernsim/engine/knowledge/words"
)

// Set looks for the keywords of many entries at once: those that scan the same texts are
// found in one walk. It is immutable.
type Set struct {
	groups  []*group
	level   int
	similar bool
}

type group struct {
	scan *Scan
	trigger
}

// NewSet makes one of the criteria of entries, nil where there are none; scan is that of
// entries that do not say it.
func NewSet(list []*Compiled, scan *Scan) *Set {
	s := &Set{}
	var of [][]int32
	at := map[string]int{}
	for i, c := range list {
		if c == nil {
			continue
		}
		s.level, s.similar = max(s.level, int(c.Level)), s.similar || c.Similar != nil
		own := scan
		if c.Scan != nil {
			own = c.Scan
		}
		n, known := at[own.key()]
		if !known {
			n = len(of)
			at[own.key()], of, s.groups = n, append(of, nil), append(s.groups, &group{scan: own})
		}
		of[n] = append(of[n], int32(i))
	}
	for n, g := range s.groups {
		g.trigger = newTrigger(list, of[n])
	}
	return s
}

// Scans reports an entry with a scan.
func (s *Set) Scans() bool {
	return slices.ContainsFunc(s.groups, func(g *group) bool { return g.scan != nil })
}

// Similar reports an entry with similar.
func (s *Set) Similar() bool { return s.similar }

// Level is the highest level of an entry.
func (s *Set) Level() int { return s.level }

// Found is an entry whose keywords hold.
type Found struct {
	Entry   int32 // its place in the list of the set
	Matches int   // how many of its keywords occur
	Text    string
}

// Each calls f for the entries whose keywords hold in the texts of their scans.
func (s *Set) Each(list func(int32) *Compiled, text func(*Scan) (text, folded string), f func(Found)) {
	for _, g := range s.groups {
		plain, folded := text(g.scan)
		candidates, found := g.candidates(plain, folded)
		for _, i := range candidates {
			w := &g.docs[i]
			c := list(w.doc)
			if n, ok := w.holds(found, func() bool { return c.Matches(plain) }); ok {
				f(Found{w.doc, n, plain})
			}
		}
	}
}

// trigger is what makes entries active. Keywords without regard to case are found in the
// folded text, the others in the text as it is.
type trigger struct {
	folded, exact *words.Keywords
	docs          []watch      // by entry
	users         [2][][]int32 // by keyword, folded and exact: which of docs it can make active
	others        []int32      // of docs: those that no keyword makes active
}

// watch is an entry with its keywords as numbers.
type watch struct {
	doc                          int32
	exact                        int
	inside                       bool // keywords may occur inside words
	any, also, all, none, notAll []int32
}

func newTrigger(docs []*Compiled, active []int32) trigger {
	t := trigger{}
	var lists [2][]string
	for _, i := range active {
		a := docs[i].Activation
		for _, list := range a.lists() {
			lists[a.exact()] = append(lists[a.exact()], a.fold(*list)...)
		}
	}
	var inside [2][]bool
	for i := range lists {
		slices.Sort(lists[i])
		lists[i] = slices.Compact(lists[i])
		t.users[i], inside[i] = make([][]int32, len(lists[i])), make([]bool, len(lists[i]))
	}
	for _, i := range active {
		t.watch(i, docs[i].Activation, lists[docs[i].exact()], inside[docs[i].exact()])
	}
	t.folded, t.exact = words.NewKeywords(lists[0], inside[0]), words.NewKeywords(lists[1], inside[1])
	return t
}

func (t *trigger) watch(doc int32, a *Activation, sorted []string, inside []bool) {
	w := watch{doc: doc, exact: a.exact(), inside: a.inside()}
	for i, into := range []*[]int32{&w.any, &w.also, &w.all, &w.none, &w.notAll} {
		for _, word := range a.fold(*a.lists()[i]) {
			n, _ := slices.BinarySearch(sorted, word)
			*into = append(*into, int32(n))
			inside[n] = inside[n] || w.inside
		}
	}
	needs := w.any // one of them occurs when the entry becomes active
	switch {
	case len(a.Patterns) > 0:
		needs = nil
	case len(needs) == 0 && len(w.all) > 0:
		needs = w.all[:1]
	case len(needs) == 0:
		needs = w.also
	}
	at := int32(len(t.docs))
	t.docs = append(t.docs, w)
	if len(needs) == 0 {
		t.others = append(t.others, at)
	}
	for _, n := range needs {
		t.users[w.exact][n] = append(t.users[w.exact][n], at)
	}
}

func (a *Activation) exact() int {
	if a.CaseSensitive {
		return 1
	}
	return 0
}

// inside reports keywords that may occur inside words.
func (a *Activation) inside() bool { return a.WholeWords != nil && !*a.WholeWords }

func (a *Activation) lists() []*[]string {
	return []*[]string{&a.Keywords, &a.AlsoKeywords, &a.AllKeywords, &a.ExcludeKeywords, &a.NotAllKeywords}
}

func (a *Activation) fold(list []string) []string {
	if a.CaseSensitive {
		return list
	}
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = words.Fold(w)
	}
	return out
}

// candidates are the entries that a text may make active, with what occurs in it.
func (t *trigger) candidates(text, folded string) (list []int32, found [2]words.Hits) {
	found = [2]words.Hits{t.folded.In(folded), t.exact.In(text)}
	list = slices.Clone(t.others)
	for i := range found {
		for _, h := range found[i] {
			list = append(list, t.users[i][h.Word]...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), found
}

// holds reports whether the keywords of an entry occur as it wants, and how many do.
func (w *watch) holds(found [2]words.Hits, matches func() bool) (n int, ok bool) {
	occurs := func(n int32) bool { return occurs(found[w.exact].How(n), w.inside) }
	absent := func(n int32) bool { return !occurs(n) }
	for _, list := range [][]int32{w.any, w.also, w.all} {
		for _, k := range list {
			if occurs(k) {
				n++
			}
		}
	}
	return n, (slices.ContainsFunc(w.any, occurs) || matches()) &&
		(len(w.also) == 0 || slices.ContainsFunc(w.also, occurs)) &&
		!slices.ContainsFunc(w.all, absent) && !slices.ContainsFunc(w.none, occurs) &&
		(len(w.notAll) == 0 || slices.ContainsFunc(w.notAll, absent))
}

// occurs reports whether a keyword occurs as its entry wants it to.
func occurs(how uint8, inside bool) bool { return how >= words.Whole || inside && how > 0 }

// NoKeyword is the reason of most entries that are out.
const NoKeyword = "keywords: none occurs"

// Absent says which keywords do not occur as they should; "" = they do.
func (c *Compiled) Absent(text string) string {
	a, plain := c.Activation, text
	if !a.CaseSensitive {
		text = words.Fold(text)
	}
	occurring := func(list []string) (in, out []string) {
		for _, w := range a.fold(list) {
			if occurs(words.NewKeywords([]string{w}, []bool{a.inside()}).In(text).How(0), a.inside()) {
				in = append(in, w)
			} else {
				out = append(out, w)
			}
		}
		return in, out
	}
	any, _ := occurring(a.Keywords)
	also, _ := occurring(a.AlsoKeywords)
	none, _ := occurring(a.ExcludeKeywords)
	_, all := occurring(a.AllKeywords)
	_, notAll := occurring(a.NotAllKeywords)
	switch {
	case len(any) == 0 && !c.Matches(plain) || len(any) == 0 && len(a.Keywords) > 0 && len(a.Patterns) == 0:
		return NoKeyword
	case len(a.AlsoKeywords) > 0 && len(also) == 0:
		return "also_keywords: none occurs"
	case len(all) > 0:
		return "all_keywords: absent: " + join(all)
	case len(none) > 0:
		return "exclude_keywords: there are: " + join(none)
	case len(a.NotAllKeywords) > 0 && len(notAll) == 0:
		return "not_all_keywords: all occur"
	}
	return ""
}
