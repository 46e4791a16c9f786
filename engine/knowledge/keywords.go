package knowledge

import (
	"slices"
	"strings"

	"tavernsim/engine/knowledge/words"
)

// trigger is what makes the entries of a layer active. Keywords without regard to case
// are found in the folded text, the others in the text as it is.
type trigger struct {
	folded, exact *words.Keywords
	docs          []watch      // that have keywords, by entry
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

func newTrigger(docs []*doc, active []int32) *trigger {
	t := &trigger{}
	var lists [2][]string
	for _, i := range active {
		a := docs[i].entry.ActivationCriteria
		for _, list := range a.lists() {
			lists[a.exact()] = append(lists[a.exact()], a.fold(*list)...)
		}
	}
	for i := range lists {
		slices.Sort(lists[i])
		lists[i] = slices.Compact(lists[i])
		t.users[i] = make([][]int32, len(lists[i]))
	}
	t.folded, t.exact = words.NewKeywords(lists[0]), words.NewKeywords(lists[1])
	for _, i := range active {
		t.watch(i, docs[i].entry.ActivationCriteria, lists[docs[i].entry.ActivationCriteria.exact()])
	}
	return t
}

func (t *trigger) watch(doc int32, a *Activation, sorted []string) {
	w := watch{doc: doc, exact: a.exact(), inside: a.WholeWords != nil && !*a.WholeWords}
	for i, into := range []*[]int32{&w.any, &w.also, &w.all, &w.none, &w.notAll} {
		for _, word := range a.fold(*a.lists()[i]) {
			n, _ := slices.BinarySearch(sorted, word)
			*into = append(*into, int32(n))
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
func (t *trigger) candidates(text, folded string) (list []int32, found [2][]byte) {
	found = [2][]byte{t.folded.In(folded), t.exact.In(text)}
	list = slices.Clone(t.others)
	for i := range found {
		for n, how := range found[i] {
			if how != 0 {
				list = append(list, t.users[i][n]...)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), found
}

// holds reports whether the keywords of an entry occur as it wants.
func (w *watch) holds(found [2][]byte, matches func() bool) bool {
	occurs := func(n int32) bool { return found[w.exact][n] >= words.Whole || w.inside && found[w.exact][n] > 0 }
	absent := func(n int32) bool { return !occurs(n) }
	return (slices.ContainsFunc(w.any, occurs) || matches()) &&
		(len(w.also) == 0 || slices.ContainsFunc(w.also, occurs)) &&
		!slices.ContainsFunc(w.all, absent) && !slices.ContainsFunc(w.none, occurs) &&
		(len(w.notAll) == 0 || slices.ContainsFunc(w.notAll, absent))
}

// matches reports whether a pattern matches, or whether there is no keyword and no pattern.
func (d *doc) matches(text string) bool {
	a := d.entry.ActivationCriteria
	if len(a.Keywords)+len(a.Patterns) == 0 {
		return true
	}
	for _, p := range d.patterns {
		if p.MatchString(text) {
			return true
		}
	}
	return false
}

// pattern is the regular expression of a pattern.
func (a *Activation) pattern(p string) string {
	if a.CaseSensitive || strings.HasPrefix(p, "(?") {
		return p
	}
	return "(?i)" + p
}
