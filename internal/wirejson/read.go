package wirejson

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is that of encoding/json.
const maxDepth = 10_000

// Reader reads one text. After the first error its methods do nothing.
type Reader struct {
	data          []byte
	whole         string // the same, if texts are to be parts of it; "" = they are copies
	at            int
	depth, levels int // how many lists and objects are open, and may be
	err           error
	room          []byte // of the last string
}

// Read reads a text that is one value. The error says what is wrong, and where.
func Read(data []byte, value func(r *Reader)) error { return ReadLevels(data, maxDepth, value) }

// ReadLevels is Read of a text in which no more lists and objects nest than levels.
func ReadLevels(data []byte, levels int, value func(r *Reader)) error {
	r := Reader{data: data, levels: levels}
	return r.read(value)
}

// Read reads another text, as [Read] does.
func (r *Reader) Read(data []byte, value func(r *Reader)) error {
	*r = Reader{data: data, levels: maxDepth, room: r.room}
	return r.read(value)
}

// maxRoom is the size of a room that is kept for another string.
const maxRoom = 64 << 10

// maxShared is how long a string may be whose texts are parts of it: whoever keeps one keeps all.
const maxShared = 256

// ReadString reads a string, as [ReadLevels] does. If that is short, texts in it are parts of it, not copies.
func (r *Reader) ReadString(s string, levels int, value func(r *Reader)) error {
	*r = Reader{levels: levels, room: append(r.room[:0], s...)}
	if r.data = r.room; len(s) <= maxShared {
		r.whole = s
	}
	return r.read(value)
}

func (r *Reader) read(value func(r *Reader)) error {
	value(r)
	if r.peek(); r.err == nil && r.at < len(r.data) {
		r.Fail("more after the value")
	}
	r.data = nil // the caller may use it again
	if cap(r.room) > maxRoom {
		r.room = nil
	}
	return r.err
}

// Fail keeps the first error and ends the reading.
func (r *Reader) Fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s at byte %d", what, r.at)
	}
	r.at = len(r.data)
}

// peek is the first byte of what comes next; 0 = the text has ended.
func (r *Reader) peek() byte {
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// Is reports whether the next value begins with a byte: '{', '[' or '"'.
func (r *Reader) Is(c byte) bool { return r.peek() == c }

// Null passes over a null; false = the next value is something else.
func (r *Reader) Null() bool {
	if r.peek() != 'n' {
		return false
	}
	r.word("null")
	return true
}

// Object reads an object; null is one without fields. field is called for each name and
// reads the value, or leaves it.
func (r *Reader) Object(field func(name []byte)) {
	for more := r.opens('{', '}'); more; more = r.goesOn('}') {
		if r.peek() != '"' {
			r.Fail("want a name")
			return
		}
		name, plain := r.quoted()
		if !plain {
			name = []byte(r.unquoted(name, false))
		}
		if r.peek() != ':' {
			r.Fail("want a colon")
			return
		}
		r.at++
		r.peek()
		from := r.at
		if field(name); r.at == from {
			r.Skip()
		}
	}
}

// Array reads a list; null is an empty one. element is called for each element and reads
// it, or leaves it.
func (r *Reader) Array(element func()) {
	for more := r.opens('[', ']'); more; more = r.goesOn(']') {
		r.peek()
		from := r.at
		if element(); r.at == from {
			r.Skip()
		}
	}
}

// opens begins an object or a list; false = it has nothing in it.
func (r *Reader) opens(with, shuts byte) bool {
	switch {
	case r.Null():
		return false
	case r.peek() != with:
		r.Fail("want " + string(with))
		return false
	case r.depth == r.levels:
		r.Fail(fmt.Sprintf("more than %d levels", r.levels))
		return false
	}
	r.at++
	if r.peek() == shuts {
		r.at++
		return false
	}
	r.depth++
	return r.err == nil
}

// goesOn passes over what follows a part of an object or a list; false = it has ended.
func (r *Reader) goesOn(shuts byte) bool {
	switch r.peek() {
	case ',':
		r.at++
		return true
	case shuts:
		r.at++
		r.depth--
	case 0:
		r.Fail("the text breaks off")
	default:
		r.Fail("want a comma or " + string(shuts))
	}
	return false
}

// Text reads a text; null is the empty one. A text that the caller knows is not copied.
func (r *Reader) Text(known ...string) string { return r.text(false, known) }

// TextPart reads a part of a [Text]. Half of a pair of surrogates (\ud83e) that it begins or ends with may have its
// other half in another part: it becomes the three bytes that UTF-8 would have for it. null is the empty part.
func (r *Reader) TextPart() string { return r.text(true, nil) }

func (r *Reader) text(part bool, known []string) string {
	switch {
	case r.Null():
		return ""
	case r.peek() != '"':
		r.Fail("want a text")
		return ""
	}
	b, plain := r.quoted()
	if !plain {
		return r.unquoted(b, part)
	}
	for _, k := range known {
		if string(b) == k {
			return k
		}
	}
	return r.Own(b)
}

// Own is the text of a name or another part, which the caller may keep.
func (r *Reader) Own(part []byte) string {
	if at := cap(r.data) - cap(part); len(part) > 0 && at >= 0 && at+len(part) <= len(r.whole) && &r.data[at] == &part[0] {
		return r.whole[at : at+len(part)]
	}
	return string(part) // it had escapes
}

// TextOrSkip reads a text that nothing depends on: any other value is an empty one.
func (r *Reader) TextOrSkip(known ...string) string {
	if r.Is('"') {
		return r.Text(known...)
	}
	r.Skip()
	return ""
}

// Int reads an integer; null is 0.
func (r *Reader) Int() int {
	b := r.Raw()
	n, err := strconv.Atoi(string(b))
	if err != nil && string(b) != "null" {
		r.Fail("want an integer, not the value that ends")
	}
	return n
}

// Raw reads any value and returns its bytes, which are a part of the text.
func (r *Reader) Raw() []byte {
	r.peek()
	from := r.at
	if r.Skip(); r.err != nil {
		return nil
	}
	return r.data[from:r.at]
}

// Skip passes over any value.
func (r *Reader) Skip() {
	switch c := r.peek(); c {
	case '{':
		r.Object(func([]byte) {})
	case '[':
		r.Array(func() {})
	case '"':
		if b, plain := r.quoted(); !plain {
			r.unquoted(b, false) // it may be wrong
		}
	case 't':
		r.word("true")
	case 'f':
		r.word("false")
	case 'n':
		r.word("null")
	case 0:
		r.Fail("the text breaks off")
	default:
		r.number()
	}
}

func (r *Reader) word(w string) {
	if len(r.data)-r.at < len(w) || string(r.data[r.at:r.at+len(w)]) != w {
		r.Fail("no value")
		return
	}
	r.at += len(w)
}

// number passes over a number.
func (r *Reader) number() {
	if r.byteIs('-') {
		r.at++
	}
	if r.byteIs('0') {
		r.at++
	} else {
		r.digits()
	}
	if r.byteIs('.') {
		r.at++
		r.digits()
	}
	if r.byteIs('e') || r.byteIs('E') {
		r.at++
		if r.byteIs('+') || r.byteIs('-') {
			r.at++
		}
		r.digits()
	}
}

func (r *Reader) byteIs(c byte) bool { return r.at < len(r.data) && r.data[r.at] == c }

func (r *Reader) digits() {
	from := r.at
	for r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9' {
		r.at++
	}
	if r.at == from {
		r.Fail("no value")
	}
}

// quoted reads the text that begins here, as it stands in the whole text. One that is not plain
// has escapes, or bytes that are no characters.
func (r *Reader) quoted() (b []byte, plain bool) {
	r.at++
	from, plain := r.at, true
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			b = r.data[from:r.at]
			r.at++
			return b, plain || utf8.Valid(b) && bytes.IndexByte(b, '\\') < 0
		case c == '\\':
			plain = false
			r.at++ // what follows is no end; whether it may be there, unquoted finds out
		case c < ' ':
			r.Fail("a control character in a text")
			return nil, true
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	r.Fail("the text breaks off")
	return nil, true
}

// unquoted resolves what is escaped. What is no character becomes U+FFFD, but for the halves of [Reader.TextPart].
func (r *Reader) unquoted(b []byte, part bool) string {
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c >= utf8.RuneSelf:
			x, size := utf8.DecodeRune(b[i:])
			out.WriteRune(x)
			i += size
		case c != '\\':
			end := i + 1
			for end < len(b) && b[end] != '\\' && b[end] < utf8.RuneSelf {
				end++
			}
			out.Write(b[i:end])
			i = end
		case b[i+1] == 'u':
			x, ok := hex(b[i:])
			if i += 6; !ok {
				r.Fail("no \\u in a text, which ends")
				return ""
			}
			if utf16.IsSurrogate(x) {
				low, _ := hex(b[min(i, len(b)):])
				if part && (i == 6 && x >= 0xdc00 || i == len(b) && x < 0xdc00) {
					out.Write([]byte{0xed, byte(0x80 | x>>6&0x3f), byte(0x80 | x&0x3f)})
					continue
				}
				if x = utf16.DecodeRune(x, low); x != utf8.RuneError {
					i += 6
				}
			}
			out.WriteRune(x)
		default:
			x := strings.IndexByte(escapes, b[i+1])
			if i += 2; x < 0 {
				r.Fail("no escape in a text, which ends")
				return ""
			}
			out.WriteByte(escaped[x])
		}
	}
	return out.String()
}

const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// hex reads \u and four digits.
func hex(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil && b[2] != '+' && b[2] != '-'
}
