package words

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Keywords finds all keywords of a layer in one walk over a text, so that the cost is that of
// the text, not of the entries. Those that are whole words are looked up by their first
// word, the others by an automaton. It is immutable.
type Keywords struct {
	words    []string
	starts   map[string]span // which of whole have this first word
	whole    []start         // by first word, then by bytes
	anywhere automaton
}

type span struct{ from, to int32 }

// start is a keyword that begins where a word does.
type start struct {
	word   int32
	within int32 // the longest one of its span that it begins with; before the span = none
}

// How a keyword occurs in a text.
const (
	Inside = 1 << iota
	Whole  // between the ends of words
)

// Hit is a keyword that occurs.
type Hit struct {
	Word int32
	How  uint8
}

// Hits are the keywords that occur, by their numbers, each once.
type Hits []Hit

// How says how a keyword occurs; 0 = it does not.
func (h Hits) How(word int32) uint8 {
	i := sort.Search(len(h), func(i int) bool { return h[i].Word >= word })
	if i < len(h) && h[i].Word == word {
		return h[i].How
	}
	return 0
}

// NewKeywords takes words without empty ones, sorted, each once. Those of which inside is
// true are found inside words, too; nil = none is.
func NewKeywords(words []string, inside []bool) *Keywords {
	k := &Keywords{words: words, starts: map[string]span{}}
	var whole, anywhere []int32
	for i, w := range words {
		if first, _ := utf8.DecodeRuneInString(w); wordRune(first) && (inside == nil || !inside[i]) {
			whole = append(whole, int32(i))
		} else {
			anywhere = append(anywhere, int32(i))
		}
	}
	slices.SortStableFunc(whole, func(a, b int32) int { return strings.Compare(firstWord(words[a]), firstWord(words[b])) })
	for i, w := range whole {
		first := firstWord(words[w])
		at, known := k.starts[first]
		if !known {
			at.from = int32(i)
		}
		at.to = int32(i) + 1
		k.starts[first] = at
		within := int32(i) - 1
		for within >= at.from && !strings.HasPrefix(words[w], words[whole[within]]) {
			within = k.whole[within].within
		}
		k.whole = append(k.whole, start{w, within})
	}
	k.anywhere = newAutomaton(words, anywhere)
	return k
}

func firstWord(s string) string { return s[:runLength(s, wordRune)] }

// In says which of the words occur in a text.
func (k *Keywords) In(text string) Hits {
	hits := k.anywhere.in(k.words, text)
	for i := 0; i < len(text) && len(k.whole) > 0; {
		n := runLength(text[i:], wordRune)
		if at, ok := k.starts[text[i:i+n]]; ok {
			hits = k.begin(hits, text, i, at)
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text[i:])
		}
		i += n
	}
	return hits.once()
}

// begin adds the keywords of a span that the text has at a place. If some do, the last one
// that is not behind the text by its bytes is one of them, or begins with all of them.
func (k *Keywords) begin(hits Hits, text string, from int, s span) Hits {
	rest := text[from:]
	n := sort.Search(int(s.to-s.from), func(i int) bool { return k.words[k.whole[int(s.from)+i].word] > rest })
	for at := s.from + int32(n) - 1; at >= s.from; at = k.whole[at].within {
		w := k.whole[at].word
		if to := from + len(k.words[w]); strings.HasPrefix(rest, k.words[w]) && whole(text, from, to) {
			hits = hits.add(Hit{w, Inside | Whole})
		}
	}
	return hits
}

// add keeps the list as long as the keywords that occur, not as the times they do.
func (h Hits) add(one Hit) Hits {
	if len(h) == cap(h) {
		h = h.once()
	}
	return append(h, one)
}

// once sorts hits and joins those of one keyword.
func (h Hits) once() Hits {
	slices.SortFunc(h, func(a, b Hit) int { return int(a.Word) - int(b.Word) })
	out := h[:0]
	for _, x := range h {
		if n := len(out); n > 0 && out[n-1].Word == x.Word {
			out[n-1].How |= x.How
		} else {
			out = append(out, x)
		}
	}
	return out
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
