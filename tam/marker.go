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
	markMore // the bytes end before it is clear
)

type mark struct {
	kind markKind
	end  int
}

// scanMarker reads a marker at b[i] == '<' in any letter case, with blanks and
// invisible characters between its parts. The zero-width joiner is not one of
// them: whoever shows a marker to a model breaks it with one.
func scanMarker(b []byte, i int, final bool) mark {
	m := markScan{b: b[:min(len(b), i+maxMarker)], i: i + 1}
	short := len(m.b) == len(b) && !final
	m.part("|", "｜")
	m.part("[")
	kind := markStart
	m.fill()
	if at := m; at.word("END_TOOL") {
		m, kind = at, markEnd
	} else if at.starved {
		m.starved = true
	} else {
		m.word("REQUEST_TOOL")
	}
	m.part("]")
	m.part("|", "｜")
	m.part(">")
	switch {
	case m.failed:
		return mark{}
	case m.starved && short:
		return mark{kind: markMore}
	case m.starved:
		return mark{}
	}
	return mark{kind: kind, end: m.i}
}

type markScan struct {
	b       []byte
	i       int
	failed  bool // it is no marker
	starved bool // it may be one, but the bytes end
}

// part skips filling and takes one of the forms.
func (m *markScan) part(forms ...string) {
	m.fill()
	if m.failed || m.starved {
		return
	}
	for _, f := range forms {
		if bytes.HasPrefix(m.b[m.i:], []byte(f)) {
			m.i += len(f)
			return
		}
	}
	for _, f := range forms {
		if isPrefixOf(m.b[m.i:], f) {
			m.starved = true
			return
		}
	}
	m.failed = true
}

// word takes w in any letter case.
func (m *markScan) word(w string) bool {
	if m.failed || m.starved {
		return false
	}
	rest := m.b[m.i:min(len(m.b), m.i+len(w))]
	if !strings.EqualFold(w[:len(rest)], string(rest)) {
		m.failed = true
		return false
	}
	if len(rest) < len(w) {
		m.starved = true
		return false
	}
	m.i += len(w)
	return true
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
	return len(word) > 0 && bytes.IndexByte([]byte("rReE"), word[0]) >= 0 && scanMarker(b, 0, false).kind == markMore
}

// tag is a reasoning tag: <think …>, </think>, <thinking …>.
type tag struct {
	state markKind // markStart: a tag; markMore; markNone
	name  string
	close bool
	self  bool // <think/>
	end   int
}

// scanTag reads a reasoning tag at b[i] == '<'.
func scanTag(b []byte, i int, final bool) tag {
	t := tag{}
	j := i + 1
	if j < len(b) && b[j] == '/' {
		t.close = true
		j++
	}
	rest := b[j:min(len(b), j+len("thinking"))]
	switch {
	case len(rest) == len("thinking") && bytes.EqualFold(rest, []byte("thinking")):
		t.name = "thinking"
	case len(rest) >= len("think") && bytes.EqualFold(rest[:5], []byte("think")):
		t.name = "think"
		if len(rest) < len("thinking") && bytes.EqualFold(rest, []byte("thinking")[:len(rest)]) && j+len(rest) == len(b) {
			return tagWait(final)
		}
	case len(rest) < len("think") && bytes.EqualFold(rest, []byte("think")[:len(rest)]):
		return tagWait(final)
	default:
		return tag{}
	}
	return t.finish(b, i, j+len(t.name), final)
}

func tagWait(final bool) tag {
	if final {
		return tag{}
	}
	return tag{state: markMore}
}

// finish reads attributes up to '>'.
func (t tag) finish(b []byte, start, j int, final bool) tag {
	limit := min(len(b), start+maxTag)
	if j < limit && !bytes.ContainsAny(b[j:j+1], " \t\r\n/>") {
		return tag{}
	}
	k := bytes.IndexByte(b[min(j, limit):limit], '>')
	if k < 0 {
		if limit == len(b) && limit < start+maxTag {
			return tagWait(final)
		}
		return tag{}
	}
	t.state, t.end = markStart, j+k+1
	t.self = !t.close && k > 0 && b[j+k-1] == '/'
	return t
}
