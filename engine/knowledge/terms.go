package knowledge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tavernsim/protocol"
)

// maxQueryTerms bounds the distinct terms of one query; later ones are ignored.
const maxQueryTerms = 64

// fold makes text comparable: lower case.
func fold(s string) string { return strings.ToLower(s) }

// cjk reports a script that is written without spaces.
func cjk(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// eachTerm calls f for every term of folded text. pairsOnly leaves out the
// single characters of a longer CJK run, as a query does.
func eachTerm(s string, pairsOnly bool, f func(term string)) {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case cjk(r):
			n := runLength(s[i:], cjk)
			cjkTerms(s[i:i+n], pairsOnly, f)
			i += n
		case wordRune(r):
			n := runLength(s[i:], wordRune)
			f(s[i : i+n])
			i += n
		default:
			i += size
		}
	}
}

func wordRune(r rune) bool { return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !cjk(r) }

func runLength(s string, in func(rune) bool) int {
	for i, r := range s {
		if !in(r) {
			return i
		}
	}
	return len(s)
}

func cjkTerms(run string, pairsOnly bool, f func(string)) {
	before := -1
	single := utf8.RuneCountInString(run) == 1
	for i, r := range run {
		end := i + utf8.RuneLen(r)
		if !pairsOnly || single {
			f(run[i:end])
		}
		if before >= 0 {
			f(run[before:end])
		}
		before = i
	}
}

// termCount is how often a term occurs in an entry.
type termCount struct {
	term string
	n    int32
}

// countTerms lists the terms of an entry in byte order. The terms are parts of
// text, which keeps them alive.
func countTerms(weighted, text string) (counts []termCount, length int64) {
	var all []string
	add := func(t string) { all = append(all, t) }
	eachTerm(weighted, false, add)
	all = append(all, all...) // title and tags count twice
	eachTerm(text, false, add)
	slices.Sort(all)
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j] == all[i] {
			j++
		}
		counts = append(counts, termCount{all[i], int32(j - i)})
		i = j
	}
	return counts, int64(len(all))
}

// queryTerms lists the distinct terms of a query in byte order.
func queryTerms(text string) []string {
	var out []string
	eachTerm(fold(text), true, func(t string) { out = append(out, t) })
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxQueryTerms)]
}

// appendTexts collects every text inside a value, objects in key order.
func appendTexts(b []byte, v any) []byte {
	switch x := v.(type) {
	case string:
		b = append(b, x...)
		b = append(b, '\n')
	case []any:
		for _, e := range x {
			b = appendTexts(b, e)
		}
	case map[string]any:
		for _, k := range protocol.SortedKeys(x) {
			b = appendTexts(b, x[k])
		}
	}
	return b
}
