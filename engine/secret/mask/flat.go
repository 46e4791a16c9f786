package mask

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// inOtherCharacters is the form of a value in characters that mean the same: full-width,
// bold, circled letters; letters with accents, or with what cannot be seen between them.
const inOtherCharacters = "compatible characters"

// flat is a text in plain characters: what stands for another one is that one, and only
// letters, digits and the signs of ASCII are left. What is far from every character beyond
// ASCII, in letters and digits, is left out, since it is searched as it is; "" = that is all.
func (m *Masker) flat(text string) string {
	var b strings.Builder
	around := 2 * m.longest
	for at := 0; at < len(text); {
		first := beyond(text, at)
		if first < 0 {
			break
		}
		from, to := first, first
		for left := around; from > at && left > 0; {
			if from--; m.fold[text[from]] != 0 {
				left--
			}
		}
		for left := around; to < len(text) && left > 0; {
			c := text[to]
			if to++; c >= utf8.RuneSelf {
				left = around
			} else if m.fold[c] != 0 {
				left--
			}
		}
		at = to // behind ASCII, or at the end
		for _, r := range norm.NFKD.String(text[from:to]) {
			if r < utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsDigit(r) {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// beyond is the first byte from a place on that is not ASCII; -1 = none.
func beyond(text string, from int) int {
	for i := from; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return i
		}
	}
	return -1
}

// flattened looks for secrets in a text whose characters stand for others.
func (m *Masker) flattened(text string, depth int, left *int) (name, form string) {
	text = m.flat(text)
	if text == "" {
		return "", ""
	}
	if hits := m.scan(text); len(hits) > 0 {
		return hits[0].pattern.name, inOtherCharacters
	}
	return m.decoded(text, depth, left)
}
