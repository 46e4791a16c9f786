package tam

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	startMarker = "<|[REQUEST_TOOL]|>"
	endMarker   = "<|[END_TOOL]|>"
)

type markKind uint8

const (
	markNone markKind = iota
	markStart
	markEnd
)

type mark struct {
	kind markKind
	end  int
}

// scanMarker reads a marker at b[i] == '<' in any letter case, with blanks and
// invisible characters between its parts. The zero-width joiner is not one of
// them: whoever shows a marker to a model breaks it with one.
func scanMarker(b []byte, i int) mark {
	m := markScan{b: b[:min(len(b), i+maxMarker)], i: i + 1}
	if m.read(); m.failed || m.starved {
		return mark{}
	}
	return mark{kind: m.kind, end: m.i}
}

// markerCut reports whether b is a marker that the end of the text cut.
func markerCut(b []byte) bool {
	m := markScan{b: b, i: 1}
	m.read()
	return b[0] == '<' && m.starved && len(b) <= maxMarker
}

type markScan struct {
	b       []byte
	i       int
	kind    markKind
	failed  bool // it is no marker
	starved bool // it may be one, but the bytes end
}

func (m *markScan) read() {
	m.part("|", "｜")
	m.part("[")
	m.kind = [...]markKind{markStart, markEnd}[m.part("REQUEST_TOOL", "END_TOOL")]
	m.part("]")
	m.part("|", "｜")
	m.part(">")
}

// part skips filling and takes one of the forms, in any letter case; it returns
// which.
func (m *markScan) part(forms ...string) int {
	m.fill()
	if m.failed || m.starved {
		return 0
	}
	rest := m.b[m.i:]
	for k, f := range forms {
		if n := min(len(f), len(rest)); utf8.Valid(rest[:n]) && strings.EqualFold(f[:n], string(rest[:n])) {
			m.i, m.starved = m.i+n, n < len(f)
			return k
		}
	}
	m.failed = true
	return 0
}

// fill skips blanks and invisible characters. A character that is cut by the
// end of the bytes starves the scan.
func (m *markScan) fill() {
	for !m.failed && !m.starved {
		if m.i >= len(m.b) {
			m.starved = true
			return
		}
		n := blankLen(m.b[m.i:])
		if n == 0 {
			if !utf8.FullRune(m.b[m.i:]) {
				m.starved = true
			}
			return
		}
		m.i += n
	}
}

// blankLen is the length of the blank at the start of b: space, tab, carriage
// return, no-break and ideographic space, and the invisible characters that
// models and editors leave behind.
func blankLen(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case ' ', '\t', '\r':
		return 1
	case 0xC2, 0xE2, 0xE3, 0xEF:
		switch r, n := utf8.DecodeRune(b); r {
		case '\u00a0', '\u00ad', '\u3000', '\u202f', '\u200b', '\u200c', '\u200e', '\u200f', '\u2060', '\ufeff':
			return n
		}
	}
	return 0
}

// markerBegun reports whether b is a marker cut behind the first letter of its
// word: too much to be an accident.
func markerBegun(b []byte) bool {
	rest := trimBlank(b[1:])
	bar := bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte("|")), []byte("｜"))
	word := bytes.TrimPrefix(trimBlank(bar), []byte("["))
	if len(bar) == len(rest) || len(word) == len(trimBlank(bar)) {
		return false
	}
	word = trimBlank(word)
	return len(word) > 0 && bytes.IndexByte([]byte("rReE"), word[0]) >= 0 && markerCut(b)
}

// tag is a reasoning tag: <think …>, </think>, <thinking …>.
type tag struct {
	name  string
	close bool
	self  bool // <think/>
	end   int
}

// scanTag reads a reasoning tag at b[i] == '<'.
func scanTag(b []byte, i int) (t tag, ok bool) {
	limit := min(len(b), i+maxTag)
	j := i + 1
	if j < limit && b[j] == '/' {
		t.close = true
		j++
	}
	for _, name := range [...]string{"thinking", "think"} {
		if n := j + len(name); n <= limit && strings.EqualFold(string(b[j:n]), name) {
			t.name, j = name, n
			break
		}
	}
	k := bytes.IndexByte(b[j:limit], '>')
	if t.name == "" || k < 0 || bytes.IndexByte([]byte(" \t\r\n/>"), b[j]) < 0 {
		return tag{}, false
	}
	t.end = j + k + 1
	t.self = !t.close && k > 0 && b[t.end-2] == '/'
	return t, true
}
