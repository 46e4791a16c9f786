package scripted

import (
	"strconv"

	"tavernsim/engine/expr"
	"tavernsim/engine/template"
	"tavernsim/protocol"
)

// A value template is a value whose texts are templates. A text that is one
// action and nothing else keeps the type of what it yields; an object with the
// single key $expr is an expression.
const exprKey = "$expr"

// maker builds the value of one place.
type maker func(e *env) (any, error)

// value compiles a value template. Parts without templates are shared by all
// answers: values are read-only.
func (c *compiler) value(v any, steps []string) maker {
	if m, dynamic := c.part(v, steps); dynamic {
		return m
	}
	n, err := protocol.Normalize(v)
	if err != nil {
		c.fault(steps, "", "%v", err)
	}
	return func(*env) (any, error) { return n, nil }
}

// part reports also whether anything in v is to be computed.
func (c *compiler) part(v any, steps []string) (maker, bool) {
	switch x := v.(type) {
	case string:
		return c.textPart(x, steps)
	case []any:
		return c.listPart(x, steps)
	case map[string]any:
		if src, ok := x[exprKey]; ok {
			return c.exprPart(x, src, down(steps, exprKey))
		}
		return c.objectPart(x, steps)
	}
	n, err := protocol.Normalize(v)
	if err != nil {
		c.fault(steps, "", "%v", err)
	}
	return constant(n), false
}

func constant(v any) maker { return func(*env) (any, error) { return v, nil } }

func (c *compiler) textPart(s string, steps []string) (maker, bool) {
	t := c.template(s, steps)
	if t == nil {
		return constant(s), false
	}
	if text, ok := t.Const(); ok {
		return constant(text), text != s
	}
	return func(e *env) (any, error) { return t.Value(e, e) }, true
}

func (c *compiler) exprPart(x map[string]any, src any, steps []string) (maker, bool) {
	text, ok := src.(string)
	if !ok || len(x) != 1 {
		c.fault(steps, "", "want {%q: \"expression\"} and nothing beside it", exprKey)
		return constant(nil), false
	}
	p := c.expression(text, steps)
	return func(e *env) (any, error) { return evaluate(p, e) }, true
}

func evaluate(p *expr.Program, e *env) (any, error) {
	v, err := p.Eval(e)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "expression %q: %w", p.Source(), err)
	}
	return v, nil
}

func (c *compiler) listPart(x []any, steps []string) (maker, bool) {
	parts := make([]maker, len(x))
	dynamic := false
	for i, e := range x {
		m, d := c.part(e, down(steps, strconv.Itoa(i)))
		parts[i], dynamic = m, dynamic || d
	}
	return func(e *env) (any, error) {
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
func (c *compiler) objectPart(x map[string]any, steps []string) (maker, bool) {
	names := protocol.SortedKeys(x)
	parts := make([]maker, len(names))
	dynamic := false
	for i, name := range names {
		m, d := c.part(x[name], down(steps, name))
		parts[i], dynamic = m, dynamic || d
	}
	return func(e *env) (any, error) {
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

var _ template.Source = (*env)(nil)
