package tam

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// cleanValue is what a field's raw value means: trimmed at both ends, line ends
// as \n, and continuation lines without the indentation that stood before the
// key. Raw values are taken as they are.
func cleanValue(raw []byte, indent int, cls class) string {
	if cls.fam == famRaw {
		return string(raw)
	}
	raw = bytes.TrimSpace(raw)
	if indent == 0 && bytes.IndexByte(raw, '\r') < 0 || bytes.IndexByte(raw, '\n') < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		k := bytes.IndexByte(raw, '\n')
		if k < 0 {
			break
		}
		out = append(out, bytes.TrimSuffix(raw[:k], []byte("\r"))...)
		out = append(out, '\n')
		raw = raw[k+1:]
		raw = raw[indentLen(raw, indent):]
	}
	return string(append(out, raw...))
}

// indentLen is the length of at most n characters of indentation.
func indentLen(b []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(b); n-- {
		w := indentRune(b[i:])
		if w == 0 {
			break
		}
		i += w
	}
	return i
}

func indentRune(b []byte) int {
	switch b[0] {
	case ' ', '\t':
		return 1
	case 0xC2, 0xE3:
		if r, w := utf8.DecodeRune(b); r == '\u00a0' || r == '\u3000' {
			return w
		}
	}
	return 0
}

// indentWidth counts the indentation characters of a line.
func indentWidth(line []byte) int {
	n := 0
	for len(line) > 0 {
		w := indentRune(line)
		if w == 0 {
			break
		}
		n, line = n+1, line[w:]
	}
	return n
}

// cleaner does the work of cleanValue on a value that is still growing: what it
// returned stays the beginning of the clean value, whatever follows.
type cleaner struct {
	raw    bool
	indent int
	begun  bool
	space  []byte // white space that may yet turn out to be the end
}

// add returns the clean text that is now certain. Raw bytes must come in whole
// characters.
func (c *cleaner) add(b []byte) string {
	if c.raw {
		return string(b)
	}
	var out []byte
	for len(b) > 0 {
		solid := bytes.IndexFunc(b, unicode.IsSpace)
		if solid != 0 {
			if solid < 0 {
				solid = len(b)
			}
			out = append(out, c.flush()...)
			out = append(out, b[:solid]...)
			c.begun, b = true, b[solid:]
			continue
		}
		blank := bytes.IndexFunc(b, func(r rune) bool { return !unicode.IsSpace(r) })
		if blank < 0 {
			blank = len(b)
		}
		if c.begun {
			c.space = append(c.space, b[:blank]...)
		}
		b = b[blank:]
	}
	return string(out)
}

// flush gives out the held white space as cleanValue would inside a value.
func (c *cleaner) flush() []byte {
	sp := c.space
	var out []byte
	for {
		k := bytes.IndexByte(sp, '\n')
		if k < 0 {
			break
		}
		out = append(append(out, bytes.TrimSuffix(sp[:k], []byte("\r"))...), '\n')
		sp = sp[k+1:]
		sp = sp[indentLen(sp, c.indent):]
	}
	out = append(out, sp...)
	c.space = c.space[:0]
	return out
}
