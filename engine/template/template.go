package template

import (
	"fmt"
	"strings"
	"text/template/parse"

	"tavernsim/protocol"
)

// Bounds of a template. Beyond them is an error, never a cut text.
const (
	MaxSource = 256 << 10 // bytes of a template's source
	MaxOutput = 1 << 20   // bytes that one execution may add
	MaxSteps  = 1_000_000 // rounds of all ranges of one execution
	MaxMade   = 64 << 20  // bytes of what the functions of one execution make, and of one value
)

// Source names the data of one execution: the value behind each root name.
type Source interface {
	Lookup(root string) (any, bool)
}

// Map is a Source of an object.
type Map map[string]any

// Lookup finds a root.
func (m Map) Lookup(root string) (any, bool) {
	v, ok := m[root]
	return v, ok
}

// Template is compiled text. The zero Template is not ready.
type Template struct {
	name  string
	roots []string // sorted; nil = whatever the source has

	body  []segment
	whole eval // the only action, when there is nothing else
	slots int  // variables
	heap  bool // there is a range or a call: an execution needs a frame
}

// Option of Compile.
type Option func(*compiler)

// Funcs adds functions to the standard ones, or replaces some of them.
func Funcs(funcs map[string]Func) Option {
	return func(c *compiler) {
		for _, name := range protocol.SortedKeys(funcs) {
			c.funcs[name] = funcs[name]
		}
	}
}

// Roots names everything that the data hold, so that Compile can refuse other
// names; without names it refuses all.
func Roots(names ...string) Option {
	return func(c *compiler) { c.setRoots(names) }
}

// Compile reads a template. The name stands in its errors.
func Compile(name, src string, opts ...Option) (*Template, error) {
	if len(src) > MaxSource {
		return nil, protocol.Errorf(protocol.KindLimit, "template %s: %d bytes; the limit is %d", name, len(src), MaxSource)
	}
	c := newCompiler(name, src)
	for _, opt := range opts {
		opt(c)
	}
	tree, err := c.parse()
	if err != nil {
		return nil, err
	}
	return c.compile(tree)
}

// Names are what a template reads of its data, sorted; none of one that Compile refuses.
func Names(src string) []string {
	c := newCompiler("", src)
	if c.used = map[string]bool{}; len(src) > MaxSource {
		return nil
	}
	if _, err := c.parse(); err != nil {
		return nil
	}
	return protocol.SortedKeys(c.used)
}

// Const reports the text of a template that holds no action.
func (t *Template) Const() (string, bool) {
	switch {
	case len(t.body) == 0:
		return "", true
	case len(t.body) == 1 && t.body[0].run == nil:
		return t.body[0].text, true
	}
	return "", false
}

// AppendFrom adds the text for a source to dst; state is handed to the
// functions. On error dst comes back as it was.
func (t *Template) AppendFrom(dst []byte, src Source, state any) ([]byte, error) {
	e := t.start(src, state, len(dst)+MaxOutput)
	out, err := e.run(dst, t.body)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// Value gives what a whole template's action yields, with its type, and the
// text of any other template.
func (t *Template) Value(src Source, state any) (any, error) {
	if t.whole != nil {
		return t.whole(t.start(src, state, 0))
	}
	if s, ok := t.Const(); ok {
		return s, nil
	}
	b, err := t.AppendFrom(nil, src, state)
	if err != nil {
		return nil, err
	}
	return string(b), nil
}

// all makes the object that "." stands for.
func (t *Template) all(src Source) map[string]any {
	if m, ok := src.(Map); ok {
		return m
	}
	m := make(map[string]any, len(t.roots))
	for _, name := range t.roots {
		if v, ok := src.Lookup(name); ok {
			m[name] = v
		}
	}
	return m
}

// errorAt makes the error of a place in a template.
func errorAt(kind protocol.ErrorKind, name, src string, pos parse.Pos, format string, args ...any) error {
	before := src[:min(int(pos), len(src))]
	line := 1 + strings.Count(before, "\n")
	col := 1 + len(before) - (strings.LastIndexByte(before, '\n') + 1)
	return protocol.Errorf(kind, "template %s:%d:%d: %w", name, line, col, fmt.Errorf(format, args...))
}

func errLimit(name string) error {
	return protocol.Errorf(protocol.KindLimit, "template %s: more than %d bytes of text; the limit holds for one execution and for what a function makes", name, MaxOutput)
}
