package expr

import (
	"fmt"
	"math"
	"slices"

	"tavernsim/protocol"
)

// Limits of an expression. Beyond them Compile refuses.
const (
	MaxSource = 8192 // bytes of text
	MaxArrows = 8    // arrow functions in one expression
	MaxLocals = 8    // arrow parameters visible at one place
	MaxNested = 256  // nodes inside each other

	DefaultSteps = 10_000  // budget of one evaluation
	BytesPerStep = 1024    // text read or made for one step
	ItemsPerStep = 16      // list items read or copied for one step
	MaxValues    = 1 << 20 // values of a result that the expression has made, parts several times
)

// Env gives the roots of an expression their values. Lookup returns a protocol
// value, which the expression reads and never writes.
type Env interface {
	Lookup(root string) (value any, ok bool)
}

// Map is an Env that holds its roots.
type Map map[string]any

// Lookup finds a root.
func (m Map) Lookup(root string) (any, bool) {
	v, ok := m[root]
	return v, ok
}

// Program is a compiled expression.
type Program struct {
	source string
	top    node
	roots  []string
	steps  int
	fresh  bool // the expression can make lists or objects
}

// Compile reads an expression over the named roots. Its error is an [*Error].
func Compile(src string, roots ...string) (*Program, error) {
	tree, err := parse(src)
	if err != nil {
		return nil, err
	}
	c := &compiler{src: src, roots: roots, used: map[string]bool{}}
	top, err := c.compile(tree)
	if err != nil {
		return nil, err
	}
	p := &Program{source: src, top: top, roots: protocol.SortedKeys(c.used), steps: DefaultSteps, fresh: c.fresh}
	return p, nil
}

// Names are the roots that an expression reads if it may read any, sorted; none of one that Compile refuses.
func Names(src string) []string {
	tree, err := parse(src)
	if err != nil {
		return nil
	}
	c := &compiler{src: src, any: true, used: map[string]bool{}}
	if _, err := c.compile(tree); err != nil {
		return nil
	}
	return protocol.SortedKeys(c.used)
}

// Source is the text that was compiled.
func (p *Program) Source() string { return p.source }

// Uses reports whether the expression reads a root. A filter that does not use
// self has one answer for all receivers.
func (p *Program) Uses(root string) bool { return slices.Contains(p.roots, root) }

// Makes reports whether the result may be a list or an object that was not there
// before.
func (p *Program) Makes() bool { return p.fresh }

// WithSteps returns the same program under another budget; below 1 is 1.
func (p *Program) WithSteps(steps int) *Program {
	q := *p
	q.steps = max(1, steps)
	return &q
}

// Eval computes the value. undefined becomes nil, and in an object the key is
// left out; a result that is not a finite number is an error, for it is no
// protocol value.
func (p *Program) Eval(env Env) (any, error) {
	m := machine{env: env, left: p.steps}
	v, err := m.eval(p.top)
	if err != nil {
		return nil, m.failed(p, err)
	}
	x := exporting{p.fresh, MaxValues}
	return x.export(v)
}

// EvalBool computes the value and reports whether JavaScript takes it for true.
func (p *Program) EvalBool(env Env) (bool, error) {
	m := machine{env: env, left: p.steps}
	ok, err := m.truth(p.top)
	if err != nil {
		return false, m.failed(p, err)
	}
	return ok, nil
}

func (m *machine) failed(p *Program, err error) error {
	if m.left < 0 {
		return &Error{Kind: protocol.KindLimit, Line: 1, Column: 1,
			Message: fmt.Sprintf("more than %d steps", p.steps), Hint: "make the lists or texts smaller"}
	}
	return err
}

// Truthy reports whether JavaScript takes a value for true.
func Truthy(v any) bool {
	switch x := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return x
	case int64:
		return x != 0
	case float64:
		return x != 0 && !math.IsNaN(x)
	case string:
		return x != ""
	}
	return true
}

// exporting turns the machine's value into a protocol value. Lists and objects
// are walked only when the expression could have made one, and then all of the
// result: what stands in it several times is copied each time.
type exporting struct {
	fresh bool
	left  int // values that the result may have
}

func (x *exporting) export(v any) (any, error) {
	if x.left--; x.left < 0 {
		return nil, &Error{Kind: protocol.KindLimit, Line: 1, Column: 1,
			Message: "the result has too many values", Hint: "what stands in it several times counts each time"}
	}
	switch v := v.(type) {
	case undefined:
		return nil, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, &Error{Kind: protocol.KindInvalid, Line: 1, Column: 1,
				Message: "the result is " + numberText(v) + ", which is no value", Hint: "guard the computation, as in (x || 0)"}
		}
		if v == 0 {
			return int64(0), nil // also for -0
		}
	case []any:
		if x.fresh {
			return x.list(v)
		}
	case map[string]any:
		if x.fresh {
			return x.object(v)
		}
	}
	return v, nil
}

func (x *exporting) list(list []any) (any, error) {
	out := make([]any, len(list))
	var err error
	for i, e := range list {
		if out[i], err = x.export(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (x *exporting) object(m map[string]any) (any, error) {
	out := make(map[string]any, len(m))
	for _, k := range protocol.SortedKeys(m) {
		if _, none := m[k].(undefined); none {
			continue
		}
		v, err := x.export(m[k])
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}
