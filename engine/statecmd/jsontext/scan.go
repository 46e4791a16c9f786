package jsontext

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"tavernsim/protocol"
)

type parser struct {
	s       string
	i       int
	lenient bool
	notes   []string
}

func (p *parser) fail(format string, args ...any) error {
	return protocol.Errorf(protocol.KindInvalid, "byte %d: "+format, append([]any{p.i}, args...)...)
}

// repair reports whether something that is no JSON may be taken, and notes it.
func (p *parser) repair(what string) bool {
	if !p.lenient {
		return false
	}
	if len(p.notes) < MaxNotes {
		p.notes = append(p.notes, fmt.Sprintf("%s at byte %d", what, p.i))
	}
	return true
}

// document reads a lenient value and ignores what follows it.
func (p *parser) document() (any, error) { return p.value(0) }

func (p *parser) space() {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			p.i++
		case p.lenient && (c == '#' || c == '/' && p.i+1 < len(p.s) && (p.s[p.i+1] == '/' || p.s[p.i+1] == '*')):
			p.comment()
		case p.lenient && c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(p.s[p.i:])
			if !unicode.IsSpace(r) && r != '\ufeff' && r != '\u200b' {
				return
			}
			p.i += n
		default:
			return
		}
	}
}

func (p *parser) comment() {
	p.repair("comment")
	end := "\n"
	if strings.HasPrefix(p.s[p.i:], "/*") {
		end = "*/"
	}
	n := strings.Index(p.s[p.i:], end)
	if n < 0 {
		p.i = len(p.s)
		return
	}
	p.i += n + len(end)
}

func (p *parser) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, p.fail("nested deeper than %d", MaxDepth)
	}
	p.space()
	if p.i == len(p.s) {
		return nil, p.fail("the text ends where a value was expected")
	}
	switch c := p.s[p.i]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.text('"', 1)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.word()
}

func (p *parser) object(depth int) (any, error) {
	p.i++
	o := &Object{}
	for {
		p.space()
		if p.i == len(p.s) {
			o.Cut = true
			return o, p.cut("object")
		}
		if p.s[p.i] == '}' {
			p.i++
			return o, nil
		}
		if p.s[p.i] == ']' && p.repair(`"]" where "}" was expected`) {
			p.i++
			return o, nil
		}
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		p.space()
		if p.i == len(p.s) {
			o.Cut = true
			return o, p.cut("object")
		}
		if err := p.colon(); err != nil {
			return nil, err
		}
		p.space()
		if p.i == len(p.s) {
			o.Cut = true
			return o, p.cut("object")
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if o.Members == nil {
			o.Members = make([]Member, 0, 4)
		}
		o.Members = append(o.Members, Member{key, v})
		if err := p.comma('}'); err != nil {
			return nil, err
		}
	}
}

func (p *parser) cut(what string) error {
	if p.repair("end of text inside an " + what) {
		return nil
	}
	return p.fail("the text ends inside an %s", what)
}

func (p *parser) colon() error {
	if p.s[p.i] == ':' {
		p.i++
		return nil
	}
	if rest, ok := strings.CutPrefix(p.s[p.i:], "："); ok && p.repair("full-width colon") {
		p.i = len(p.s) - len(rest)
		return nil
	}
	if p.s[p.i] == '=' && p.repair(`"=" for ":"`) {
		p.i++
		return nil
	}
	return p.fail(`%q where ":" was expected`, p.s[p.i:p.i+1])
}

// comma takes what stands between members or elements. A comma before the end
// or none at all is a repair.
func (p *parser) comma(end byte) error {
	p.space()
	if p.i == len(p.s) || p.s[p.i] == end {
		return nil
	}
	if rest, ok := strings.CutPrefix(p.s[p.i:], "，"); ok && p.repair("full-width comma") {
		p.i = len(p.s) - len(rest)
		return nil
	}
	if p.s[p.i] != ',' {
		if p.repair("missing comma") {
			return nil
		}
		return p.fail(`%q where "," or %q was expected`, p.s[p.i:p.i+1], string(end))
	}
	p.i++
	p.space()
	for p.i < len(p.s) && p.s[p.i] == ',' && p.repair("doubled comma") {
		p.i++
		p.space()
	}
	if p.i < len(p.s) && p.s[p.i] == end && !p.repair("trailing comma") {
		return p.fail("a comma before %q", string(end))
	}
	return nil
}

func (p *parser) array(depth int) (any, error) {
	p.i++
	a := &Array{}
	for {
		p.space()
		if p.i == len(p.s) {
			a.Cut = true
			return a, p.cut("array")
		}
		if p.s[p.i] == ']' {
			p.i++
			return a, nil
		}
		if p.s[p.i] == '}' && p.repair(`"}" where "]" was expected`) {
			return a, nil
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		a.Items = append(a.Items, v)
		if err := p.comma(']'); err != nil {
			return nil, err
		}
	}
}

func (p *parser) key() (string, error) {
	if p.s[p.i] == '"' {
		return p.text('"', 1)
	}
	if !p.lenient {
		return "", p.fail("%q where a quoted key was expected", p.s[p.i:p.i+1])
	}
	if quote, n := closing(p.s[p.i:]); n > 0 {
		p.repair("quotes")
		return p.text(quote, n)
	}
	start := p.i
	for p.i < len(p.s) && !strings.ContainsRune(" \t\r\n:=,{}[]\"", rune(p.s[p.i])) {
		p.i++
	}
	if p.i == start {
		return "", p.fail("%q where a key was expected", p.s[p.i:p.i+1])
	}
	p.repair("bare key")
	return strings.ToValidUTF8(p.s[start:p.i], "\ufffd"), nil
}

// closing names the closer of a non-JSON quote and the length of the opener.
func closing(s string) (quote rune, n int) {
	r, n := utf8.DecodeRuneInString(s)
	switch r {
	case '\'', '`':
		return r, n
	case '“', '”':
		return '”', n
	case '‘', '’':
		return '’', n
	}
	return 0, 0
}

// text reads a quoted text whose opener has n bytes.
func (p *parser) text(quote rune, n int) (string, error) {
	p.i += n
	start := p.i
	if quote == '"' {
		for p.i < len(p.s) && p.s[p.i] >= ' ' && p.s[p.i] < utf8.RuneSelf && p.s[p.i] != '"' && p.s[p.i] != '\\' {
			p.i++
		}
		if p.i < len(p.s) && p.s[p.i] == '"' && (!p.lenient || p.closes(p.i+1)) {
			p.i++
			return p.s[start : p.i-1], nil
		}
		p.i = start
	}
	var b strings.Builder
	for p.i < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.i:])
		switch {
		case r == quote && (!p.lenient || p.closes(p.i+n)):
			p.i += n
			return b.String(), nil
		case r == '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
			continue
		case r < ' ' && !p.repair("control character in text"):
			return "", p.fail("control character %q in a text; write an escape", r)
		case r == quote:
			p.repair("quote inside text")
		}
		b.WriteRune(r)
		p.i += n
	}
	if p.repair("end of text inside quotes") {
		return b.String(), nil
	}
	return "", p.fail("the text ends inside quotes")
}

// closes reports whether a quote that ends at i can be a closing one: only what
// may follow a value or key follows. Strict text never asks.
func (p *parser) closes(i int) bool {
	for i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[i]) >= 0 {
		i++
	}
	if i == len(p.s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(p.s[i:])
	return strings.ContainsRune(",:}]/#\"'“=，：", r)
}

func (p *parser) escape(b *strings.Builder) error {
	if p.i+1 >= len(p.s) {
		p.i = len(p.s)
		if p.repair("end of text inside quotes") {
			return nil
		}
		return p.fail("the text ends inside quotes")
	}
	c := p.s[p.i+1]
	if k := strings.IndexByte(`"\/bfnrt`, c); k >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[k])
		p.i += 2
		return nil
	}
	if c == 'u' {
		if r, n := p.unicode(p.i); n > 0 {
			b.WriteRune(r)
			p.i += n
			return nil
		}
	}
	if !p.repair("unknown escape") {
		return p.fail(`\%c is no escape`, c)
	}
	if c != '\'' {
		b.WriteByte('\\')
	}
	p.i++
	return nil
}

// unicode reads \uXXXX, or two of them that make a pair, at i.
func (p *parser) unicode(i int) (rune, int) {
	one, ok := p.hex(i)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(one) {
		if two, ok := p.hex(i + 6); ok {
			if r := utf16.DecodeRune(one, two); r != unicode.ReplacementChar {
				return r, 12
			}
		}
		return unicode.ReplacementChar, 6
	}
	return one, 6
}

func (p *parser) hex(i int) (rune, bool) {
	if i+6 > len(p.s) || p.s[i] != '\\' || p.s[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.s[i+2:i+6], 16, 16)
	return rune(n), err == nil
}

// number reads a JSON number exactly.
func (p *parser) number() (any, error) {
	start := p.i
	isFloat := false
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '.' || c == 'e' || c == 'E' {
			isFloat = true
		} else if c != '-' && c != '+' && (c < '0' || c > '9') {
			break
		}
		p.i++
	}
	text := p.s[start:p.i]
	if !strictNumber(text) {
		p.i = start
		return nil, p.fail("%.40q is no number", text)
	}
	if !isFloat {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		return Number(text), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return Number(text), nil
	}
	return f, nil
}

// strictNumber holds text to the grammar of JSON, which ParseFloat exceeds.
func strictNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n
	}
	zero := strings.HasPrefix(s, "0")
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if rest, ok := strings.CutPrefix(s, "."); ok {
		s = rest
		if digits() == 0 {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return s == ""
}

func (p *parser) word() (any, error) {
	for _, w := range [...]struct {
		text  string
		value any
	}{{"null", nil}, {"true", true}, {"false", false}} {
		if strings.HasPrefix(p.s[p.i:], w.text) {
			p.i += len(w.text)
			return w.value, nil
		}
	}
	if p.lenient {
		if quote, n := closing(p.s[p.i:]); n > 0 {
			p.repair("quotes")
			return p.text(quote, n)
		}
		for _, w := range [...]struct {
			text  string
			value any
		}{{"None", nil}, {"undefined", nil}, {"True", true}, {"False", false}} {
			if strings.HasPrefix(p.s[p.i:], w.text) {
				p.repair("the word " + w.text)
				p.i += len(w.text)
				return w.value, nil
			}
		}
	}
	r, _ := utf8.DecodeRuneInString(p.s[p.i:])
	return nil, p.fail("%q begins no value", r)
}
