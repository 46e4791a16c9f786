package mask

import (
	"bytes"
	"encoding/base32"
	"encoding/binary"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	minEscapes = 2  // in one part of a text that may be a code; what one escape spells is a value at most
	maxLiteral = 64 // bytes between two escapes of a part, and around it
	minNumbers = 5  // in a row: of two bytes each they are what eight characters are in a code
	minRow     = 24 // characters of a row
	maxBetween = 3  // signs between two numbers of a row
	minWide    = 17 // digits of a number of eight bytes that may be letters
	wideOctal  = 22
)

// respelled looks for secrets in parts of a text that are written in escapes, of URLs, JSON, HTML, mail and C, and in
// rows of numbers: bytes in hex, octal, decimal or binary. What they spell may be a code. A plain value in them is a
// spelling of its own.
func (s *search) respelled(text string, depth int) (name, form string) {
	if depth > 0 && !utf8.ValidString(text) {
		return "", "" // most words that are decoded are no codes, and what comes of them is no text
	}
	var out []byte
	last, count := 0, 0 // the end of the last escape of the part, and how many it has
	flush := func() bool {
		if count > 0 {
			out = append(out, text[last:min(last+maxLiteral, len(text))]...)
		}
		if count >= minEscapes && s.left > len(out) {
			s.left -= len(out)
			name, form = s.inner(string(out), "escapes", depth)
		} else if count > 0 {
			if hits := s.scan(string(out)); len(hits) > 0 {
				name, form = hits[0].pattern.name, "escapes of "+hits[0].pattern.form
			}
		}
		out, count = out[:0], 0
		return name != ""
	}
	for i := 0; i < len(text); i++ {
		if s.escape[text[i]]&begins == 0 {
			continue
		}
		r, size := unescaped(text[i:])
		if size == 0 && count > 0 {
			r, size = signed(text[i:])
		}
		if size == 0 {
			continue
		}
		if i-last > maxLiteral {
			if flush() {
				return name, form
			}
			last = i - min(i, maxLiteral)
		}
		out, count = appendNarrow(append(out, text[last:i]...), r), count+1
		last, i = i+size, i+size-1
	}
	if flush() {
		return name, form
	}
	return s.numbers(text, depth)
}

// What a character may be.
const (
	begins = 1 << iota // an escape
	inRow              // of numbers: digits in hex, the letters of 0x and 0o, the n behind those of JavaScript, and signs
)

func escapes() *[256]byte {
	t := new([256]byte)
	squeezed := fold()
	for c := range utf8.RuneSelf {
		if b := byte(c); value(b) < 16 || b|0x20 == 'x' || b|0x20 == 'o' || b == 'n' || squeezed[b] == 0 {
			t[b] = inRow
		}
	}
	for _, c := range []byte(`%=\&`) {
		t[c] |= begins
	}
	return t
}

// unescaped reads an escape at the beginning of a text; size 0 = there is none.
func unescaped(text string) (r rune, size int) {
	head, rest := text[0], text[1:]
	switch {
	case head == '%' && rest != "" && rest[0] == 'u':
		return unit(text)
	case head == '%' || head == '=':
		return digits(rest, 2, 2, 16, 1)
	case head == '&':
		if len(rest) < 2 || rest[0] != '#' {
			return named(rest)
		}
		if rest[1] == 'x' || rest[1] == 'X' {
			r, size = digits(rest[2:], 1, 6, 16, 3)
		} else {
			r, size = digits(rest[1:], 1, 7, 10, 2)
		}
		if size > 0 && size < len(text) && text[size] == ';' {
			size++
		}
		return r, size
	case rest == "":
		return 0, 0
	case rest[0] == 'x':
		return digits(rest[1:], 2, 2, 16, 2)
	case rest[0] == 'u':
		return unit(text)
	case rest[0] == 'U':
		return digits(rest[1:], 8, 8, 16, 2)
	}
	return digits(rest, 3, 3, 8, 1)
}

// unit reads an escape of a unit of UTF-16, or of the two of a character.
func unit(text string) (r rune, size int) {
	r, size = digits(text[2:], 4, 4, 16, 2)
	if size > 0 && utf16.IsSurrogate(r) && strings.HasPrefix(text[size:], text[:2]) {
		low, more := digits(text[size+2:], 4, 4, 16, 2)
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, size + more
		}
	}
	return r, size
}

// signed reads an escape of JSON, C or Python that has a sign or a letter in place of digits. In a text these stand for themselves nearly
// always; among others they are bytes of a code. One backslash more is that of JSON within JSON.
func signed(text string) (r rune, size int) {
	if text[0] != '\\' || len(text) < 2 {
		return 0, 0
	}
	c := text[1]
	if c == '\\' {
		if r, size = unescaped(text[1:]); size > 0 {
			return r, size + 1
		}
	}
	if strings.IndexByte(`\'"/`, c) < 0 && control(c) == c {
		return 0, 0
	}
	return rune(control(c)), 2
}

// named reads the name of a character in HTML and the semicolon behind it.
func named(text string) (r rune, size int) {
	const longest = 10 // of the letters of Europe
	end := strings.IndexByte(text[:min(len(text), longest)], ';')
	if end < 2 {
		return 0, 0
	}
	spelled := html.UnescapeString("&" + text[:end+1])
	if r, size = utf8.DecodeRuneInString(spelled); size < len(spelled) {
		return 0, 0
	}
	return r, 1 + end + 1
}

// digits reads a number of so many digits; head is what stands before it.
func digits(text string, least, most, base, head int) (r rune, size int) {
	n := 0
	for n < min(most, len(text)) && value(text[n]) < base {
		r = r*rune(base) + rune(value(text[n]))
		n++
	}
	if n < least || r < 0 || r > utf8.MaxRune {
		return 0, 0
	}
	return r, head + n
}

// value is that of a digit; 16 = it is none.
func value(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return 16
}

// numbers looks at the parts of a text in which rows of numbers can stand. Like [Masker.coded] it does not look at every
// character.
func (s *search) numbers(text string, depth int) (name, form string) {
next:
	for from := 0; from+minRow <= len(text); {
		for i := from + minRow - 1; i >= from; i-- {
			if s.escape[text[i]]&inRow == 0 {
				from = i + 1
				continue next
			}
		}
		end := from + minRow
		for end < len(text) && s.escape[text[end]]&inRow != 0 {
			end++
		}
		begin := from
		for begin > 0 && s.escape[text[begin-1]]&inRow != 0 { // a jump may have passed by some
			begin--
		}
		if name, form = s.rows(text[begin:end], depth); name != "" {
			return name, form
		}
		from = end + 1
	}
	return "", ""
}

// rows looks at the rows of numbers of a part.
func (s *search) rows(text string, depth int) (name, form string) {
	row := s.words
	s.words = nil // a row may spell others
	longest := 0
	defer func() { s.words = row[:0] }()
	for i, last := 0, 0; i <= len(text); {
		if i < len(text) && s.fold[text[i]] == 0 {
			i++
			continue
		}
		begin := i
		for i < len(text) && s.fold[text[i]] != 0 {
			i++
		}
		word := text[begin:i]
		longest = max(longest, len(word))
		if len(word) > 1 && word[len(word)-1] == 'n' {
			word = word[:len(word)-1]
		}
		prefix := false
		if word != "" && word[0] == '0' {
			_, prefix = unprefixed(word, 16)
		}
		number := prefix || word != "" && len(word) <= 8 && numeric(word, 16)
		if !number || begin-last > maxBetween {
			if name, form = s.row(row, depth); name != "" {
				return name, form
			}
			row = row[:0]
		}
		first := begin == 0 || text[begin-1] == '\n'
		if last = i; number && (prefix || !first || len(word) <= 5) { // dumps begin a line by its place
			if len(row) == cap(row) { // a row of many is not copied often
				row = slices.Grow(row, min(7*len(row)+minNumbers, (len(text)-begin)/2+1))
			}
			row = append(row, word)
		}
		if i == len(text) {
			break
		}
	}
	if name, form = s.row(row, depth); name != "" {
		return name, form
	}
	if longest < minWide {
		return "", ""
	}
	return s.wideRow(text, depth)
}

// wideRow looks at what rows of numbers of 64 bits spell, from the lowest byte of each and from the highest. The last number
// of a row may be smaller.
func (s *search) wideRow(text string, depth int) (name, form string) {
	var low, high []byte
	for i := 0; i <= len(text) && name == ""; i++ {
		begin := i
		for i < len(text) && s.fold[text[i]] != 0 {
			i++
		}
		word := text[begin:i]
		if len(word) < minWide && (len(low) == 0 || begin == 0 || text[begin-1] == '\n' || strings.HasPrefix(word, "0")) {
			word = "" // a place in a dump, which begins a line or has leading zeros
		}
		v, ok := word64(word)
		if ok {
			if begin > 0 && text[begin-1] == '-' {
				v = -v
			}
			low, high = binary.LittleEndian.AppendUint64(low, v), binary.BigEndian.AppendUint64(high, v)
		}
		if i < len(text) && (word == "" || ok && len(word) >= minWide) {
			continue
		}
		if len(low) > 0 && len(low) < s.left {
			s.left -= len(low) // for both orders
			if name, form = s.inner(string(low), inWords, depth); name == "" {
				name, form = s.inner(string(high), inWords, depth)
			}
		}
		low, high = low[:0], high[:0]
	}
	return name, form
}

// word64 reads a number of 64 bits: in octal if it has the 22 digits of od, else in decimal.
func word64(word string) (v uint64, ok bool) {
	base := 10
	if len(word) == wideOctal {
		base = 8
	}
	if word == "" || !numeric(word, base) { // faster than an error
		return 0, false
	}
	v, err := strconv.ParseUint(word, base, 64)
	return v, err == nil
}

// unprefixed is a number without what says its base: 0x, 0o, 0b. prefix = it says one; digits "" = that is not this base, where
// nothing but 0b can be meant otherwise.
func unprefixed(word string, base int) (digits string, prefix bool) {
	if len(word) <= 2 || word[0] != '0' {
		return word, false
	}
	most, of := 0, 0
	switch word[1] | 0x20 {
	case 'x':
		most, of = 8, 16
	case 'o':
		most, of = 4, 8
	case 'b':
		most, of = 8, 2
	}
	digits = word[2:]
	if of == 0 || len(digits) > most || strings.ContainsFunc(digits, func(c rune) bool { return value(byte(c)) >= of }) {
		return word, false
	}
	switch {
	case of == base:
		return digits, true
	case of == 2 && len(word) <= 8:
		return word, true // in hex it may be several bytes
	}
	return "", true
}

// inDigits reports whether a row may spell a value in another base than hex: it has words enough in succession that begin and
// end with a decimal digit.
func inDigits(row []string) bool {
	n := 0
	for _, word := range row {
		if n++; value(word[0]) >= 10 || value(word[len(word)-1]) >= 10 {
			n = 0
		}
		if n == minCoded {
			return true
		}
	}
	return false
}

// row looks at what a row of numbers spells, whichever numbers they are. A word of hex may stand before it, and among them.
func (s *search) row(row []string, depth int) (name, form string) {
	if len(row) < minNumbers {
		return "", ""
	}
	bases := []struct {
		form              string
		base, least, most int // digits of a byte
	}{{"hex", 16, 2, 2}, {"decimal", 10, 1, 4}, {"octal", 8, 2, 4}, {"binary", 2, 6, 8}}
	if !inDigits(row) {
		bases = bases[:1]
	}
	for _, x := range bases {
		for rest := row; len(rest) > 0; {
			if s.bytes, rest = bytesOf(s.bytes[:0], rest, x.base, x.least, x.most); len(s.bytes) < minCoded || s.left <= len(s.bytes) {
				continue
			}
			s.left -= len(s.bytes)
			if name, form = s.inner(string(s.bytes), x.form, depth); name != "" {
				return name, form
			}
		}
	}
	return "", ""
}

// bytesOf appends the bytes that numbers stand for, up to one that is another, and gives the numbers behind that. A number in hex
// may have several.
func bytesOf(out []byte, row []string, base, least, most int) (bytes []byte, rest []string) {
	for i, word := range row {
		if word[0] == '0' {
			word, _ = unprefixed(word, base)
		}
		if base == 16 && word != "" && len(word)%2 == 0 {
			for i := 0; i < len(word); i += 2 { // its digits have been looked at
				out = append(out, byte(value(word[i])<<4|value(word[i+1])))
			}
			continue
		}
		if base == 16 || len(word) < least || len(word) > most {
			return out, row[i+1:]
		}
		n := 0
		for j := range len(word) {
			v := value(word[j])
			if n = n*base + v; v >= base || n > 0xff {
				return out, row[i+1:]
			}
		}
		out = append(out, byte(n))
	}
	return out, nil
}

// in32 decodes a word of base32, in capitals or in small letters alone; nil = it is none.
func in32(word []byte) []byte {
	for _, c := range word {
		if (c < '2' || c > '7') && (c|0x20 < 'a' || c|0x20 > 'z' || c&0x20 != word[0]&0x20 && word[0] > '7') {
			return nil
		}
	}
	upper := bytes.ToUpper(word)
	switch len(upper) % 8 { // a text that is cut off
	case 1, 3, 6:
		upper = upper[:len(upper)-1]
	}
	plain := make([]byte, len(upper))
	n, err := base32.StdEncoding.WithPadding(base32.NoPadding).Decode(plain, upper)
	if err != nil {
		return nil
	}
	return plain[:n]
}
