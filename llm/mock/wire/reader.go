package wire

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tavernsim/protocol"
)

// maxDepth bounds how deep lists and objects nest in a request.
const maxDepth = 100

// reader reads JSON from front to back. The caller says what it wants next; the
// first thing that is something else, or no JSON, is kept as the fault, and the
// rest reads as empty. Texts without escapes are parts of the source.
type reader struct {
	src   string
	at    int
	depth int
	field string // the last member that was entered, for the fault
	fault error
}

// fail keeps the first fault and moves to the end, so that every loop ends.
func (r *reader) fail(want string) {
	if r.fault == nil {
		near := ""
		if r.field != "" {
			near = " in " + strconv.Quote(r.field[:min(len(r.field), 64)])
		}
		r.fault = protocol.Errorf(protocol.KindInvalid, "byte %d%s: want %s", r.at, near, want)
	}
	r.at = len(r.src)
}

// next is the first byte that is no space; 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.src); r.at++ {
		switch c := r.src[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take reports whether the next byte is c, and goes behind it.
func (r *reader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

// null reports whether the next value is null, and goes behind it.
func (r *reader) null() bool {
	if r.next() != 'n' || !strings.HasPrefix(r.src[r.at:], "null") {
		return false
	}
	r.at += len("null")
	return true
}

// object calls member for every member that is not null. It must read the value.
func (r *reader) object(member func(name string)) {
	if !r.enter('{', "an object") {
		return
	}
	for first := true; !r.leave('}', first); first = false {
		if r.next() != '"' {
			r.fail("a name in quotes")
			return
		}
		name := r.text()
		if !r.take(':') {
			r.fail("a colon")
			return
		}
		if r.field = name; !r.null() {
			member(name)
		}
	}
}

// list calls item for every element. It must read the value.
func (r *reader) list(item func()) {
	if !r.enter('[', "a list") {
		return
	}
	for first := true; !r.leave(']', first); first = false {
		item()
	}
}

func (r *reader) enter(open byte, want string) bool {
	if r.depth >= maxDepth {
		r.fail("at most " + strconv.Itoa(maxDepth) + " levels")
		return false
	}
	if !r.take(open) {
		r.fail(want)
		return false
	}
	r.depth++
	return true
}

// leave reports the end, or goes behind the comma before the next part.
func (r *reader) leave(end byte, first bool) bool {
	if r.take(end) {
		r.depth--
		return true
	}
	if !first && !r.take(',') {
		r.fail("a comma or " + string(rune(end)))
	}
	if r.next() == 0 && r.fault == nil {
		r.fail("more: the text ends")
	}
	return r.fault != nil
}

// document holds the source to one value and nothing behind it.
func (r *reader) document(read func()) error {
	if !utf8.ValidString(r.src) {
		r.fail("UTF-8")
		return r.fault
	}
	read()
	if r.next(); r.at < len(r.src) {
		r.fail("nothing behind the value")
	}
	return r.fault
}

// text reads a text.
func (r *reader) text() string {
	if !r.take('"') {
		r.fail("text")
		return ""
	}
	start := r.at
	end := strings.IndexByte(r.src[start:], '"')
	if end < 0 {
		r.fail("a closing quote")
		return ""
	}
	plain := r.src[start : start+end]
	if strings.IndexByte(plain, '\\') >= 0 {
		return r.escaped(start)
	}
	if !r.plain(start, start+end) {
		return ""
	}
	r.at = start + end + 1
	return plain
}

// escaped reads a text that has escapes, from behind its opening quote.
func (r *reader) escaped(start int) string {
	var b strings.Builder
	quote := start
	for from := start; ; {
		if quote <= from { // the one at hand was escaped
			i := strings.IndexByte(r.src[from:], '"')
			if i < 0 {
				r.fail("a closing quote")
				return ""
			}
			quote = from + i
			b.Grow(i)
		}
		to := quote
		if i := strings.IndexByte(r.src[from:quote], '\\'); i >= 0 {
			to = from + i
		}
		if !r.plain(from, to) {
			return ""
		}
		b.WriteString(r.src[from:to])
		if r.at = to; to == quote {
			r.at++
			return b.String()
		}
		if from = r.escape(&b); from == 0 {
			r.fail("an escape of JSON")
			return ""
		}
	}
}

// plain holds a part of a text to having no control character.
func (r *reader) plain(from, to int) bool {
	for i := from; i < to; i++ {
		if r.src[i] < ' ' {
			r.at = i
			r.fail("an escape for the control character")
			return false
		}
	}
	return true
}

// escape adds what the escape at hand stands for; it returns the place behind
// it, 0 if there is none.
func (r *reader) escape(b *strings.Builder) int {
	if r.at+1 >= len(r.src) {
		return 0
	}
	c := r.src[r.at+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		return r.at + 2
	}
	one, ok := hex4(r.src, r.at)
	if !ok {
		return 0
	}
	end := r.at + 6
	if utf16.IsSurrogate(one) {
		two, ok := hex4(r.src, end)
		if one = utf16.DecodeRune(one, two); ok && one != utf8.RuneError {
			end += 6
		}
	}
	b.WriteRune(one) // half a pair alone is U+FFFD
	return end
}

// hex4 reads \uXXXX.
func hex4(s string, at int) (rune, bool) {
	if len(s) < at+6 || s[at] != '\\' || s[at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[at+2:at+6], 16, 16)
	return rune(n), err == nil
}

// number reads a number as it is written.
func (r *reader) number() string {
	r.next()
	start := r.at
	if r.at < len(r.src) && r.src[r.at] == '-' {
		r.at++
	}
	zero := r.at < len(r.src) && r.src[r.at] == '0'
	if n := r.digits(); n == 0 || zero && n > 1 {
		r.fail("a number")
		return "0"
	}
	if r.at < len(r.src) && r.src[r.at] == '.' {
		r.at++
		if r.digits() == 0 {
			r.fail("a digit")
		}
	}
	if r.at < len(r.src) && (r.src[r.at] == 'e' || r.src[r.at] == 'E') {
		r.at++
		if r.at < len(r.src) && (r.src[r.at] == '+' || r.src[r.at] == '-') {
			r.at++
		}
		if r.digits() == 0 {
			r.fail("a digit")
		}
	}
	return r.src[start:r.at]
}

func (r *reader) digits() int {
	start := r.at
	for r.at < len(r.src) && r.src[r.at] >= '0' && r.src[r.at] <= '9' {
		r.at++
	}
	return r.at - start
}

// whole reads a whole number of a range.
func (r *reader) whole(low, high int) int {
	n, err := strconv.Atoi(r.number())
	if err != nil || n < low || n > high {
		r.fail("a whole number from " + strconv.Itoa(low) + " to " + strconv.Itoa(high))
	}
	return n
}

// float reads a number.
func (r *reader) float() float64 {
	f, err := strconv.ParseFloat(r.number(), 64)
	if err != nil {
		r.fail("a smaller number")
	}
	return f
}

// yes reads true or false.
func (r *reader) yes() bool {
	r.next()
	for _, word := range [...]string{"true", "false"} {
		if strings.HasPrefix(r.src[r.at:], word) {
			r.at += len(word)
			return word == "true"
		}
	}
	r.fail("true or false")
	return false
}

// skip goes behind any value.
func (r *reader) skip() {
	switch r.next() {
	case '{':
		r.object(func(string) { r.skip() })
	case '[':
		r.list(r.skip)
	case '"':
		r.text()
	case 't', 'f':
		r.yes()
	case 'n':
		if !r.null() {
			r.fail("a value")
		}
	default:
		r.number()
	}
}
