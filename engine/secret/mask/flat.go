package mask

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// inOtherCharacters is the form of a value in characters that mean the same: full-width,
// bold, circled letters; letters with accents, or with what cannot be seen between them.
const inOtherCharacters = "compatible characters"

// foreign stands in a flat text for letters and digits that no secret has. No value has this control character.
const foreign = "\u0080"

// flat is a text in plain characters: what stands for another one is that one, and only
// letters, digits and the signs of ASCII are left. What is far from every character beyond
// ASCII, in letters and digits, is left out, since it is searched as it is; "" = that is all.
func (s *search) flat(text string) string {
	if len(text) <= maxWord && !s.mayStand(text) {
		return ""
	}
	var b strings.Builder
	around := 2 * s.longest
	for at := 0; at < len(text); {
		first := beyond(text, at)
		if first < 0 {
			break
		}
		from, to := first, first
		for left := around; from > at && left > 0; {
			if from--; s.fold[text[from]] != 0 {
				left--
			}
		}
		for left := around; to < len(text) && left > 0; {
			c := text[to]
			if to++; c >= utf8.RuneSelf {
				left = around
			} else if s.fold[c] != 0 {
				left--
			}
		}
		at = to // behind ASCII, or at the end
		b.Grow(to - from)
		s.flatten(&b, text[from:to])
	}
	return b.String()
}

// flatten appends a part of a text in plain characters. Compatible characters are decomposed one by one: the order of
// marks, which depends on those beside them, is of no account, because marks are left out.
func (s *search) flatten(b *strings.Builder, text string) {
	if want := 1 << min(max(bits.Len(uint(len(text)))-6, 4), meanings); len(s.means) < want {
		s.means = make([]meaning, want)
	}
	const first, last = 0xC2, 0xF4 // bytes of UTF-8 that begin a character
	for i := 0; i < len(text); {
		c := text[i]
		if c < first || c > last {
			if i++; c < utf8.RuneSelf {
				b.WriteByte(c)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if i += n; n == 1 {
			continue
		}
		if plain := s.meaning(r); plain != foreign || !strings.HasSuffix(b.String(), foreign) {
			b.WriteString(plain)
		}
	}
}

// meanings bounds how many characters a search remembers the meaning of, as a power of two: all of two bytes.
const meanings = 11

// meaning is what a character beyond ASCII stands for in a flat text.
func (s *search) meaning(r rune) string {
	known := &s.means[int(r)&(len(s.means)-1)]
	if known.of != r {
		*known = meaning{r, s.decomposed(r)}
	}
	return known.plain
}

type meaning struct {
	of    rune
	plain string
}

func (m *Masker) decomposed(r rune) string {
	var b strings.Builder
	text := string(r)
	if !norm.NFKD.IsNormalString(text) {
		text = norm.NFKD.String(text)
	}
	for _, r := range text {
		// Nobody sees these, but programs read them: tags stand for ASCII, what selects a
		// variation for any byte.
		if 0xE0100 <= r && r < 0xE01F0 {
			b.WriteByte(byte(r - 0xE0100 + 16))
			continue
		}
		if 0xE0000 <= r && r < 0xE0080 {
			r -= 0xE0000
		}
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
		case m.beyond == nil || m.beyond[r] != 0:
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), foreign):
			b.WriteString(foreign)
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
	if name, form = s.inUnits(text); name != "" {
		return name, form
	}
	if text = s.flat(text); text == "" {
		return "", ""
	}
	if hits := s.scan(text); len(hits) > 0 {
		return hits[0].pattern.name, inOtherCharacters
	}
	return s.decoded(text, depth)
}
