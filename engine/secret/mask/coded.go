package mask

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth   = 3       // of codes within codes
	maxDecoded = 1 << 20 // bytes that are decoded of one text
	minCoded   = 12      // characters that may be a code

	minCapitals = 40 // that may be one without digits
)

// search is what decodes the codes of one text.
type search struct {
	*Masker
	left   int            // bytes that are decoded still, never below 0
	packed strings.Reader // what inflate reads
	room   bytes.Buffer   // for what is unpacked
	flate  io.ReadCloser  // made at the first use; most of what it is asked about is no deflate
	gzip   gzip.Reader
	means  []meaning
	words  []string // room for the numbers of a row
	bytes  []byte   // room for what they stand for
}

// inflate gives what can be read of a stream of deflate.
func (s *search) inflate(text string) io.Reader {
	s.packed.Reset(text)
	if s.flate == nil {
		s.flate = flate.NewReader(&s.packed)
		return s.flate
	}
	_ = s.flate.(flate.Resetter).Reset(&s.packed, nil) // of what NewReader made, it never fails
	return s.flate
}

// decoded looks for secrets in what a text has in base64, hex or uuencode, or compressed.
func (s *search) decoded(text string, depth int) (name, form string) {
	if depth >= maxDepth {
		return "", ""
	}
	left := s.left
	if name, form = s.unpacked(text, depth); name != "" {
		return name, form
	}
	if depth == 0 {
		s.left = left // what else the text has is searched as without what is compressed
	}
	if plain := uudecoded(text); len(plain) >= MinValue && s.left > len(plain) {
		s.left -= len(plain)
		if name, form := s.inner(plain, "uuencode", depth); name != "" {
			return name, form
		}
	}
	for at := 0; ; {
		from, to := s.coded(text, at)
		if from == to {
			return s.respelled(text, depth)
		}
		part := text[from:to]
		for part != "" {
			if word := s.letters(part); word != nil {
				if name, form = s.word(word, depth); name != "" {
					return name, form
				}
			}
			part = assigned(part)
		}
		at = to + 1
	}
}

// assigned is what stands behind the last equals sign within a part, which may follow a name and not be padding; "" = there is none.
func assigned(part string) string {
	if strings.IndexByte(part, '=') < 0 { // faster than from the end
		return ""
	}
	part = strings.TrimRight(part, "=\r\n")
	at := strings.LastIndexByte(part, '=')
	if at < 0 || len(part)-at < minCoded {
		return ""
	}
	return part[at+1:]
}

// coded is the next part of a text, from a place on, in which characters of codes stand for
// long enough; from == to = there is none. It looks at every twelfth character where there are no codes.
func (m *Masker) coded(text string, from int) (start, end int) {
	table := m.codes
next:
	for from+minCoded <= len(text) {
		for i := from + minCoded - 1; i >= from; i-- {
			if table[text[i]] == 0 {
				from = i + 1
				continue next
			}
		}
		end = from + minCoded
		for end < len(text) && table[text[end]] != 0 {
			end++
		}
		return from, end
	}
	return 0, 0
}

// letters are the letters of a code, without what may stand between them; nil = it is none.
func (m *Masker) letters(text string) []byte {
	n, classes := 0, byte(0)
	for i := range len(text) {
		class := m.codes[text[i]]
		n += int(class & letter)
		classes |= class
	}
	if classes &^= passed; n < minCoded || classes == lower|letter || classes == upper|letter && n < minCapitals {
		return nil
	}
	word := make([]byte, 0, n)
	for i := range len(text) {
		if m.codes[text[i]]&letter != 0 {
			word = append(word, text[i])
		}
	}
	return word
}

// Classes of characters of codes. A word of lower case alone is none, and one of upper case if it is short.
const (
	letter = 1 << iota // of the alphabet; the lowest bit, which is counted
	lower
	upper
	other
	passed // may stand within a code: the end of a line, padding
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
func (s *search) word(word []byte, depth int) (name, form string) {
	if s.left <= len(word) {
		return "", ""
	}
	s.left -= len(word)
	plain := make([]byte, len(word))
	if len(word)%2 == 0 {
		if _, err := hex.Decode(plain, word); err == nil {
			if name, form = s.inner(string(plain[:len(word)/2]), "hex", depth); name != "" {
				return name, form
			}
		}
	}
	if plain := in32(word); len(plain) >= MinValue {
		if name, form = s.inner(string(plain), "base32", depth); name != "" {
			return name, form
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
	n, _ := base64.RawStdEncoding.Decode(plain, whole(word)) // a word has no other letters
	if name, form = s.inner(string(plain[:n]), "base64", depth); name != "" {
		return name, form
	}
	return s.behind(word, depth)
}

// whole is base64 without a last letter that is no byte.
func whole(word []byte) []byte {
	if len(word)%4 == 1 {
		return word[:len(word)-1]
	}
	return word
}

func (s *search) inner(plain, form string, depth int) (string, string) {
	if hits := s.scan(plain); len(hits) > 0 {
		return hits[0].pattern.name, form + " of " + hits[0].pattern.form
	}
	name, inner := s.decoded(plain, depth+1)
	if name == "" {
		name, inner = s.flattened(plain, depth+1)
	}
	if name == "" {
		return "", ""
	}
	return name, form + " of " + inner
}

// unpacked looks for secrets in what a text has compressed, wherever that begins. Deflate without a head is looked for at the beginning of
// what was decoded only: a text has lost its bytes.
func (s *search) unpacked(text string, depth int) (name, form string) {
	if depth > 0 && maybeDeflate(text) {
		if name, form, _ = s.unpack(text, "deflate", depth); name != "" {
			return name, form
		}
	}
	for _, of := range []struct{ form, head string }{{"gzip", "\x1f\x8b\x08"}, {"zlib", "x"}, {"bzip2", "BZh"}, {"zip", zipHead}} {
		for rest := text; s.left > 0; {
			at := strings.Index(rest, of.head)
			if at < 0 {
				break
			}
			rest = rest[at:]
			taken := len(of.head)
			if starts(rest, of.form) {
				if name, form, taken = s.unpack(rest, of.form, depth); name != "" {
					return name, form
				}
			}
			rest = rest[min(max(taken, len(of.head)), len(rest)):]
		}
	}
	return "", ""
}

// starts reports whether a text that has the head of a form may be one.
func starts(text, form string) bool {
	const zlibHead, bzipHead, some = 2, 10, 16
	switch form {
	case "zlib":
		return len(text) > zlibHead && strings.IndexByte("\x01\x5e\x9c\xda", text[1]) >= 0 && maybeDeflate(text[zlibHead:min(zlibHead+some, len(text))])
	case "bzip2":
		return len(text) > bzipHead && text[4:bzipHead] == "1AY&SY"
	}
	return true
}

// unpack looks for secrets in what a text is that is compressed. taken is how many bytes of it that was. What there is before a fault counts.
func (s *search) unpack(text, form string, depth int) (name, in string, taken int) {
	least := 64 // bytes that an attempt counts as, since it takes its time
	var r io.Reader
	s.packed.Reset(text)
	s.room.Reset()
	switch form {
	case "zip":
		s.unzip(text)
		taken = len(text)
	case "gzip":
		if s.gzip.Reset(&s.packed) == nil {
			s.gzip.Multistream(false)
			r = &s.gzip
		}
	case "zlib":
		r = s.inflate(text[2:])
	case "bzip2":
		r, least = bzip2.NewReader(&s.packed), 1<<16 // it needs memory
	default:
		r, least = s.inflate(text), 0 // of every word
	}
	if r != nil {
		_, _ = s.room.ReadFrom(io.LimitReader(r, int64(s.left)))
		taken = len(text) - s.packed.Len()
	}
	s.left -= min(max(s.room.Len(), least), s.left)
	if s.room.Len() < MinValue && form != "zip" { // whose files have all been unpacked
		return "", "", 0
	}
	name, in = s.inner(s.room.String(), form, depth)
	return name, in, taken
}

// zipHead begins each file of a zip.
const zipHead = "PK\x03\x04"

// unzip unpacks what the files of a zip have that are compressed; others are searched as they are.
func (s *search) unzip(text string) {
	const head, deflate = 30, 8 // bytes before the name; the method
	for {
		at := strings.Index(text, zipHead)
		if at < 0 || len(text)-at < head {
			return
		}
		text = text[at:]
		field := func(at int) int { return int(text[at]) | int(text[at+1])<<8 }
		begin := min(head+field(26)+field(28), len(text))
		if field(8) == deflate {
			_, _ = s.room.ReadFrom(io.LimitReader(s.inflate(text[begin:]), int64(s.left-s.room.Len())))
		}
		text = text[begin:]
	}
}

// maybeDeflate reports whether bytes may be a stream of deflate: no text, and begun by a block
// of codes, which compressors write for what has as many bytes as a secret.
func maybeDeflate(text string) bool {
	const fixed, dynamic = 1, 2
	if len(text) < MinValue || utf8.ValidString(text) {
		return false
	}
	block := text[0] >> 1 & 3
	return block == fixed || block == dynamic && codeOfLengths(text)
}

// codeOfLengths reports whether the head of a block of deflate has a code in which the lengths of other codes can be
// written: one that leaves no word unused, but for a single word. Chance nearly never brings one about.
func codeOfLengths(text string) bool {
	const head, longest, one = 17, 7, 64 // bits before the lengths; of a word; the share of a word of one bit
	var v [16]byte
	copy(v[:], text)
	low, high := binary.LittleEndian.Uint64(v[:]), binary.LittleEndian.Uint64(v[8:])
	n := int(low>>13&15) + 4
	low, high = low>>head|high<<(64-head), high>>head
	used, words := 0, 0
	for range n {
		if length := low & 7; length > 0 {
			used, words = used+1<<(longest-length), words+1
		}
		low, high = low>>3|high<<61, high>>3
	}
	return used == 1<<longest || words == 1 && used == one
}

// uudecoded gives what the lines of a text that look like uuencode stand for.
func uudecoded(text string) string {
	var b []byte
	for len(text) > 0 {
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			end = len(text)
		}
		b = uuline(b, text[:end])
		text = text[min(end+1, len(text)):]
	}
	return string(b)
}

// uuline appends what a line stands for: its first character says how many bytes, and four
// characters follow for three of them. Some writers add one that is a sum.
func uuline(b []byte, line string) []byte {
	if line == "" || line[0] <= ' ' || line[0] > '`' {
		return b
	}
	n := int(line[0]-' ') & 63
	want := 1 + (n+2)/3*4
	if n == 0 || len(line) < want || len(line) > want+2 {
		return b
	}
	for i := 1; i < want; i++ {
		if line[i] < ' ' || line[i] > '`' {
			return b
		}
	}
	at := len(b)
	for i := 1; i < want; i += 4 {
		w := uint32(0)
		for _, c := range []byte(line[i : i+4]) {
			w = w<<6 | uint32(c-' ')&63
		}
		b = append(b, byte(w>>16), byte(w>>8), byte(w))
	}
	return b[:at+n]
}
