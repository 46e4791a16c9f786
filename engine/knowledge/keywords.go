package knowledge

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// keywords finds all keywords of a layer in one walk over a text (Aho and Corasick), so
// that the cost is that of the text, not of the entries. It is immutable.
type keywords struct {
	words []string // in byte order
	nodes []node   // the first is the root
	edges []edge   // of each node together, by byte
	root  [256]int32
}

// node is what was read so far: the beginning of some keyword.
type node struct {
	from, to int32 // its edges
	fail     int32 // the longest proper end of it that is a node
	word     int32 // that it is; -1 = none
	out      int32 // the next node on the way of fail that is a word, or 0
}

type edge struct {
	by byte
	to int32
}

// How a keyword occurs in a text.
const (
	occursInside = 1 << iota
	occursWhole  // between the ends of words
)

// newKeywords takes words without empty ones, sorted, each once.
func newKeywords(words []string) *keywords {
	k := &keywords{words: words, nodes: []node{{word: -1}}}
	type branch struct{ from, to, depth int } // words[from:to] begin with the node
	open := []branch{{0, len(words), 0}}
	for n := 0; n < len(open); n++ { // nodes in the order of their depth
		b := open[n]
		k.nodes[n].from = int32(len(k.edges))
		for b.from < b.to && len(words[b.from]) == b.depth {
			k.nodes[n].word = int32(b.from)
			b.from++
		}
		for i := b.from; i < b.to; {
			by, j := words[i][b.depth], i
			for j < b.to && words[j][b.depth] == by {
				j++
			}
			k.edges = append(k.edges, edge{by, int32(len(k.nodes))})
			k.nodes = append(k.nodes, node{word: -1})
			open = append(open, branch{i, j, b.depth + 1})
			i = j
		}
		k.nodes[n].to = int32(len(k.edges))
	}
	for _, e := range k.edges[:k.nodes[0].to] {
		k.root[e.by] = e.to
	}
	k.link()
	return k
}

// link finds fail and out of each node; those of shorter ones are known by then.
func (k *keywords) link() {
	for n := range k.nodes {
		for _, e := range k.edges[k.nodes[n].from:k.nodes[n].to] {
			child := &k.nodes[e.to]
			if n > 0 {
				child.fail = k.step(k.nodes[n].fail, e.by)
			}
			child.out = child.fail
			if k.nodes[child.fail].word < 0 {
				child.out = k.nodes[child.fail].out
			}
		}
	}
}

// step is the node after one more byte.
func (k *keywords) step(n int32, by byte) int32 {
	for n > 0 {
		for _, e := range k.edges[k.nodes[n].from:k.nodes[n].to] {
			if e.by == by {
				return e.to
			}
		}
		n = k.nodes[n].fail
	}
	return k.root[by]
}

// in says how each of the words occurs in a text.
func (k *keywords) in(text string) []byte {
	found := make([]byte, len(k.words))
	if len(k.words) == 0 {
		return found
	}
	at := int32(0)
	for i := range len(text) {
		at = k.step(at, text[i])
		n := at
		if k.nodes[n].word < 0 {
			n = k.nodes[n].out
		}
		for ; n > 0; n = k.nodes[n].out {
			w := k.nodes[n].word
			if found[w]&occursWhole == 0 {
				found[w] |= occursInside
				if whole(text, i+1-len(k.words[w]), i+1) {
					found[w] |= occursWhole
				}
			}
		}
	}
	return found
}

// whole reports that a part of a text neither begins nor ends within a word. CJK
// characters are no parts of words.
func whole(text string, from, to int) bool {
	first, _ := utf8.DecodeRuneInString(text[from:to])
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	last, _ := utf8.DecodeLastRuneInString(text[from:to])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !(wordRune(first) && wordRune(before)) && !(wordRune(last) && wordRune(after))
}

// trigger is what makes the entries of a layer active. Keywords without regard to case
// are found in the folded text, the others in the text as it is.
type trigger struct {
	folded, exact *keywords
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
	var words [2][]string
	for _, i := range active {
		a := docs[i].entry.ActivationCriteria
		for _, list := range a.lists() {
			words[a.exact()] = append(words[a.exact()], a.fold(*list)...)
		}
	}
	for i := range words {
		slices.Sort(words[i])
		words[i] = slices.Compact(words[i])
		t.users[i] = make([][]int32, len(words[i]))
	}
	t.folded, t.exact = newKeywords(words[0]), newKeywords(words[1])
	for _, i := range active {
		t.watch(i, docs[i].entry.ActivationCriteria, words[docs[i].entry.ActivationCriteria.exact()])
	}
	return t
}

func (t *trigger) watch(doc int32, a *Activation, words []string) {
	w := watch{doc: doc, exact: a.exact(), inside: a.WholeWords != nil && !*a.WholeWords}
	for i, into := range []*[]int32{&w.any, &w.also, &w.all, &w.none, &w.notAll} {
		for _, word := range a.fold(*a.lists()[i]) {
			n, _ := slices.BinarySearch(words, word)
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

func (a *Activation) fold(words []string) []string {
	if a.CaseSensitive {
		return words
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fold(w)
	}
	return out
}

// candidates are the entries that a text may make active, with what occurs in it.
func (t *trigger) candidates(text, folded string) (list []int32, found [2][]byte) {
	found = [2][]byte{t.folded.in(folded), t.exact.in(text)}
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
	occurs := func(n int32) bool { return found[w.exact][n] >= occursWhole || w.inside && found[w.exact][n] > 0 }
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
