package rawtext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The brackets of a CDATA section.
const CDATAOpen, CDATAClose = "<![CDATA[", "]]>"

// StartsCDATA tells whether the value that begins at p is one of these, behind blanks.
func StartsCDATA(s string, p int) bool { return strings.HasPrefix(s[SkipBlanks(s, p):], CDATAOpen) }

// Value is the text of a raw-text element with its entities decided (X5).
type Value struct {
	Text  string
	Other string // the reading that was not chosen; text when there is only one
	Open  bool   // CDATA without its end
}

// Read decides how a value is meant and reads it.
func Read(raw string) Value {
	s := normaliseNewlines(raw)
	if t := strings.TrimSpace(s); strings.HasPrefix(t, CDATAOpen) {
		return unwrapCDATA(s, t)
	}
	if !strings.Contains(s, "&") {
		return Value{Text: s, Other: s}
	}
	decoded, all := DecodeEntities(s)
	if all && !strings.Contains(s, "<") {
		return Value{Text: decoded, Other: s}
	}
	return Value{Text: s, Other: decoded}
}

// unwrapCDATA takes the wrapping off; a section that was split to hold "]]>"
// joins again. Text that goes on behind the last section is no wrapping.
func unwrapCDATA(s, trimmed string) Value {
	body := trimmed[len(CDATAOpen):]
	if inner, ok := strings.CutSuffix(body, CDATAClose); ok {
		inner = strings.ReplaceAll(inner, CDATAClose+CDATAOpen, "")
		return Value{Text: inner, Other: inner}
	}
	if strings.Contains(body, CDATAClose) {
		return Value{Text: s, Other: s}
	}
	return Value{Text: body, Other: body, Open: true}
}

// normaliseNewlines leaves lone carriage returns alone.
func normaliseNewlines(s string) string {
	if !strings.Contains(s, "\r\n") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\r' {
			b.WriteByte(s[i])
			continue
		}
		run := i
		for run < len(s) && s[run] == '\r' {
			run++
		}
		if run == len(s) || s[run] != '\n' {
			b.WriteString(s[i:run])
		}
		i = run - 1
	}
	return b.String()
}

// DecodeEntities decodes the five named and the numeric entities once. all is
// false when an "&" is left that begins none of them: then the author was not
// escaping.
func DecodeEntities(s string) (decoded string, all bool) {
	if !strings.Contains(s, "&") {
		return s, true
	}
	var b strings.Builder
	b.Grow(len(s))
	all = true
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			b.WriteString(s)
			return b.String(), all
		}
		b.WriteString(s[:i])
		s = s[i:]
		text, n := entity(s)
		if n == 0 {
			text, n, all = "&", 1, false
		}
		b.WriteString(text)
		s = s[n:]
	}
}

// entity reads one entity at the start of s; n is its length, 0 for none.
func entity(s string) (text string, n int) {
	const longest = len("&#x10FFFF;") + 2 // two leading zeros are enough
	end := strings.IndexByte(s[:min(len(s), longest)], ';')
	if end < 2 {
		return "", 0
	}
	switch name := s[1:end]; {
	case name == "amp":
		return "&", end + 1
	case name == "lt":
		return "<", end + 1
	case name == "gt":
		return ">", end + 1
	case name == "quot":
		return `"`, end + 1
	case name == "apos":
		return "'", end + 1
	case name[0] == '#':
		if r, ok := numericEntity(name[1:]); ok {
			return string(r), end + 1
		}
	}
	return "", 0
}

func numericEntity(digits string) (rune, bool) {
	base := 10
	if len(digits) > 0 && digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n == 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, false
	}
	return rune(n), true
}

// LayoutScript brings a command from its place in the markup to the left margin
// (X11): one blank line at either end and the indentation that all lines share
// go away, and so do blanks behind the last line. The rest is as written.
func LayoutScript(s string) string {
	lines := strings.Split(s, "\n")
	if len(lines) > 1 && blankLine(lines[0]) {
		lines = lines[1:]
	}
	if len(lines) > 1 && blankLine(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	dedent(lines)
	last := &lines[len(lines)-1]
	if t := strings.TrimRight(*last, " \t"); !strings.HasSuffix(t, `\`) {
		*last = t
	}
	return strings.Join(lines, "\n")
}

// LayoutInput does the same for text that was put on lines of its own (X18);
// other text is as written.
func LayoutInput(s string) string {
	if !strings.HasPrefix(s, "\n") {
		return s
	}
	lines := strings.Split(s, "\n")
	dedent(lines)
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// dedent removes the blanks that all lines with text begin with.
func dedent(lines []string) {
	common, first := "", true
	for _, l := range lines {
		if blankLine(l) {
			continue
		}
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if first {
			common, first = indent, false
		}
		common = common[:sharedPrefix(common, indent)]
	}
	for i, l := range lines {
		lines[i] = l[sharedPrefix(common, l):]
	}
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// blankLine tells whether a line holds no text.
func blankLine(l string) bool { return strings.Trim(l, " \t\r") == "" }
