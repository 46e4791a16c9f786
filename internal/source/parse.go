package source

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Limits of one file. A zero field takes the default.
type Limits struct {
	MaxBytes int // default 16 MiB
	MaxDepth int // nesting of lists and objects; default protocol.MaxDepth
	MaxNodes int // values, aliases expanded; default 2,000,000
	// Wide takes a whole number beyond 64 bits for a float. It is for what programs and servers write; of
	// who writes a definition another notation is wanted.
	Wide bool
	// Secret says that values of the file may be secrets: faults of Parse and of a Decoder say of which kind
	// a value is, and never quote it.
	Secret bool
}

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxBytes: orDefault(l.MaxBytes, 16<<20),
		MaxDepth: orDefault(l.MaxDepth, protocol.MaxDepth),
		MaxNodes: orDefault(l.MaxNodes, 2_000_000),
		Wide:     l.Wide,
		Secret:   l.Secret,
	}
}

func orDefault(v, def int) int {
	if v <= 0 {
		return def
	}
	return v
}

// Extensions lists the endings of the files that Parse reads.
func Extensions() []string { return []string{".json", ".jsonc", ".yaml", ".yml"} }

// Parse reads one file; its ending decides the notation, and anything but .yaml
// and .yml is JSON with comments. It returns nil when the file has a syntax
// error or exceeds a limit, else a document, possibly with faults in the report.
func Parse(file string, data []byte, lim Limits, report *Report) *Document {
	p := &parser{file: file, lim: lim.withDefaults(), report: report}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !p.sound(data) {
		return nil
	}
	var root *Node
	switch strings.ToLower(path.Ext(file)) {
	case ".yaml", ".yml":
		root = p.yaml(data)
	default:
		root = p.json(data)
	}
	if root == nil {
		return nil
	}
	return &Document{File: file, Root: root, limits: p.lim}
}

// ParseValue reads a text of which the value alone counts. The error says all that is wrong with it.
func ParseValue(file string, data []byte, lim Limits) (any, error) {
	report := &Report{}
	doc := Parse(file, data, lim, report)
	if err := report.Err(); err != nil {
		return nil, err
	}
	return doc.Root.Value(), nil
}

type parser struct {
	file   string
	lim    Limits
	report *Report
	nodes  int
	failed bool // a limit was hit: stop at once
}

func (p *parser) fault(pos Pos, path *trail, message, suggestion string) {
	p.report.Add(Fault{File: p.file, Line: pos.Line, Column: pos.Column,
		Path: path.String(), Message: message, Suggestion: suggestion})
}

// older notes a fault that older programs let pass.
func (p *parser) older(pos Pos, path *trail, message, suggestion string) {
	before := *p
	before.report = cmp.Or(p.report.Strict, p.report)
	before.fault(pos, path, message, suggestion)
}

// sound checks what holds for both notations before a parser sees the bytes.
func (p *parser) sound(data []byte) bool {
	if len(data) > p.lim.MaxBytes {
		p.fault(Pos{}, nil, fmt.Sprintf("the file has %d bytes; the limit is %d", len(data), p.lim.MaxBytes), "split it")
		return false
	}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, n := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		p.fault(newCursor(data).at(at), nil, fmt.Sprintf("byte 0x%02x is not UTF-8", data[at]), "save the file as UTF-8")
		return false
	}
	return true
}

// count charges one node and reports whether the file may go on.
func (p *parser) count(pos Pos, depth int, path *trail) bool {
	p.nodes++
	switch {
	case p.failed:
		return false
	case p.nodes > p.lim.MaxNodes:
		p.fault(pos, path, fmt.Sprintf("the file has more than %d values", p.lim.MaxNodes), "split it; YAML aliases count as what they stand for")
		p.failed = true
	case depth > p.lim.MaxDepth:
		p.fault(pos, path, fmt.Sprintf("nested deeper than %d", p.lim.MaxDepth), "")
		p.failed = true
	}
	return !p.failed
}

// integer makes a whole number's node value; what 64 signed bits cannot hold is
// refused, because a float would silently be another number, or is one if the limits say so.
func (p *parser) integer(n *Node, digits string, base int, path *trail) {
	i, err := strconv.ParseInt(digits, base, 64)
	if err != nil && p.lim.Wide && base == 10 {
		p.float(n, digits, path)
		return
	}
	if err != nil {
		p.fault(n.Pos, path, "the number"+p.lim.quote(" "+clip(n.Literal), "")+" does not fit 64 signed bits", "write it as text, in quotes")
	}
	n.Kind, n.scalar = Integer, i
}

func (p *parser) float(n *Node, text string, path *trail) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		p.fault(n.Pos, path, "the number"+p.lim.quote(" "+clip(n.Literal), "")+" is not finite", "")
		f = 0
	}
	n.Kind, n.scalar = Float, f
}

// keySet finds keys that are given twice.
type keySet struct {
	p    *parser
	path *trail
	seen map[string]Pos
}

func (s *keySet) first(k Key) bool {
	if at, ok := s.seen[k.Name]; ok {
		s.p.fault(k.Pos, s.path.key(k.Name), fmt.Sprintf("key given twice; the first is at %d:%d", at.Line, at.Column), "remove one")
		return false
	}
	s.seen[k.Name] = k.Pos
	return true
}

// quote is a text that has a value of the file, or what is said in its place where values may be secrets.
func (l Limits) quote(text, otherwise string) string {
	if l.Secret {
		return otherwise
	}
	return text
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}

// cursor turns growing byte offsets into positions in one pass over the text.
type cursor struct {
	data   []byte
	offset int
	pos    Pos
}

func newCursor(data []byte) *cursor { return &cursor{data: data, pos: Pos{1, 1}} }

func (c *cursor) at(offset int) Pos {
	if offset < c.offset {
		*c = *newCursor(c.data)
	}
	for c.offset < min(offset, len(c.data)) {
		r, n := utf8.DecodeRune(c.data[c.offset:])
		c.offset += n
		if r == '\n' {
			c.pos = Pos{c.pos.Line + 1, 1}
		} else {
			c.pos.Column++
		}
	}
	return c.pos
}

// Stem is the name of a file without its folder and the last part behind a dot: what files of models are named by.
func Stem(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }
