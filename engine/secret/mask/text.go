package mask

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"io"
	"slices"
	"strings"
)

// Found is what a text had.
type Found struct {
	Plain []string // names of secrets that were replaced
	// Withhold names a secret that the text spells in another form, and the form; "" = none.
	Withhold, Form string
}

// Any reports whether there was anything.
func (f *Found) Any() bool { return len(f.Plain) > 0 || f.Withhold != "" }

// Text masks a text.
func (m *Masker) Text(text string) (string, Found) { return m.After("", text) }

// After masks a text that follows another one, in which a secret may have begun.
func (m *Masker) After(before, text string) (string, Found) {
	var f Found
	if m == nil || len(m.patterns) == 0 {
		return text, f
	}
	whole := before + text
	hits := slices.DeleteFunc(m.scan(whole), func(h hit) bool { return h.end <= len(before) })
	for i, h := range hits {
		if h.pattern.form != Plain {
			f.Withhold, f.Form = h.pattern.name, h.pattern.form
			return text, f
		}
		hits[i].start, hits[i].end = max(h.start-len(before), 0), h.end-len(before)
	}
	left := maxDecoded
	if name, form := m.decoded(whole, 0, &left); name != "" {
		f.Withhold, f.Form = name, form
		return text, f
	}
	masked := replace(text, hits, &f)
	if name, form := m.flattened(masked, 0, &left); name != "" {
		return text, Found{Withhold: name, Form: form}
	}
	return masked, f
}

func replace(text string, hits []hit, f *Found) string {
	if len(hits) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, h := range hits {
		if h.end <= at {
			continue
		}
		if h.start >= at {
			b.WriteString(text[at:h.start])
			b.WriteString("$KARYI{" + h.pattern.name + "}")
		}
		at = h.end
		if !slices.Contains(f.Plain, h.pattern.name) {
			f.Plain = append(f.Plain, h.pattern.name)
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

const (
	maxDepth   = 3       // of codes within codes
	maxDecoded = 1 << 20 // bytes that are decoded of one text
	minCoded   = 12      // characters that may be a code
)

// decoded looks for secrets in what a text has in base64 or hex, or compressed.
func (m *Masker) decoded(text string, depth int, left *int) (name, form string) {
	if depth >= maxDepth {
		return "", ""
	}
	if plain, form := unpacked(text, *left); plain != "" {
		*left -= len(plain)
		return m.inner(plain, form, depth, left)
	}
	table := m.codes
	first, n, mixed := 0, 0, byte(0) // of a word: where it may begin, its letters, their classes
	for i := 0; i <= len(text); i++ {
		class := byte(0)
		if i < len(text) {
			class = table[text[i]]
		}
		switch {
		case class&letter != 0:
			n++
			mixed |= class
		case class != 0: // the end of a line, or padding
		default:
			if n >= minCoded && mixed != lower|letter && mixed != upper|letter {
				if name, form = m.word(m.letters(text[first:i], n), depth, left); name != "" {
					return name, form
				}
			}
			first, n, mixed = i+1, 0, 0
		}
	}
	return "", ""
}

// letters are the n letters of a code, without what may stand between them.
func (m *Masker) letters(text string, n int) []byte {
	word := make([]byte, 0, n)
	for i := range len(text) {
		if m.codes[text[i]]&letter != 0 {
			word = append(word, text[i])
		}
	}
	return word
}

// Classes of characters of codes. A word of lower or of upper case alone is none.
const (
	letter = 1 << iota // of the alphabet
	lower
	upper
	other
	passed // may stand within a code
)

func codes() *[256]byte {
	t := new([256]byte)
	for c := range 256 {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = letter | lower
		case 'A' <= c && c <= 'Z':
			t[c] = letter | upper
		case '0' <= c && c <= '9', c == '+', c == '/', c == '-', c == '_':
			t[c] = letter | other
		case c == '=', c == '\n', c == '\r':
			t[c] = passed
		}
	}
	return t
}

// word decodes what looks like a code. It changes the word.
func (m *Masker) word(word []byte, depth int, left *int) (name, form string) {
	if *left -= len(word); *left <= 0 {
		return "", ""
	}
	plain := make([]byte, len(word))
	if len(word)%2 == 0 {
		if _, err := hex.Decode(plain, word); err == nil {
			if name, form = m.inner(string(plain[:len(word)/2]), "hex", depth, left); name != "" {
				return name, form
			}
		}
	}
	for i, c := range word {
		switch c {
		case '-':
			word[i] = '+'
		case '_':
			word[i] = '/'
		}
	}
	if len(word)%4 == 1 {
		word = word[:len(word)-1]
	}
	n, err := base64.RawStdEncoding.Decode(plain, word)
	if err != nil {
		return "", ""
	}
	return m.inner(string(plain[:n]), "base64", depth, left)
}

func (m *Masker) inner(plain, form string, depth int, left *int) (string, string) {
	if hits := m.scan(plain); len(hits) > 0 {
		return hits[0].pattern.name, form + " of " + hits[0].pattern.form
	}
	name, inner := m.decoded(plain, depth+1, left)
	if name == "" {
		name, inner = m.flattened(plain, depth+1, left)
	}
	if name == "" {
		return "", ""
	}
	return name, form + " of " + inner
}

// unpacked gives what can be read of a text that is compressed, and how it is.
func unpacked(text string, most int) (plain, form string) {
	var r io.Reader
	var err error
	switch {
	case strings.HasPrefix(text, "\x1f\x8b"):
		form = "gzip"
		r, err = gzip.NewReader(strings.NewReader(text))
	case strings.HasPrefix(text, "\x78"):
		form = "zlib"
		r, err = zlib.NewReader(strings.NewReader(text))
	case strings.HasPrefix(text, "BZh"):
		form = "bzip2"
		r = bzip2.NewReader(strings.NewReader(text))
	}
	if form == "" || err != nil {
		return "", ""
	}
	var b bytes.Buffer
	_, _ = io.Copy(&b, io.LimitReader(r, int64(max(most, 0)))) // what there is before a fault counts
	return b.String(), form
}
