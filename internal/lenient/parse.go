package lenient

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tavernsim/protocol"
)

// parser reads one value from at on. A lenient one repairs. It never goes back.
type parser struct {
	Options
	s       string
	at      int
	lenient bool
	objects int // that are open
	repairs []Repair
}

func (p *parser) fail(format string, args ...any) error {
	return protocol.Errorf(protocol.KindInvalid, "byte %d: "+format, append([]any{p.at}, args...)...)
}

// mend reports whether what is no JSON may be taken all the same, and notes it.
func (p *parser) mend(what string) bool { return p.mendAt(what, p.at) }

func (p *parser) mendAt(what string, at int) bool {
	if p.lenient {
		p.note(Repair{what, at})
	}
	return p.lenient
}

func (p *parser) note(r Repair) {
	n := len(p.repairs)
	same := func(o Repair) bool { return o.What == r.What }
	if n > 0 && p.repairs[n-1] == r || n >= MaxRepairs && slices.ContainsFunc(p.repairs, same) {
		return
	}
	p.repairs = append(p.repairs, r)
}

// end is what peek gives where the text ends.
const end rune = -1

// narrow gives the punctuation that other punctuation stands for.
func narrow(r rune) rune {
	if r < utf8.RuneSelf && r != ';' {
		return r
	}
	if i := strings.IndexRune("｛｝［］【】：，、；;", r); i >= 0 {
		return rune("{}[][]:,,,,"[i/len("｛")])
	}
	return r
}

func blank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' || r == '\u200b' }

// peek gives the next character that is neither blank nor comment.
func (p *parser) peek() rune {
	p.blank()
	if p.at >= len(p.s) {
		return end
	}
	r := rune(p.s[p.at])
	if r >= utf8.RuneSelf {
		r, _ = utf8.DecodeRuneInString(p.s[p.at:])
	}
	if p.lenient {
		r = narrow(r)
	}
	return r
}

// take steps over the punctuation that peek gave.
func (p *parser) take() {
	r, size := utf8.DecodeRuneInString(p.s[p.at:])
	if narrow(r) != r {
		p.mend("read other punctuation as JSON's")
	}
	p.at += size
}

// blank skips space and comments.
func (p *parser) blank() {
	for p.at < len(p.s) {
		switch c := p.s[p.at]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			p.at++
		case !p.lenient:
			return
		case c == '#' || comment(p.s[p.at:]):
			p.comment()
		default:
			r, size := utf8.DecodeRuneInString(p.s[p.at:])
			if !blank(r) {
				return
			}
			p.at += size
		}
	}
}

func comment(s string) bool { return strings.HasPrefix(s, "//") || strings.HasPrefix(s, "/*") }

func (p *parser) comment() {
	p.mend("left out a comment")
	end := "\n"
	if strings.HasPrefix(p.s[p.at:], "/*") {
		end = "*/"
	}
	if n := strings.Index(p.s[p.at:], end); n >= 0 {
		p.at += n + len(end)
	} else {
		p.at = len(p.s)
	}
}

func (p *parser) value(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, p.fail("nested deeper than %d", MaxDepth)
	}
	switch r := p.peek(); {
	case r == '{':
		return p.object(depth)
	case r == '[':
		return p.list(depth)
	case p.quote(r):
		return p.text()
	case r == end:
		return nil, p.fail("the text ends where a value was expected")
	case strings.ContainsRune("}],:", r):
		return nil, p.fail("%q begins no value", r)
	}
	return p.word()
}

func (p *parser) list(depth int) (any, error) {
	list := []any{}
	_, err := p.container("a list", ']', func() error {
		v, err := p.value(depth + 1)
		list = append(list, v)
		return err
	})
	return list, err
}

func (p *parser) object(depth int) (v any, err error) {
	p.objects++
	defer func() { p.objects-- }()
	if p.Plain {
		plain := map[string]any{}
		_, err = p.container("an object", '}', func() error {
			return p.member(depth, func(m Member) {
				if _, twice := plain[m.Key]; twice {
					p.mendAt("took the last of two equal keys", m.At)
				}
				plain[m.Key] = m.Value
			})
		})
		return plain, err
	}
	o := &Object{Members: make([]Member, 0, 4)}
	o.Cut, err = p.container("an object", '}', func() error {
		return p.member(depth, func(m Member) { o.Members = append(o.Members, m) })
	})
	return o, err
}

// container reads what stands between brackets, element by element, and reports
// whether the end of the text cut it off.
func (p *parser) container(name string, closer rune, element func() error) (cut bool, err error) {
	for p.take(); ; {
		switch r := p.peek(); {
		case r == end:
			return true, p.cut(name)
		case r == closer:
			p.take()
			return false, nil
		case (r == '}' || r == ']') && p.mend("closed "+name+" that ended in "+string(r)):
			if r == ']' || p.objects == 0 || p.keyFollows() {
				p.take()
			}
			return false, nil
		case (r == ',' || r == ':' && !p.Exact) && p.mend("left out an extra comma or colon"):
			p.take()
			continue
		}
		if err = element(); err != nil {
			return false, err
		}
		if err = p.separator(closer); err != nil {
			return false, err
		}
	}
}

// keyFollows reports whether an object goes on behind a closer: then the closer
// stood for another one, else that other one is missing.
func (p *parser) keyFollows() bool {
	rest := strings.TrimLeftFunc(p.s[p.at+1:], unicode.IsSpace)
	rest, ok := strings.CutPrefix(rest, ",")
	r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(rest, unicode.IsSpace))
	return ok && (closing(r) != 0 || unicode.IsLetter(r))
}

// member reads a key and its value. A key that the end of the text cut off from
// its value is left out.
func (p *parser) member(depth int, take func(Member)) (err error) {
	m := Member{At: p.at}
	if m.Key, err = p.key(); err != nil {
		return err
	}
	switch r := p.peek(); {
	case r == end:
		return p.lone(m.Key)
	case r == ':':
		p.take()
	case r == '=' && p.mend("read = as a colon"):
		p.at++
		p.at += len(p.s[p.at:]) - len(strings.TrimPrefix(p.s[p.at:], ">"))
	default:
		return p.fail(`%q where ":" was expected`, r)
	}
	switch r := p.peek(); {
	case r == end:
		return p.lone(m.Key)
	case !p.Exact && (r == ',' || r == '}' || r == ']') && p.mend("read a missing value as null"):
	default:
		m.Value, err = p.value(depth + 1)
	}
	take(m)
	return err
}

// lone refuses a key behind which the text ends, or lets it be left out.
func (p *parser) lone(key string) error {
	if !p.Kept {
		return nil
	}
	return p.fail("the text ends behind the key %q", protocol.Short(key, 40))
}

func (p *parser) key() (string, error) {
	r, from := p.peek(), p.at
	if p.quote(r) {
		return p.text()
	}
	if !p.lenient {
		return "", p.fail("%q where a quoted key was expected", r)
	}
	for p.at < len(p.s) && !comment(p.s[p.at:]) {
		r, size := utf8.DecodeRuneInString(p.s[p.at:])
		if strings.ContainsRune(":=,{}[]\n", narrow(r)) || closing(r) != 0 || p.Exact && unicode.IsSpace(r) {
			break
		}
		p.at += size
	}
	key := strings.TrimFunc(p.s[from:p.at], blank)
	if key == "" || strings.ContainsFunc(key, unicode.IsSpace) && p.peek() != ':' {
		p.at = from
		return "", p.fail("%q where a key was expected", r)
	}
	p.mendAt("read a key without quotes", from)
	return strings.ToValidUTF8(key, "\ufffd"), nil
}

// separator takes the comma behind a member or an element.
func (p *parser) separator(closer rune) error {
	switch r := p.peek(); {
	case r == ',':
		at := p.at
		p.take()
		if p.peek() == closer && !p.mendAt("left out an extra comma or colon", at) {
			return p.fail("a comma before %q", closer)
		}
	case r == end, r == closer, p.lenient && (r == '}' || r == ']'):
	case !p.mend("put in a missing comma"):
		return p.fail(`%q where "," or %q was expected`, r, closer)
	}
	return nil
}

func (p *parser) cut(what string) error {
	if p.mend("closed what was cut off") {
		return nil
	}
	return p.fail("the text ends inside %s", what)
}
