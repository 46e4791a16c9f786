package mask

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
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
	form string
	text string
	need int // squeezed characters in a row that are a hit; fewer digits or words are one only if they are all and no digit is beside them
}

// part is how many letters and digits in a row of a value are a hit: a third of it, so that words
// within addresses are none, and eight at least. It is also how many bytes these are, at least.
func part(value string) (letters, bytes int) {
	squeezed := squeeze(value)
	var ends []int
	for at, size := 0, 0; at < len(squeezed); at += size {
		_, size = utf8.DecodeRune(squeezed[at:])
		ends = append(ends, at+size)
	}
	letters, bytes = min(max(gram, (len(ends)+2)/3), len(ends)), len(squeezed)
	for i, from := letters-1, 0; i < len(ends); i++ {
		bytes = min(bytes, ends[i]-from)
		from = ends[i+1-letters]
	}
	return letters, bytes
}

// partOf is how many characters a part of a value has in a spelling, at least; it may share one with what is beside it.
func partOf(value string, spell func(string) string) int {
	need, _ := part(value)
	if beyond(value, 0) < 0 {
		return need
	}
	least := len(spell(value))
	runes := []rune(string(squeeze(value)))
	for i := need; i <= len(runes); i++ {
		least = min(least, characters(squeeze(spell(string(runes[i-need:i])))))
	}
	return max(need, least-1)
}

// asItIs are the spellings that count as plain: of a value as it is, and as URLs, JSON, HTML and mail have it; with a byte for each
// character that one byte holds, which is Latin-1 if all are such; in UTF-8 that was read as Latin-1; with accents as characters of their own.
func asItIs() []func(value string) string {
	return []func(string) string{
		func(value string) string { return value },
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
func spellings(value string) []spelling {
	letters, n := part(value)
	out := []spelling{{"rot13", strings.Map(rot13, value), letters}}
	if text := (&search{Masker: &Masker{fold: fold(), longest: len(value)}}).flat(value); text != "" {
		out = append(out, spelling{inOtherCharacters, text, letters}, spelling{"characters backwards", backwards(value), letters}, spelling{inOtherCharacters, backwards(text), letters})
	}
	out = append(out,
		spelling{"hex", hex.EncodeToString([]byte(value)), 2 * n},
		spelling{"swapped hex", swapped(value, 0), 2*n - 2},
		spelling{"swapped hex", swapped(value, 1), 2*n - 2},
		spelling{"octal", each(value, "%03o"), 3 * n},
		spelling{"octal", each(value, "%o"), shortest(value, n, "%o")},
		spelling{"binary", each(value, "%08b"), 8 * n},
		spelling{"binary", each(value, "%07b"), 7 * n},
		spelling{"binary", each(value, "%b"), shortest(value, n, "%b")},
		spelling{"decimal", each(value, "%d"), shortest(value, n, "%d")},
		spelling{"decimal", each(value, "%03d"), 3 * n},
		spelling{`\u`, units(value), 5 * letters},
		spelling{`\u`, each(value, "u%x"), 3 * n},
		spelling{`\x`, each(value, "x%02x"), 3 * n},
		spelling{"0x", each(value, "0x%02x"), 4 * n},
		spelling{"escapes of escapes", each(value, "25%02x"), 4 * n}, // %25 is a percent sign
	)
	out = append(out, spelling{"rot47", strings.Map(rot47, value), gram}, spelling{"atbash", strings.Map(atbash, value), letters})
	out = append(out, asNumbers(value)...)
	for offset := range 3 {
		out = append(out, spelling{"base64", shifted(value, offset, 6, base64.RawStdEncoding.EncodeToString), 8*n/6 - 1})
		out = append(out, spelling{"rot13 of base64", strings.Map(rot13, shifted(value, offset, 6, base64.RawStdEncoding.EncodeToString)), 8*n/6 - 1})
		out = append(out, spelling{"utf-7", shifted(utf16BE(value), offset, 6, base64.RawStdEncoding.EncodeToString), 16*letters/6 - 1})
	}
	for offset := range 3 {
		out = append(out, spelling{"uuencode", shifted(value, offset, 6, uu), gram})
	}
	for _, w := range []struct {
		size   int
		format string
		digits int // of a word of letters, at least
		least  int // digits in a row that chance does not bring about
	}{{2, "%06o", 6, 18}, {2, "%d", 4, 18}, {4, "%08x", 8, 16}, {4, "%011o", 11, 22}, {4, "%d", 9, bigDigits}, {8, "%016x", 16, 16}} {
		for offset := range w.size {
			out = append(out, spelling{inWords, words(value, offset, w.size, w.format, lowFirst), max((n-w.size+1)/w.size*w.digits, w.least)})
		}
	}
	for offset := range 4 { // of two bytes and more in hex and octal this order is that of the text
		out = append(out, spelling{inWords, words(value, offset, 4, "%d", highFirst), max((n-3)/4*9, bigDigits)})
	}
	for offset := range 4 {
		for _, alphabet := range []string{ascii85, z85} {
			out = append(out, spelling{"base85", in85(value, offset, alphabet), gram})
		}
	}
	for offset := range 5 {
		for _, alphabet := range []*base32.Encoding{base32.StdEncoding, base32.HexEncoding} {
			out = append(out, spelling{"base32", shifted(value, offset, 5, alphabet.WithPadding(base32.NoPadding).EncodeToString), 8*n/5 - 1})
		}
	}
	return out
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

// swapped is hex as od -x writes it on this kind of machines, from an even or odd place.
func swapped(value string, offset int) string {
	var b strings.Builder
	for i := offset; i+1 < len(value); i += 2 {
		fmt.Fprintf(&b, "%02x%02x", value[i+1], value[i])
	}
	return b.String()
}

// inWords is the form of a value in numbers of several bytes.
const inWords = "words"

// bigDigits are the digits of two decimal words of four letters, at least.
const bigDigits = 2 * 9

// order is that of the bytes of a word: as od writes them on this kind of machines, or as they are sent.
type order int

const (
	lowFirst order = iota
	highFirst
)

// words are numbers of some bytes, from a place on.
func words(value string, offset, size int, format string, from order) string {
	var b strings.Builder
	for ; offset+size <= len(value); offset += size {
		v := uint64(0)
		for i := range size {
			at := offset + i
			if from == lowFirst {
				at = offset + size - 1 - i
			}
			v = v<<8 | uint64(value[at])
		}
		fmt.Fprintf(&b, format, v)
	}
	return b.String()
}

// shortest is the length of the shortest spelling of n bytes of a value beside each other: in decimal, most small letters have
// three digits, and capitals two.
func shortest(value string, n int, format string) int {
	least := len(each(value[:n], format))
	for i, length := n, least; i < len(value); i++ {
		length += len(each(value[i:i+1], format)) - len(each(value[i-n:i-n+1], format))
		least = min(least, length)
	}
	return least
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
func shifted(value string, offset, bits int, encode func([]byte) string) string {
	text := encode(append(make([]byte, offset), value...))
	first := (offset*8 + bits - 1) / bits
	last := (offset + len(value)) * 8 / bits
	return text[min(first, last):last]
}
