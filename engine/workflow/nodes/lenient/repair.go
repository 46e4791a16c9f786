package lenient

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tavernsim/protocol"
)

// parser reads one value and forgives. It never goes back.
type parser struct {
	s        string
	at       int
	warnings []string
}

func (p *parser) warn(what string) {
	if !slices.Contains(p.warnings, what) {
		p.warnings = append(p.warnings, what)
	}
}

// narrow maps full-width punctuation to what was meant.
func narrow(r rune) rune {
	switch r {
	case '｛':
		return '{'
	case '｝':
		return '}'
	case '［', '【':
		return '['
	case '］', '】':
		return ']'
	case '：':
		return ':'
	case '，', '、', ';', '；':
		return ','
	}
	return r
}

// peek gives the next character outside texts; 0 at the end.
func (p *parser) peek() (r rune, size int) {
	p.blank()
	if p.at >= len(p.s) {
		return 0, 0
	}
	r, size = utf8.DecodeRuneInString(p.s[p.at:])
	if n := narrow(r); n != r {
		p.warn("read other punctuation as JSON's")
		r = n
	}
	return r, size
}

// blank skips space and comments.
func (p *parser) blank() {
	for p.at < len(p.s) {
		rest := p.s[p.at:]
		switch {
		case strings.HasPrefix(rest, "//"), rest[0] == '#':
			p.skipTo("\n")
		case strings.HasPrefix(rest, "/*"):
			p.skipTo("*/")
		default:
			r, size := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) && r != '\ufeff' {
				return
			}
			p.at += size
		}
	}
}

func (p *parser) skipTo(end string) {
	p.warn("left out a comment")
	if i := strings.Index(p.s[p.at:], end); i >= 0 {
		p.at += i + len(end)
	} else {
		p.at = len(p.s)
	}
}

func (p *parser) value(depth int) (any, bool) {
	if depth > protocol.MaxDepth {
		return nil, false
	}
	r, size := p.peek()
	switch {
	case r == '{':
		p.at += size
		return p.object(depth)
	case r == '[':
		p.at += size
		return p.list(depth)
	case closing(r) != 0:
		return p.text(r), true
	case r == 0 || r == '}' || r == ']' || r == ',' || r == ':':
		return nil, false
	}
	return p.bare(), true
}

func (p *parser) list(depth int) (any, bool) {
	list := []any{}
	for {
		r, size := p.peek()
		switch r {
		case 0:
			p.warn("closed what was cut off")
			return list, true
		case ']', '}':
			if r == '}' {
				p.warn("closed a list that ended in }")
			}
			p.at += size
			return list, true
		case ',', ':':
			p.at += size
			p.warn("left out an extra comma or colon")
			continue
		}
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		p.separator(']')
	}
}

func (p *parser) object(depth int) (any, bool) {
	m := map[string]any{}
	for {
		r, size := p.peek()
		switch r {
		case 0:
			p.warn("closed what was cut off")
			return m, true
		case '}', ']':
			if r == ']' {
				p.warn("closed an object that ended in ]")
			}
			p.at += size
			return m, true
		case ',', ':':
			p.at += size
			p.warn("left out an extra comma or colon")
			continue
		case '{', '[':
			return nil, false
		}
		if !p.member(m, depth) {
			return nil, false
		}
	}
}

// member reads a key and its value. A key that the end of the text cut off from
// its value is left out.
func (p *parser) member(m map[string]any, depth int) bool {
	key, ok := p.key()
	if !ok {
		return false
	}
	r, size := p.peek()
	switch r {
	case 0:
		p.warn("closed what was cut off")
		return true
	case ':', '=':
		p.at += size
		if r == '=' {
			p.warn("read = as a colon")
			if p.at < len(p.s) && p.s[p.at] == '>' {
				p.at++
			}
		}
	default:
		return false
	}
	switch r, _ := p.peek(); r {
	case 0:
		p.warn("closed what was cut off")
		return true
	case ',', '}', ']':
		p.warn("read a missing value as null")
		p.put(m, key, nil)
		p.separator('}')
		return true
	}
	v, ok := p.value(depth + 1)
	if !ok {
		return false
	}
	p.put(m, key, v)
	p.separator('}')
	return true
}

func (p *parser) put(m map[string]any, key string, v any) {
	if _, twice := m[key]; twice {
		p.warn("took the last of two equal keys")
	}
	m[key] = v
}

func (p *parser) key() (string, bool) {
	r, _ := p.peek()
	if closing(r) != 0 {
		return p.text(r), true
	}
	from := p.at
	for p.at < len(p.s) {
		r, size := utf8.DecodeRuneInString(p.s[p.at:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '$' && r != '.' {
			break
		}
		p.at += size
	}
	p.warn("read a key without quotes")
	return p.s[from:p.at], p.at > from
}

// separator takes the comma after an element, or notes that it is missing.
func (p *parser) separator(end rune) {
	r, size := p.peek()
	switch r {
	case ',':
		p.at += size
		if r, _ := p.peek(); r == end {
			p.warn("left out an extra comma or colon")
		}
	case 0, ']', '}':
	default:
		p.warn("put in a missing comma")
	}
}

// closing is the quote that ends a text begun with this one; 0 for no quote.
func closing(r rune) rune {
	switch r {
	case '"', '\'', '`':
		return r
	case '“', '”', '„':
		return '”'
	case '‘':
		return '’'
	case '「':
		return '」'
	case '＂':
		return '＂'
	}
	return 0
}

// plainText takes a text in double quotes that holds nothing to look at, which
// is almost every one, as a part of the source.
func (p *parser) plainText(open rune) (string, bool) {
	if open != '"' {
		return "", false
	}
	rest := p.s[p.at+1:]
	n := strings.IndexAny(rest, "\"\\\n“”")
	if n < 0 || rest[n] != '"' || !p.endsText(p.at+n+2) || !utf8.ValidString(rest[:n]) {
		return "", false
	}
	p.at += n + 2
	return rest[:n], true
}

// doubles are the quotes that models mix.
func doubles(r rune) bool { return r == '"' || r == '“' || r == '”' }

// text reads a quoted text. A quote inside it that is not followed by what may
// follow a text belongs to the text.
func (p *parser) text(open rune) string {
	if s, ok := p.plainText(open); ok {
		return s
	}
	end := closing(open)
	p.at += utf8.RuneLen(open)
	if open != '"' {
		p.warn("read other quotes as JSON's")
	}
	var b strings.Builder
	for p.at < len(p.s) {
		r, size := utf8.DecodeRuneInString(p.s[p.at:])
		switch {
		case r == end || doubles(r) && doubles(end):
			if p.endsText(p.at + size) {
				p.at += size
				return b.String()
			}
			p.warn("kept a quote inside a text")
		case r == '\\':
			p.escape(&b)
			continue
		case r == '\n':
			p.warn("kept a line break inside a text")
		}
		if r == utf8.RuneError && size == 1 {
			b.WriteRune(r)
		} else {
			b.WriteString(p.s[p.at : p.at+size])
		}
		p.at += size
	}
	p.warn("closed what was cut off")
	return b.String()
}

// endsText looks at what follows a quote, past blanks.
func (p *parser) endsText(at int) bool {
	rest := strings.TrimLeftFunc(p.s[at:], unicode.IsSpace)
	if rest == "" || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch n := narrow(r); {
	case n == ',' || n == '}' || n == ']' || n == ':' || n == '=':
		return true
	case closing(r) != 0: // "a" "b": a missing comma, when a line break or space stands between
		return len(rest) < len(p.s)-at
	}
	return false
}

func (p *parser) escape(b *strings.Builder) {
	p.at++
	if p.at >= len(p.s) {
		return
	}
	c := p.s[p.at]
	p.at++
	switch c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case '"', '\\', '/', '\'':
		b.WriteByte(c)
	case '\n':
		p.warn("joined a line ending in a backslash")
	case 'u':
		p.unicodeEscape(b)
	default:
		p.warn("kept an unknown escape as it stands")
		b.WriteByte('\\')
		p.at-- // the character follows as it is
	}
}

func (p *parser) unicodeEscape(b *strings.Builder) {
	first, ok := p.hex4()
	if !ok {
		p.warn("kept an unknown escape as it stands")
		b.WriteString(`\u`)
		return
	}
	if first < 0xD800 || first > 0xDFFF {
		b.WriteRune(first)
		return
	}
	if first <= 0xDBFF && strings.HasPrefix(p.s[p.at:], `\u`) {
		back := p.at
		p.at += 2
		if low, ok := p.hex4(); ok && low >= 0xDC00 && low <= 0xDFFF {
			b.WriteRune((first-0xD800)<<10 + (low - 0xDC00) + 0x10000)
			return
		}
		p.at = back
	}
	b.WriteRune(utf8.RuneError)
}

func (p *parser) hex4() (rune, bool) {
	if p.at+4 > len(p.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(p.s[p.at:p.at+4], 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += 4
	return rune(n), true
}

// bare reads what has no quotes: a number, a literal, or words up to the next
// mark.
func (p *parser) bare() any {
	from, looked := p.at, false
	for p.at < len(p.s) {
		r, size := utf8.DecodeRuneInString(p.s[p.at:])
		if n := narrow(r); n == ',' || n == '}' || n == ']' || n == '\n' || n == '{' || n == '[' {
			break
		}
		if strings.HasPrefix(p.s[p.at:], "//") || strings.HasPrefix(p.s[p.at:], "/*") {
			break
		}
		if !looked && (unicode.IsSpace(r) || r == '"') {
			if looked = true; whole(p.s[from:p.at]) {
				break
			}
		}
		p.at += size
	}
	if p.at == from { // cannot happen: value looked at the first character
		p.at++
	}
	return p.literal(strings.TrimSpace(p.s[from:min(p.at, len(p.s))]))
}

// whole reports that a word is a value by itself, so that what follows it is
// the next one and a comma is missing.
func whole(word string) bool {
	switch word {
	case "true", "false", "null":
		return true
	}
	_, ok := number(word)
	return ok
}

func (p *parser) literal(word string) any {
	switch word {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	switch strings.ToLower(word) {
	case "true", "yes":
		p.warn("read a word as true, false or null")
		return true
	case "false", "no":
		p.warn("read a word as true, false or null")
		return false
	case "null", "none", "nil", "undefined", "nan", "infinity", "-infinity", "+infinity":
		p.warn("read a word as true, false or null")
		return nil
	}
	if v, ok := number(word); ok {
		if !plainNumber(word) {
			p.warn("read an odd number")
		}
		return v
	}
	p.warn("read a text without quotes")
	return strings.ToValidUTF8(word, "\uFFFD")
}

func number(word string) (any, bool) {
	plain := strings.ReplaceAll(strings.TrimPrefix(word, "+"), "_", "")
	if plain == "" || !strings.ContainsAny(plain[:1], "-.0123456789") {
		return nil, false
	}
	if i, err := strconv.ParseInt(plain, 10, 64); err == nil {
		return i, true
	}
	if strings.HasPrefix(plain, "0x") {
		i, err := strconv.ParseInt(plain[2:], 16, 64)
		return i, err == nil
	}
	f, err := strconv.ParseFloat(strings.TrimRight(plain, "eE+-"), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, false
	}
	return f, true
}

// plainNumber reports whether a number is written as JSON wants it.
func plainNumber(word string) bool {
	digits := strings.TrimPrefix(word, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' && digits[1] != 'e' && digits[1] != 'E' {
		return false
	}
	last := digits[len(digits)-1]
	return last >= '0' && last <= '9' && !strings.ContainsAny(digits, "_xX")
}
