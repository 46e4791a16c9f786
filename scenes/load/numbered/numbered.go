// Package numbered reads instance ids and other texts that hold the number of an agent, and finds the
// Number in an id. Everything in it is immutable.
package numbered

import (
	"slices"
	"strconv"
	"strings"
)

// Template is a text with "{n}" or "{n:05}" in it. Other braces are text.
type Template struct {
	Text  string
	parts []part // nil: no placeholder
}

type part struct {
	text  string // literal, or
	isN   bool   // the number
	width int    // padded with zeros to this many digits
}

// maxWidth bounds the padding of "{n:0…}".
const maxWidth = 18

func Parse(s string) Template {
	t := Template{Text: s}
	literal := 0
	for i := 0; i < len(s); {
		width, size, ok := placeholder(s[i:])
		if !ok {
			i++
			continue
		}
		if literal < i {
			t.parts = append(t.parts, part{text: s[literal:i]})
		}
		t.parts = append(t.parts, part{isN: true, width: width})
		i += size
		literal = i
	}
	if t.parts != nil && literal < len(s) {
		t.parts = append(t.parts, part{text: s[literal:]})
	}
	return t
}

// placeholder reads "{n}" or "{n:0<width>}" at the front of s.
func placeholder(s string) (width, size int, ok bool) {
	if strings.HasPrefix(s, "{n}") {
		return 0, len("{n}"), true
	}
	rest, found := strings.CutPrefix(s, "{n:0")
	if !found {
		return 0, 0, false
	}
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }) // not beyond: texts are long
	if digits < 0 || rest[digits] != '}' {
		return 0, 0, false
	}
	width, err := strconv.Atoi(rest[:digits])
	if err != nil || width < 1 || width > maxWidth {
		return 0, 0, false
	}
	return width, len("{n:0") + digits + 1, true
}

func (t Template) HasN() bool { return t.parts != nil }

// Expand writes the text for number n.
func (t Template) Expand(n int) string {
	if t.parts == nil {
		return t.Text
	}
	var buf [64]byte
	b := buf[:0]
	for _, p := range t.parts {
		if !p.isN {
			b = append(b, p.text...)
			continue
		}
		b = appendPadded(b, n, p.width)
	}
	return string(b)
}

func appendPadded(b []byte, n, width int) []byte {
	var buf [20]byte
	digits := strconv.AppendInt(buf[:0], int64(n), 10)
	for range width - len(digits) {
		b = append(b, '0')
	}
	return append(b, digits...)
}

// Number finds the n in 1..count for which the template writes s.
func (t Template) Number(s string, count int) (int, bool) {
	if t.parts == nil {
		return 1, s == t.Text && count > 0
	}
	from := 0
	if !t.parts[0].isN {
		from = len(t.parts[0].text)
	}
	// The digits of n may be followed by digits of the text: every length is
	// tried, shortest first.
	for to := from + 1; to <= len(s) && s[to-1] >= '0' && s[to-1] <= '9' && to-from <= maxWidth; to++ {
		n, err := strconv.Atoi(s[from:to])
		if err == nil && n >= 1 && n <= count && t.writes(n, s) {
			return n, true
		}
	}
	return 0, false
}

// writes reports whether the template writes s for number n.
func (t Template) writes(n int, s string) bool {
	var buf [64]byte
	for _, p := range t.parts {
		literal := p.text
		if p.isN {
			literal = string(appendPadded(buf[:0], n, p.width)) // at most 32 bytes: it stays on the stack
		}
		rest, ok := strings.CutPrefix(s, literal)
		if !ok {
			return false
		}
		s = rest
	}
	return s == ""
}

// Head is the text before the first placeholder.
func (t Template) Head() string {
	if t.parts == nil {
		return t.Text
	}
	if t.parts[0].isN {
		return ""
	}
	return t.parts[0].text
}

// Held reports whether any text inside v has a placeholder.
func Held(v any) bool {
	switch x := v.(type) {
	case string:
		return Parse(x).HasN()
	case []any:
		if slices.ContainsFunc(x, Held) {
			return true
		}
	case map[string]any:
		for _, e := range x {
			if Held(e) {
				return true
			}
		}
	}
	return false
}

// Value writes n into the texts of v. What holds no template is shared
// with v, not copied.
func Value(v any, n int) any {
	if !Held(v) {
		return v
	}
	switch x := v.(type) {
	case string:
		return Parse(x).Expand(n)
	case []any:
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = Value(e, n)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[k] = Value(e, n)
		}
		return m
	}
	return v
}
