package lenient

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// closing is the quote that ends a text begun with this one; 0 for no quote.
func closing(r rune) rune {
	switch r {
	case '"', '\'', '`', '＂':
		return r
	case '“', '”', '„':
		return '”'
	case '‘', '’':
		return '’'
	case '「':
		return '」'
	}
	return 0
}

// quote reports whether a text begins with it.
func (p *parser) quote(r rune) bool { return r == '"' || p.lenient && closing(r) != 0 }

// doubles are the quotes that models mix.
func doubles(r rune) bool { return r == '"' || r == '“' || r == '”' }

// text reads a quoted text. A quote inside it that is not followed by what may
// follow a text belongs to the text.
func (p *parser) text() (string, error) {
	open, size := utf8.DecodeRuneInString(p.s[p.at:])
	if open != '"' {
		p.mend("read other quotes as JSON's")
	} else if s, ok := p.plainText(); ok {
		return s, nil
	}
	p.at += size
	closer, inner := closing(open), 0
	var b strings.Builder
	for p.at < len(p.s) {
		r, size := utf8.DecodeRuneInString(p.s[p.at:])
		switch {
		case r == '“':
			inner++
		case r == '”' && inner > 0:
			inner--
		case r == closer || p.lenient && doubles(r) && doubles(closer):
			if !p.lenient || p.endsText(p.at+size) {
				p.at += size
				return b.String(), nil
			}
			p.mend("kept a quote inside a text")
		case r == '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
			continue
		case r == '\n' && p.mend("kept a line break inside a text"):
		case r < ' ' && !p.mend("kept a control character inside a text"):
			return "", p.fail("control character %q in a text; write an escape", r)
		}
		b.WriteRune(r)
		p.at += size
	}
	return b.String(), p.cut("quotes")
}

// plainText takes a text in double quotes that holds nothing to look at, which
// is almost every one, as a part of the source.
func (p *parser) plainText() (string, bool) {
	ascii, n := true, p.at+1
	for ; n < len(p.s) && p.s[n] != '"'; n++ {
		if p.s[n] < ' ' || p.s[n] == '\\' {
			return "", false
		}
		ascii = ascii && p.s[n] < utf8.RuneSelf
	}
	if n >= len(p.s) || p.lenient && !p.endsText(n+1) {
		return "", false
	}
	s := p.s[p.at+1 : n]
	if !ascii && (!utf8.ValidString(s) || p.lenient && strings.ContainsFunc(s, doubles)) {
		return "", false
	}
	p.at = n + 1
	return s, true
}

// endsText looks at what follows a quote, past blanks.
func (p *parser) endsText(at int) bool {
	rest := strings.TrimLeftFunc(p.s[at:], unicode.IsSpace)
	if rest == "" || comment(rest) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch n := narrow(r); {
	case n == ',' || n == '}' || n == ']' || n == ':' || n == '=':
		return true
	case len(rest) < len(p.s)-at: // "a" "b" and "a" # b: a comma is missing, a comment follows
		return n == '#' || closing(r) != 0
	case r == '"': // "a""b": c: a comma is missing
		_, behind, _ := strings.Cut(rest[1:], `"`)
		return strings.HasPrefix(strings.TrimLeftFunc(behind, unicode.IsSpace), ":")
	}
	return false
}

func (p *parser) escape(b *strings.Builder) error {
	const letters, meant = `"\/bfnrt'0`, "\"\\/\b\f\n\r\t'\x00"
	const standard, odd = 8, "read an escape that JSON lacks"
	rest := p.s[p.at+1:]
	if rest == "" {
		p.at++
		return nil // the end of the text follows
	}
	k := strings.IndexByte(letters, rest[0])
	r, isUnicode := hex(rest, 'u', 4)
	two, isHex := hex(rest, 'x', 2)
	switch {
	case k >= 0 && (k < standard || p.mend(odd)):
		b.WriteByte(meant[k])
		p.at += 2
	case isUnicode:
		p.at += 6
		if second, escaped := strings.CutPrefix(rest[5:], `\`); escaped && utf16.IsSurrogate(r) {
			low, _ := hex(second, 'u', 4)
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				p.at += 6
			}
		}
		b.WriteRune(r)
	case isHex && p.mend(odd):
		b.WriteRune(two)
		p.at += 4
	case rest[0] == '\n' && p.mend("joined a line ending in a backslash"):
		p.at += 2
	case p.mend("kept an unknown escape as it stands"):
		b.WriteByte('\\')
		p.at++
	default:
		return p.fail(`\%c is no escape`, rest[0])
	}
	return nil
}

// hex reads a letter and n hexadecimal digits.
func hex(s string, letter byte, n int) (rune, bool) {
	if len(s) <= n || s[0] != letter {
		return 0, false
	}
	v, err := strconv.ParseUint(s[1:n+1], 16, 32)
	return rune(v), err == nil
}

// word reads what has no quotes: a number, a literal, or words up to the next mark.
func (p *parser) word() (any, error) {
	n := p.at
	for n < len(p.s) && wordByte(p.s[n]) {
		n++
	}
	w := p.s[p.at:n]
	v, what := p.guess(w)
	alone := n == len(p.s) || strings.IndexByte(" \t\r\n,]}", p.s[n]) >= 0
	switch {
	case (what == "" || what == tooLarge) && (alone || p.Exact || !p.lenient):
	case p.lenient && !p.Exact:
		return p.bare()
	case what != truth || !p.lenient || !strings.Contains(" True False None undefined ", " "+w+" "):
		r, _ := utf8.DecodeRuneInString(p.s[p.at:])
		return nil, p.fail("%q begins no value", r)
	}
	if what != "" {
		p.note(Repair{what, p.at})
	}
	p.at = n
	return v, nil
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.' || c == '_'
}

// bare reads a number, a word or words up to the next mark.
func (p *parser) bare() (any, error) {
	from, looked := p.at, false
	for p.at < len(p.s) && !comment(p.s[p.at:]) {
		r, size := utf8.DecodeRuneInString(p.s[p.at:])
		if strings.ContainsRune(",}]\n{[", narrow(r)) {
			break
		}
		if !looked && (unicode.IsSpace(r) || r == '"') {
			looked = true
			if _, what := p.guess(p.s[from:p.at]); what != truth && what != words {
				break // what follows is the next value, and a comma is missing
			}
		}
		p.at += size
	}
	v, what := p.guess(strings.TrimSpace(p.s[from:p.at]))
	if what != "" {
		p.mendAt(what, from)
	}
	return v, nil
}

// What guess may say.
const (
	tooLarge  = "read a number that is too large as a text"
	oddNumber = "read an odd number"
	truth     = "read a word as true, false or null"
	words     = "read a text without quotes"
)

// guess reads what has no quotes, and says what was not JSON.
func (p *parser) guess(word string) (v any, what string) {
	switch word {
	case "true", "false":
		return word == "true", ""
	case "null":
		return nil, ""
	}
	plain := strings.TrimPrefix(word, "+")
	if strings.IndexByte(plain, '_') >= 0 {
		plain = strings.ReplaceAll(plain, "_", "")
	}
	if plain != "" && strings.Contains("-.0123456789", plain[:1]) {
		if !numeric(word) {
			what = oddNumber
		}
		if n, err := strconv.ParseInt(plain, 10, 64); err == nil {
			return n, what
		}
		if digits, ok := strings.CutPrefix(plain, "0x"); ok {
			if n, err := strconv.ParseInt(digits, 16, 64); err == nil {
				return n, what
			}
		}
		f, err := strconv.ParseFloat(strings.TrimRight(plain, "eE+-"), 64)
		switch {
		case err == nil && !math.IsInf(f, 0) && (p.Plain || what != "" || strings.ContainsAny(word, ".eE")):
			return f, what
		case what == "" && !p.Plain && (err == nil || errors.Is(err, strconv.ErrRange)):
			return Number(word), ""
		case what == "" && errors.Is(err, strconv.ErrRange):
			return word, tooLarge
		}
	}
	switch lower := strings.ToLower(word); lower {
	case "true", "false", "yes", "no":
		return lower == "true" || lower == "yes", truth
	case "null", "none", "nil", "undefined", "nan", "infinity", "-infinity", "+infinity":
		return nil, truth
	}
	return strings.ToValidUTF8(word, "\ufffd"), words
}

// numeric holds a number to what JSON's grammar forbids and strconv allows.
func numeric(w string) bool {
	digits := strings.TrimPrefix(w, "-")
	return digits != "" && digit(digits[0]) && digit(digits[len(digits)-1]) && !(digits[0] == '0' && len(digits) > 1 && digit(digits[1])) &&
		!strings.ContainsAny(digits, "_xX") && !strings.Contains(digits, ".e") && !strings.Contains(digits, ".E")
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
