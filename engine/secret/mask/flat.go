package mask

import (
	"encoding/binary"
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
	if len(text) <= maxWord && !m.mayStand(text) {
		return ""
	}
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
			// Nobody sees these, but programs read them: tags stand for ASCII, what selects a
			// variation for any byte.
			if 0xE0100 <= r && r < 0xE01F0 {
				b.WriteByte(byte(r - 0xE0100 + 16))
				continue
			}
			if 0xE0000 <= r && r < 0xE0080 {
				r -= 0xE0000
			}
			if r < utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsDigit(r) {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// maxWord is the length of texts that are looked at before they are made flat: decoded words, of
// which there are many, and nearly all of them are no text.
const maxWord = 64

// mayStand reports whether a short text may have a secret when it is flat: it has a character
// beyond ASCII, or bytes that are none between letters and digits enough.
func (m *Masker) mayStand(text string) bool {
	kept := 0
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if m.fold[c] != 0 {
				kept++
			}
			i++
			continue
		}
		if _, n := utf8.DecodeRuneInString(text[i:]); n > 1 {
			return true
		}
		i++
	}
	return kept >= MinValue && kept < len(text)
}

// beyond is the first byte from a place on that is not ASCII; -1 = none.
func beyond(text string, from int) int {
	const step, high = 8, 0x8080808080808080
	for ; from+step <= len(text); from += step {
		if binary.LittleEndian.Uint64([]byte(text[from:from+step]))&high != 0 {
			break
		}
	}
	for ; from < len(text); from++ {
		if text[from] >= utf8.RuneSelf {
			return from
		}
	}
	return -1
}

// flattened looks for secrets in a text whose characters stand for others.
func (s *search) flattened(text string, depth int) (name, form string) {
	text = s.flat(text)
	if text == "" {
		return "", ""
	}
	if hits := s.scan(text); len(hits) > 0 {
		return hits[0].pattern.name, inOtherCharacters
	}
	return s.decoded(text, depth)
}
