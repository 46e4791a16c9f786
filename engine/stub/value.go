package stub

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// Env is what templates and expressions read: a request, or a call.
type Env interface{ Lookup(root string) (any, bool) }

// Compiler compiles the parts of one file.
type Compiler struct {
	Roots []string                 // that templates and expressions read
	Funcs map[string]template.Func // that templates call; their state is the Env
	Fault func(steps []string, suggestion, message string)
}

// Down are the steps to a place below.
func Down(steps []string, more ...string) []string { return append(slices.Clip(steps), more...) }

// Faultf reports a fault.
func (c *Compiler) Faultf(steps []string, suggestion, format string, args ...any) {
	c.Fault(steps, suggestion, fmt.Sprintf(format, args...))
}

// Template compiles text; nil for no text.
func (c *Compiler) Template(src string, steps []string) *template.Template {
	if src == "" {
		return nil
	}
	t, err := template.Compile(strings.Join(steps, "."), src, template.Funcs(c.Funcs), template.Roots(c.Roots...))
	if err != nil {
		c.Faultf(steps, "", "%v", err)
		return nil
	}
	return t
}

// Expression compiles an expression.
func (c *Compiler) Expression(src string, steps []string) *expr.Program {
	p, err := expr.Compile(src, c.Roots...)
	if err != nil {
		c.Faultf(steps, "", "the expression does not compile: %v", err)
	}
	return p
}

// A value template is a value whose texts are templates. A text that is one
// action and nothing else keeps the type of what it yields; an object with the
// single key $expr is an expression.
const exprKey = "$expr"

// Maker makes the value of one place.
type Maker func(e Env) (any, error)

// Value compiles a value template. Parts without templates are shared by all
// answers: values are read-only.
func (c *Compiler) Value(v any, steps []string) Maker {
	m, fixed := c.Shared(v, steps)
	if m == nil {
		m = constant(fixed)
	}
	return m
}

// Shared is Value for a caller that counts what all answers share: without templates there is no
// maker, but the value.
func (c *Compiler) Shared(v any, steps []string) (m Maker, fixed any) {
	if m, dynamic := c.part(v, steps); dynamic {
		return m, nil
	}
	n, err := protocol.Normalize(v)
	if err != nil {
		c.Faultf(steps, "", "%v", err)
	}
	return nil, n
}

// part reports also whether anything in v is to be computed.
func (c *Compiler) part(v any, steps []string) (Maker, bool) {
	switch x := v.(type) {
	case string:
		return c.textPart(x, steps)
	case []any:
		return c.listPart(x, steps)
	case map[string]any:
		if src, ok := x[exprKey]; ok {
			return c.exprPart(x, src, Down(steps, exprKey))
		}
		return c.objectPart(x, steps)
	}
	n, err := protocol.Normalize(v)
	if err != nil {
		c.Faultf(steps, "", "%v", err)
	}
	return constant(n), false
}

func constant(v any) Maker { return func(Env) (any, error) { return v, nil } }

func (c *Compiler) textPart(s string, steps []string) (Maker, bool) {
	t := c.Template(s, steps)
	if t == nil {
		return constant(s), false
	}
	if text, ok := t.Const(); ok {
		return constant(text), text != s
	}
	return func(e Env) (any, error) { return t.Value(e, e) }, true
}

func (c *Compiler) exprPart(x map[string]any, src any, steps []string) (Maker, bool) {
	text, ok := src.(string)
	if !ok || len(x) != 1 {
		c.Faultf(steps, "", "want {%q: \"expression\"} and nothing beside it", exprKey)
		return constant(nil), false
	}
	p := c.Expression(text, steps)
	return func(e Env) (any, error) { return evaluate(p, e) }, true
}

func evaluate(p *expr.Program, e Env) (any, error) {
	v, err := p.Eval(e)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "expression %q: %w", p.Source(), err)
	}
	return v, nil
}

func (c *Compiler) listPart(x []any, steps []string) (Maker, bool) {
	parts := make([]Maker, len(x))
	dynamic := false
	for i, e := range x {
		m, d := c.part(e, Down(steps, strconv.Itoa(i)))
		parts[i], dynamic = m, dynamic || d
	}
	return func(e Env) (any, error) {
		out := make([]any, len(parts))
		for i, m := range parts {
			v, err := m(e)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	}, dynamic
}

// objectPart makes the fields in the order of their names, which is the order
// in which they draw.
func (c *Compiler) objectPart(x map[string]any, steps []string) (Maker, bool) {
	names := protocol.SortedKeys(x)
	parts := make([]Maker, len(names))
	dynamic := false
	for i, name := range names {
		m, d := c.part(x[name], Down(steps, name))
		parts[i], dynamic = m, dynamic || d
	}
	return func(e Env) (any, error) {
		out := make(map[string]any, len(names))
		for i, m := range parts {
			v, err := m(e)
			if err != nil {
				return nil, err
			}
			out[names[i]] = v
		}
		return out, nil
	}, dynamic
}
