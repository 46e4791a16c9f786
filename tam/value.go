package tam

import (
	"bytes"
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
