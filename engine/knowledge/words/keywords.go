package words

import "unicode/utf8"

// Keywords finds all keywords of a layer in one walk over a text (Aho and Corasick), so
// that the cost is that of the text, not of the entries. It is immutable.
type Keywords struct {
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
	Inside = 1 << iota
	Whole  // between the ends of words
)

// NewKeywords takes words without empty ones, sorted, each once.
func NewKeywords(words []string) *Keywords {
	k := &Keywords{words: words, nodes: []node{{word: -1}}}
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
func (k *Keywords) link() {
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
func (k *Keywords) step(n int32, by byte) int32 {
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

// In says how each of the words occurs in a text.
func (k *Keywords) In(text string) []byte {
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
			if found[w]&Whole == 0 {
				found[w] |= Inside
				if whole(text, i+1-len(k.words[w]), i+1) {
					found[w] |= Whole
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
