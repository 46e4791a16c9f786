package mask

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// spelling is a value in another form.
type spelling struct {
	form    string
	text    string
	need    int // letters of the value that are a hit
	least   int // squeezed characters of a hit; a text that has fewer digits or words is one only if they are all and no digit is beside them
	letters letters
	of      []int // the places in the value of the letters of the text, squeezed, that stand for themselves; -1 = it is another
}

// part is how many letters and digits in a row of a value are a hit: a third of it, so that words
// within addresses are none, and eight at least.
func part(value string) int {
	n := utf8.RuneCount(squeeze(value))
	return min(max(gram, (n+2)/3), n)
}

// asItIs are the spellings that count as plain: of a value as it is, and as URLs, JSON, HTML and mail have it; with a byte for each
// character that one byte holds, which is Latin-1 if all are such; in UTF-8 that was read as Latin-1; with accents as characters of their own.
func asItIs() []func(value string) string {
	return []func(string) string{
		itself,
		escaped,
		func(value string) string { return strings.ReplaceAll(escaped(value), " ", "%20") },
		func(value string) string { quoted, _ := json.Marshal(value); return string(quoted) }, // of a string it never fails
		html.EscapeString,
		func(value string) string { return utf7(value, mailed) },
		inASCII,
		narrow,
		func(value string) string { return narrow(strings.ToLower(value)) }, // bytes have no case
		func(value string) string { return narrow(strings.ToUpper(value)) },
		wide,
		norm.NFC.String,
		norm.NFD.String,
		func(value string) string { return strings.ReplaceAll(value, "ß", "ss") }, // in capitals
	}
}

// spellings are all others.
func spellings(value string) (out []spelling) {
	need := part(value)
	letters := func(form, value string, spell func(string) string, least int) {
		out = append(out, inLetters(form, value, spell, need, least))
	}
	letters("rot13", value, inRunes(rot13), 0)
	flat := func(text string) string {
		var b strings.Builder
		(&search{Masker: &Masker{}}).flatten(&b, text)
		return b.String()
	}
	if beyond(value, 0) >= 0 { // with a word of eight letters that only the value has accents in, texts are full of it
		letters(inOtherCharacters, value, flat, gram+1)
		letters("characters backwards", backwards(value), itself, 0)
		letters(inOtherCharacters, backwards(flat(value)), itself, gram+1)
	}
	for _, format := range []string{"%08b", "%07b", "%b"} {
		letters("binary", value, func(value string) string { return each(value, format) }, bitGram)
	}
	for _, x := range []struct{ form, format string }{
		{"hex", "%02x"}, {"octal", "%03o"}, {"octal", "%o"}, {"decimal", "%d"}, {"decimal", "%03d"}, {`\u`, "u%x"}, {`\x`, "x%02x"}, {"0x", "0x%02x"},
		{"escapes of escapes", "25%02x"}, // %25 is a percent sign
	} {
		letters(x.form, value, func(value string) string { return each(value, x.format) }, 0)
	}
	letters(`\u`, value, units, 0)
	letters("rot47", value, inRunes(rot47), 0)
	letters("atbash", value, inRunes(atbash), 0)
	out = append(out, asNumbers(value)...)
	coded := func(form string, code func(string) string, offsets, bits, least int, encode func([]byte) string) {
		m := margin{(bits - 1) * byteParts / 8, (bits - 1) * byteParts / 8, utf8.UTFMax}
		for offset := range offsets {
			out = append(out, inBlocks(form, value, code, shifted(code(value), offset, bits, encode), need, least, m))
		}
	}
	in64 := base64.RawStdEncoding.EncodeToString
	coded("base64", itself, 3, 6, 9, in64)
	coded("rot13 of base64", itself, 3, 6, 9, func(plain []byte) string { return strings.Map(rot13, in64(plain)) })
	coded("utf-7", utf16BE, 3, 6, 20, in64)
	coded("uuencode", itself, 3, 6, gram, uu)
	for _, alphabet := range []*base32.Encoding{base32.StdEncoding, base32.HexEncoding} {
		coded("base32", itself, 5, 5, 11, alphabet.WithPadding(base32.NoPadding).EncodeToString)
	}
	for _, w := range []struct {
		form, format string
		size, least  int // bytes of a word; digits in a row that chance does not bring about
		from         order
	}{
		{"swapped hex", "%04x", 2, 14, lowFirst}, {inWords, "%06o", 2, 18, lowFirst}, {inWords, "%d", 2, 18, lowFirst}, {inWords, "%08x", 4, 16, lowFirst}, {inWords, "%011o", 4, 22, lowFirst}, {inWords, "%d", 4, 18, lowFirst}, {inWords, "%016x", 8, 16, lowFirst},
		{inWords, "%06o", 2, 18, highFirst}, {inWords, "%d", 2, 18, highFirst}, {inWords, "%011o", 4, 22, highFirst}, {inWords, "%d", 4, 18, highFirst}, // in hex this order is that of the text
	} {
		for offset := range w.size {
			out = append(out, inBlocks(w.form, value, itself, words(value, offset, w.size, w.format, w.from), need, w.least, margin{(w.size - 1) * byteParts, (w.size - 1) * byteParts, 2})) // od has 16 bytes in a line, behind its place
		}
	}
	for offset := range 4 {
		for _, alphabet := range []string{ascii85, z85} {
			out = append(out, inBlocks("base85", value, itself, in85(value, offset, alphabet), need, gram, margin{3 * byteParts, 3 * byteParts / 2, utf8.UTFMax}))
		}
	}
	return out
}

func itself(value string) string { return value }

func inRunes(of func(rune) rune) func(string) string {
	return func(value string) string { return strings.Map(of, value) }
}

// backwards reverses characters; patterns are reversed by bytes.
func backwards(text string) string {
	r := []rune(text)
	slices.Reverse(r)
	return string(r)
}

// units are the characters as JavaScript and JSON escape them.
func units(value string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(value)) {
		fmt.Fprintf(&b, "u%04x", u)
	}
	return b.String()
}

func rot13(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case 'A' <= r && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

// escaped is a value as URLs have it.
func escaped(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		c := value[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_.~ ", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// inWords is the form of a value in numbers of several bytes.
const inWords = "words"

// order is that of the bytes of a word: as od writes them on this kind of machines, or as they are sent.
type order int

const (
	lowFirst order = iota
	highFirst
)

// words are numbers of some bytes, from a place on.
func words(value string, offset, size int, format string, from order) (out []block) {
	for ; offset+size <= len(value); offset += size {
		v := uint64(0)
		for i := range size {
			at := offset + i
			if from == lowFirst {
				at = offset + size - 1 - i
			}
			v = v<<8 | uint64(value[at])
		}
		out = append(out, block{fmt.Sprintf(format, v), offset * byteParts, (offset + size) * byteParts, 0})
	}
	return out
}

func each(value, format string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		fmt.Fprintf(&b, format, value[i])
	}
	return b.String()
}

// shifted is what a code of so many bits for each character makes of a value that begins
// at an offset of its blocks, without what depends on the bytes before and behind it.
func shifted(value string, offset, bits int, encode func([]byte) string) []block {
	text := encode(append(make([]byte, offset), value...))
	last := (offset + len(value)) * 8 / bits
	first := min((offset*8+bits-1)/bits, last)
	from := first*bits - offset*8
	return spread(text[first:last], from*byteParts/8, (from+(last-first)*bits)*byteParts/8)
}
