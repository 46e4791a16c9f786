package toolcall

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// plain reads arguments as nearly all of them are: JSON without escapes, exponents, numbers
// beyond 64 bits and keys that come twice. ok is false for others; lenient.Read gives the same
// for these, and needs three times the stack, which the goroutine of a call does not have.
func plain(s string) (params map[string]any, ok bool) {
	p := plainReader{s: s}
	v, ok := p.value(0)
	params, object := v.(map[string]any)
	return params, ok && object && p.peek() == 0 && p.at == len(s)
}

type plainReader struct {
	s  string
	at int
}

const maxPlainDepth = 8

// peek is the next character that is no space; 0 = there is none.
func (p *plainReader) peek() byte {
	for ; p.at < len(p.s); p.at++ {
		switch c := p.s[p.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take passes a character over.
func (p *plainReader) take(c byte) bool {
	if p.peek() != c || p.at == len(p.s) {
		return false
	}
	p.at++
	return true
}

func (p *plainReader) value(depth int) (v any, ok bool) {
	switch c := p.peek(); {
	case depth > maxPlainDepth:
		return nil, false
	case c == '"':
		return p.text()
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	rest := p.s[p.at:]
	switch {
	case strings.HasPrefix(rest, "true"):
		p.at += 4
		return true, true
	case strings.HasPrefix(rest, "false"):
		p.at += 5
		return false, true
	case strings.HasPrefix(rest, "null"):
		p.at += 4
		return nil, true
	}
	return nil, false
}

func (p *plainReader) object(depth int) (any, bool) {
	p.at++
	m := map[string]any{}
	for first := true; !p.take('}'); first = false {
		if !first && !p.take(',') || p.peek() != '"' {
			return nil, false
		}
		key, ok := p.text()
		if !ok || !p.take(':') {
			return nil, false
		}
		v, ok := p.value(depth + 1)
		if _, twice := m[key]; twice || !ok {
			return nil, false
		}
		m[key] = v
	}
	return m, true
}

func (p *plainReader) array(depth int) (any, bool) {
	p.at++
	list := []any{}
	for first := true; !p.take(']'); first = false {
		if !first && !p.take(',') {
			return nil, false
		}
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// text reads a text in quotes without escapes.
func (p *plainReader) text() (string, bool) {
	rest := p.s[p.at+1:]
	end := strings.IndexByte(rest, '"')
	if end < 0 {
		return "", false
	}
	for i := range end {
		if rest[i] < ' ' || rest[i] == '\\' {
			return "", false
		}
	}
	p.at += end + 2
	return rest[:end], utf8.ValidString(rest[:end])
}

// number reads digits, with a fraction at most.
func (p *plainReader) number() (any, bool) {
	from, dot := p.at, -1
	if p.s[p.at] == '-' {
		p.at++
	}
	digits := p.at
	for ; p.at < len(p.s); p.at++ {
		if c := p.s[p.at]; c == '.' && dot < 0 {
			dot = p.at
		} else if c < '0' || c > '9' {
			break
		}
	}
	word := p.s[from:p.at]
	switch whole := p.s[digits:p.at]; {
	case whole == "" || len(whole) > 15 || dot == digits || dot == p.at-1, len(whole) > 1 && whole[0] == '0' && whole[1] != '.':
		return nil, false
	case dot >= 0:
		f, err := strconv.ParseFloat(word, 64)
		return f, err == nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	return n, err == nil
}
