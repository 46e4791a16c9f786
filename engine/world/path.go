package world

import (
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// Bounds of a path.
const (
	MaxPathDepth = 32   // segments
	MaxPathBytes = 2048 // of the written form
)

// SegmentKind says how a segment was written.
type SegmentKind uint8

const (
	Name    SegmentKind = iota // a key of an object; plain digits also index an existing list
	Index                      // [n]: an element of an existing list; negative counts from the end
	Append                     // [-]: the place after the last element of an existing list
	AnyOne                     // * in a pattern: any one child
	AnyDeep                    // ** in a pattern: any number of segments, also none
)

// Segment is one step of a path.
type Segment struct {
	Key  string // Kind Name
	Pos  int    // Kind Index
	Kind SegmentKind
}

// Path leads from the root of a document to a place in it. It is a list of
// segments and never text, so a dot in a key cannot split it. The empty path is
// the root.
type Path []Segment

// P makes a path of names. For literal paths in code.
func P(names ...string) Path {
	p := make(Path, len(names))
	for i, n := range names {
		p[i].Key = n
	}
	return p
}

// Key returns the path of a child; p is not touched.
func (p Path) Key(name string) Path { return p.with(Segment{Key: name}) }

// At returns the path of a list element; p is not touched.
func (p Path) At(i int) Path { return p.with(Segment{Kind: Index, Pos: i}) }

func (p Path) with(s Segment) Path {
	out := make(Path, len(p)+1)
	copy(out, p)
	out[len(p)] = s
	return out
}

// ParsePath reads a path. Segments are separated by dots; `\` takes the next
// character as it is; ["a.b"] or ['a.b'] quote a name; [n], .n, [-1] and [-]
// address a list. Blanks around the whole are dropped, blanks inside belong to
// the name. Empty segments and unquoted wildcards are errors.
func ParsePath(s string) (Path, error) { return parse(s, false) }

func parse(s string, wild bool) (Path, error) {
	text := strings.TrimSpace(s)
	if len(text) > MaxPathBytes {
		return nil, pathError(text[:64]+"...", "it has %d bytes; the limit is %d", len(text), MaxPathBytes)
	}
	p := pathParser{text: text, wild: wild}
	if text != "" {
		p.out = make(Path, 0, min(MaxPathDepth+1, 1+strings.Count(text, ".")+strings.Count(text, "[")))
	}
	for p.i < len(text) || p.dot {
		if err := p.segment(); err != nil {
			return nil, err
		}
	}
	if len(p.out) == 0 {
		return nil, pathError(text, "it is empty")
	}
	if len(p.out) > MaxPathDepth {
		return nil, pathError(text, "it has %d segments; the limit is %d", len(p.out), MaxPathDepth)
	}
	return p.out, nil
}

func pathError(text, format string, args ...any) error {
	return protocol.Errorf(protocol.KindInvalid, "path %q: "+format, append([]any{text}, args...)...)
}

type pathParser struct {
	text string
	i    int
	wild bool
	dot  bool // a dot was read and a name must follow
	out  Path
}

func (p *pathParser) segment() error {
	if p.i < len(p.text) && p.text[p.i] == '[' && !p.dot {
		return p.bracket()
	}
	return p.name()
}

func (p *pathParser) name() error {
	start := p.i
	var b []byte
	plain := true
scan:
	for p.i < len(p.text) {
		switch c := p.text[p.i]; c {
		case '.', '[':
			break scan
		case '\\':
			if p.i+1 == len(p.text) {
				return pathError(p.text, `it ends in a single "\"; write "\\" for one`)
			}
			if plain {
				b, plain = append(b, p.text[start:p.i]...), false
			}
			b = append(b, p.text[p.i+1])
			p.i += 2
		default:
			if !plain {
				b = append(b, c)
			}
			p.i++
		}
	}
	key := p.text[start:p.i]
	if !plain {
		key = string(b)
	}
	if key == "" {
		return pathError(p.text, "segment %d is empty; name it, or drop the extra dot", len(p.out)+1)
	}
	if plain && (key == "*" || key == "**") {
		return p.wildcard(key)
	}
	p.out = append(p.out, Segment{Key: key})
	return p.next()
}

func (p *pathParser) wildcard(key string) error {
	if !p.wild {
		return pathError(p.text, `%q is a wildcard and only a query or pattern may hold one; quote a key of that name: ["%s"]`, key, key)
	}
	kind := AnyOne
	if key == "**" {
		kind = AnyDeep
	}
	p.out = append(p.out, Segment{Kind: kind})
	return p.next()
}

// next takes the separator after a segment.
func (p *pathParser) next() error {
	p.dot = false
	if p.i == len(p.text) {
		return nil
	}
	switch p.text[p.i] {
	case '.':
		p.i++
		p.dot = true
		return nil
	case '[':
		return nil
	}
	return pathError(p.text, `after "]" at byte %d comes %q; want "." or "["`, p.i, p.text[p.i:])
}

func (p *pathParser) bracket() error {
	p.i++
	if p.i < len(p.text) && (p.text[p.i] == '"' || p.text[p.i] == '\'') {
		return p.quoted(p.text[p.i])
	}
	end := strings.IndexByte(p.text[p.i:], ']')
	if end < 0 {
		return pathError(p.text, `"[" without "]"`)
	}
	inner := strings.TrimSpace(p.text[p.i : p.i+end])
	p.i += end + 1
	switch inner {
	case "-":
		p.out = append(p.out, Segment{Kind: Append})
		return p.next()
	case "*", "**":
		return p.wildcard(inner)
	}
	n, err := strconv.ParseInt(inner, 10, 32)
	if err != nil {
		return pathError(p.text, `[%s] is no position; want a number, "-" or a quoted name`, inner)
	}
	p.out = append(p.out, Segment{Kind: Index, Pos: int(n)})
	return p.next()
}

func (p *pathParser) quoted(quote byte) error {
	p.i++
	var b []byte
	for p.i < len(p.text) && p.text[p.i] != quote {
		if p.text[p.i] == '\\' && p.i+1 < len(p.text) {
			p.i++
		}
		b = append(b, p.text[p.i])
		p.i++
	}
	if p.i+1 >= len(p.text) || p.text[p.i+1] != ']' {
		return pathError(p.text, `a quoted name must end in %c]`, quote)
	}
	if len(b) == 0 {
		return pathError(p.text, "segment %d is empty", len(p.out)+1)
	}
	p.i += 2
	p.out = append(p.out, Segment{Key: string(b)})
	return p.next()
}

// String writes the path so that [ParsePath] (or [ParsePattern]) reads it back.
func (p Path) String() string {
	var b []byte
	for i, s := range p {
		b = s.append(b, i == 0)
	}
	return string(b)
}

func (s Segment) append(b []byte, first bool) []byte {
	switch s.Kind {
	case Index:
		return append(strconv.AppendInt(append(b, '['), int64(s.Pos), 10), ']')
	case Append:
		return append(b, "[-]"...)
	case AnyOne, AnyDeep:
		if !first {
			b = append(b, '.')
		}
		return append(b, "**"[:s.Kind-AnyOne+1]...)
	}
	if s.plain() {
		if !first {
			b = append(b, '.')
		}
		return append(b, s.Key...)
	}
	b = append(b, '[', '"')
	for i := range len(s.Key) {
		if s.Key[i] == '"' || s.Key[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s.Key[i])
	}
	return append(b, '"', ']')
}

// plain reports whether a name may stand unquoted.
func (s Segment) plain() bool {
	return s.Key != "" && s.Key != "*" && s.Key != "**" &&
		!strings.ContainsAny(s.Key, `.[]\"'`) && strings.TrimSpace(s.Key) == s.Key
}

// Reserved reports whether a key must not be written by name: state is also
// read by JavaScript, and keys that begin with "__" are the engine's own.
func Reserved(key string) bool {
	return strings.HasPrefix(key, "__") || key == "constructor" || key == "prototype"
}

// CheckWrite refuses a path that nobody may write: the root, a wildcard, too
// deep, a reserved or empty segment.
func (p Path) CheckWrite() error {
	if len(p) == 0 {
		return pathError("", "the root cannot be written; name a child of it")
	}
	if len(p) > MaxPathDepth {
		return pathError(p.String(), "it has %d segments; the limit is %d", len(p), MaxPathDepth)
	}
	for i := range p {
		switch s := &p[i]; {
		case s.Kind >= AnyOne:
			return pathError(p.String(), "a wildcard cannot be written")
		case s.Kind == Name && s.Key == "":
			return pathError(p.String(), "segment %d is empty", i+1)
		case s.Kind == Name && Reserved(s.Key):
			return pathError(p.String(), "%q is reserved", s.Key)
		}
	}
	return nil
}

// position reads a segment as a place in a list of n elements; for Append it is
// n. A name of plain digits counts as a position.
func (s Segment) position(n int) (int, bool) {
	switch s.Kind {
	case Append:
		return n, true
	case Index:
		if s.Pos < 0 {
			return n + s.Pos, n+s.Pos >= 0
		}
		return s.Pos, true
	}
	return Digits(s.Key)
}

// Digits reads a plain decimal number: no sign, no leading zero, at most nine
// digits.
func Digits(s string) (int, bool) {
	if s == "" || len(s) > 9 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int(c)
	}
	return n, true
}
