package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// Print is what a text is compared by.
type Print struct {
	same  string // its words
	marks string // words that turn its meaning: numbers, "not", "before"
	terms Terms
	norm  int64 // the sum of the squares of their weights
}

// likeness is the least cosine of two texts that are alike, in hundredths.
const likeness = 92

// NewPrint makes the print of a text.
func NewPrint(text string, s *Stemmer) Print {
	var p Print
	var same, marks, rest []string
	Each(Fold(text), func(word string, script bool) {
		same = append(same, word)
		switch {
		case script:
			Pairs(word, true, func(t string) { rest = append(rest, t) })
			for _, r := range word {
				if strings.ContainsRune(turns, r) {
					marks = append(marks, string(r))
				}
			}
		case filler(word):
		case english.IsStopWord(word) || word == "never" || word == "without" || strings.ContainsFunc(word, unicode.IsDigit) || len(word) == 1:
			marks = append(marks, word)
		default:
			rest = append(rest, word)
		}
	})
	p.same, p.marks = strings.Join(same, " "), strings.Join(marks, " ")
	p.terms, _ = Count([]Part{{Text: strings.Join(rest, " "), Weight: 1}}, s)
	p.terms.All(func(_ string, n int32) { p.norm += int64(n) * int64(n) })
	return p
}

// turns are Chinese characters that turn what is said.
const turns = "不没沒无無非别別未勿莫前后後上下左右"

// filler reports a word that says nothing by itself.
func filler(word string) bool {
	switch word {
	case "a", "an", "the", "is", "are", "was", "were", "be", "been", "am", "it", "its", "this", "that", "these", "those", "there", "of", "to", "and",
		"i", "we", "you", "my", "our", "your", "has", "have", "had", "do", "does", "did", "will", "would", "so", "just", "very", "s", "ll", "ve", "re", "m", "d":
		return true
	}
	return false
}

// Common reports a text of which every word is in nearly every text: stop words, and words
// of one or two letters.
func Common(text string) bool {
	common := true
	Each(Fold(text), func(word string, script bool) {
		n := utf8.RuneCountInString(word)
		common = common && (n < 2 || !script && (n < 3 || stopWord(word)))
	})
	return common
}

// Same reports texts of the same words in the same order, without regard to case and
// punctuation.
func (p *Print) Same(q *Print) bool { return p.same == q.same && p.same != "" }

// Alike reports texts that are the same, or nearly: the numbers and the words that turn a
// meaning are equal and in the same order, and the cosine of the stems of the others is at
// least 0.92. Nothing is rounded but products, the same on every machine.
func (p *Print) Alike(q *Print) bool {
	if p.Same(q) {
		return true
	}
	if p.norm == 0 || q.norm == 0 || p.marks != q.marks {
		return false
	}
	dot := p.terms.dot(q.terms)
	return float64(dot)*float64(dot)*10_000 >= float64(p.norm)*float64(q.norm)*likeness*likeness
}

// Near reports texts of which the stems have at least this cosine, in thousandths, whatever
// their numbers and the words that turn a meaning.
func (p *Print) Near(q *Print, thousandths int64) bool {
	dot := p.terms.dot(q.terms)
	return dot > 0 && float64(dot)*float64(dot)*1_000_000 >= float64(p.norm)*float64(q.norm)*float64(thousandths*thousandths)
}

// dot is the sum of the products of the weights of equal terms.
func (t Terms) dot(u Terms) (sum int64) {
	for t != "" && u != "" {
		a, n, restT := t.first()
		b, m, restU := u.first()
		switch c := strings.Compare(a, b); {
		case c < 0:
			t = restT
		case c > 0:
			u = restU
		default:
			sum += int64(n) * int64(m)
			t, u = restT, restU
		}
	}
	return sum
}
