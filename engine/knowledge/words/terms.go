package words

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"tavernsim/protocol"
)

// Bounds of what is indexed.
const (
	maxQueryTerms = 64      // distinct terms of one query; later ones are ignored
	maxStemmed    = 64      // bytes of a word that is stemmed; no English word is longer
	maxStems      = 1 << 16 // words whose stems one Stemmer remembers
)

// Fold makes text comparable: lower case.
func Fold(s string) string { return strings.ToLower(s) }

// cjk reports a script that is written without spaces.
func cjk(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// Stemmer makes terms of words. It remembers stems, which are slow to find, and keeps room:
// who prepares many entries shares one. The zero Stemmer is ready.
type Stemmer struct {
	stems map[string]string
	room  []weighted // of Count
	bytes []byte     // of Count
}

type weighted struct {
	term   string
	weight int32
}

// Stem is the stem of a word of the letters a to z; any other word is its own term.
func (s *Stemmer) Stem(word string) string {
	if len(word) < 3 || len(word) > maxStemmed || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return word
	}
	if known, ok := s.stems[word]; ok {
		return known
	}
	out := english.Stem(word, true)
	if strings.HasPrefix(word, out) {
		out = word[:len(out)] // shares the text, which its entry keeps anyway
	}
	if s.stems == nil || len(s.stems) >= maxStems {
		s.stems = map[string]string{}
	}
	s.stems[word] = out
	return out
}

// stopWord reports a word that nearly every English text has. Single letters are
// what apostrophes leave ("don't", "king's").
func stopWord(word string) bool {
	return len(word) == 1 && word[0] >= 'a' && word[0] <= 'z' || english.IsStopWord(word)
}

// Each calls f for every word of folded text: a run of letters and digits, or of
// CJK characters.
func Each(s string, f func(word string, script bool)) {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case cjk(r):
			n := runLength(s[i:], cjk)
			f(s[i:i+n], true)
			i += n
		case wordRune(r):
			n := runLength(s[i:], wordRune)
			f(s[i:i+n], false)
			i += n
		default:
			i += size
		}
	}
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z'
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !cjk(r)
}

func runLength(s string, in func(rune) bool) int {
	for i, r := range s {
		if !in(r) {
			return i
		}
	}
	return len(s)
}

// Pairs are the characters of a run and its pairs of neighbours. pairsOnly leaves
// out the characters of a longer run, as a query does.
func Pairs(run string, pairsOnly bool, f func(string)) {
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

// Part is folded text of one weight.
type Part struct {
	Text   string
	Weight int32
}

// Terms are those of an entry in byte order, each with its weight: term, a zero byte,
// the weight as a varint. No term has a zero byte. One string is a third of the memory
// of a list.
type Terms string

// All calls f for every term.
func (t Terms) All(f func(term string, weight int32)) {
	for t != "" {
		var term string
		var n int32
		term, n, t = t.first()
		f(term, n)
	}
}

// first is the first term, its weight and the rest.
func (t Terms) first() (term string, weight int32, rest Terms) {
	end := strings.IndexByte(string(t), 0)
	var n uint64
	at := end + 1
	for shift := 0; ; shift += 7 {
		c := t[at]
		at++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	return string(t[:end]), int32(n), t[at:]
}

// Count counts terms. The length is the sum of the weights.
func Count(parts []Part, s *Stemmer) (list Terms, length int64) {
	all, b := s.room[:0], s.bytes[:0]
	for _, p := range parts {
		Each(p.Text, func(word string, script bool) {
			if script {
				Pairs(word, false, func(t string) { all = append(all, weighted{t, p.Weight}) })
				return
			}
			all = append(all, weighted{s.Stem(word), p.Weight})
		})
	}
	slices.SortFunc(all, func(a, b weighted) int { return strings.Compare(a.term, b.term) })
	for i := 0; i < len(all); {
		sum := int64(0)
		j := i
		for ; j < len(all) && all[j].term == all[i].term; j++ {
			sum += int64(all[j].weight)
		}
		length += sum
		b = append(append(b, all[i].term...), 0)
		b = binary.AppendUvarint(b, uint64(sum))
		i = j
	}
	s.room, s.bytes = all, b
	return Terms(b), length
}

// OfQuery lists the distinct terms of a query in byte order. Stop words are terms
// only of a query that has no others: "the who".
func OfQuery(text string) []string {
	var out, stops []string
	var s Stemmer
	Each(Fold(text), func(word string, script bool) {
		switch {
		case script:
			Pairs(word, true, func(t string) { out = append(out, t) })
		case stopWord(word):
			stops = append(stops, s.Stem(word))
		default:
			out = append(out, s.Stem(word))
		}
	})
	if len(out) == 0 {
		out = stops
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxQueryTerms)]
}

// AppendTexts collects every text inside a value, objects in key order.
func AppendTexts(b []byte, v any) []byte {
	switch x := v.(type) {
	case string:
		b = append(b, x...)
		b = append(b, '\n')
	case []any:
		for _, e := range x {
			b = AppendTexts(b, e)
		}
	case map[string]any:
		for _, k := range protocol.SortedKeys(x) {
			b = AppendTexts(b, x[k])
		}
	}
	return b
}

// Near reports whether the cosine of two lists of terms is at least so many hundredths.
// Terms of one text have weights below 10,000.
func (t Terms) Near(u Terms, hundredths int64) bool {
	dot, all := t.dot(u), t.dot(t)*u.dot(u)
	return all > 0 && dot*dot*10_000 >= all*hundredths*hundredths
}
