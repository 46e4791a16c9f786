package tam

import (
	"bytes"
	"fmt"
	"strings"

	"tavernsim/tam/finding"
)

// between reads what stands from at to pos: comments, fences, bullets and junk.
func (w *walker) between(pos int) {
	if pos <= w.at {
		return
	}
	text := w.lex.b[w.at:pos]
	from, junk := w.at, -1
	junkEnd := 0
	for len(text) > 0 {
		line := text
		if k := bytes.IndexByte(text, '\n'); k >= 0 {
			line = text[:k+1]
		}
		body := bytes.TrimSpace(bytes.TrimLeft(line, ", \t，"))
		if at := from + bytes.Index(line, body); !w.harmless(body, at) {
			if junk < 0 {
				junk = at
			}
			junkEnd = at + len(body)
		}
		from, text = from+len(line), text[len(line):]
	}
	if junk >= 0 {
		w.note(IgnoredText, finding.Warning, junk, junkEnd, "",
			"received %q between fields; expected key:»»»value««« or # comment", cut(string(w.lex.b[junk:junkEnd])))
	}
	w.at = pos
}

// harmless takes one line between fields; false when it is junk.
func (w *walker) harmless(body []byte, at int) bool {
	switch {
	case len(body) == 0, len(bytes.Trim(body, "*-+•_ \t,，`")) == 0 && !isFence(body):
		return true
	case isFence(body):
		w.fences++
		return true
	case startsComment(body):
		if note := strings.TrimSpace(strings.TrimLeft(string(body), "#/ \t")); note != "" {
			w.notes = append(w.notes, placedNote{at, note})
		}
		return true
	}
	return w.bareCommand(body, at)
}

func isFence(b []byte) bool {
	b = trimBlank(b)
	return bytes.HasPrefix(b, []byte("```")) && bytes.IndexByte(bytes.TrimLeft(b, "`"), '`') < 0 || bytes.HasPrefix(b, []byte("~~~"))
}

// bareCommand reads "command: id" without delimiters when the id is a tool.
// Any other "key: value" would make parameters of prose; it is remembered for
// the message about a block without fields.
func (w *walker) bareCommand(body []byte, at int) bool {
	k := bytes.IndexAny(body, ":：")
	if k <= 0 || k > maxKey {
		return false
	}
	width := 1
	if body[k] != ':' {
		width = len("：")
	}
	start, end, ok := keyBefore(body[:k+width])
	value := bytes.Trim(body[k+width:], " \t\r`*\"'")
	if !ok || len(value) == 0 {
		return false
	}
	if w.attempt == (Range{}) {
		w.attempt = Range{at, at + len(body)}
	}
	name := normaliseKey(string(body[start:end]))
	if !isCommandKey(name) || w.opt.IsTool == nil || !w.opt.IsTool(string(value)) {
		return false
	}
	v := at + k + width + bytes.Index(body[k+width:], value)
	w.add(field{
		name: name, text: string(value), cls: class{fam: famBare},
		source: FieldSource{
			RawKey:  string(body[start:end]),
			KeySpan: Range{at + start, at + end}, ValueSpan: Range{v, v + len(value)}, Family: famBare.String(),
		},
	})
	w.note(BareValue, finding.Warning, at, at+len(body), name,
		"received %q without delimiters; expected %s:»»»%s«««", cut(string(body)), name, cut(string(value)))
	return true
}

// note keeps a finding; lines and columns are filled in when the block ends.
func (w *walker) note(code Code, sev finding.Severity, from, to int, key, format string, args ...any) {
	w.diags = append(w.diags, Diagnostic{Code: code, Severity: sev, Offset: from, End: to, Key: key, Message: fmt.Sprintf(format, args...)})
}

func closerText(c class) string {
	switch c.fam {
	case famStd:
		return strings.Repeat("«", int(min(c.n, 16)))
	case famDouble:
		return "««"
	case famAngle:
		return strings.Repeat("<", int(min(c.n, 16)))
	case famBook:
		return strings.Repeat("《", int(min(c.n, 16)))
	case famSingle:
		return strings.Repeat("‹", int(min(c.n, 16)))
	case famBrace:
		return "{末}"
	case famRaw:
		return "「末RAW" + tagNumber(c.n) + "」"
	case famCorner:
		if c.n > 0 {
			return "「末ESCAPE" + tagNumber(c.n-1) + "」"
		}
		return "「末」"
	}
	return "«««"
}

func tagNumber(n uint16) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
