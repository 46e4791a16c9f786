package script

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// made is a value of a definition in which texts that begin with "=" are expressions.
// The text "==x" is "=x".
type made struct {
	literal any // of a value without expressions
	program *expr.Program
	list    []*made
	fields  map[string]*made
	dynamic bool // there is an expression in it
}

// compileValue reads a value; fault gets the steps to a text that is no expression.
func compileValue(v any, roots []string, steps []any, fault func(steps []any, message string)) *made {
	switch x := v.(type) {
	case string:
		switch {
		case strings.HasPrefix(x, "=="):
			return &made{literal: x[1:]}
		case strings.HasPrefix(x, "="):
			p, err := expr.Compile(x[1:], roots...)
			if err != nil {
				fault(steps, "the expression does not compile: "+err.Error())
				return &made{}
			}
			return &made{program: p, dynamic: true}
		}
	case []any:
		m := &made{}
		for i, e := range x {
			sub := compileValue(e, roots, append(slices.Clip(steps), i), fault)
			m.list, m.dynamic = append(m.list, sub), m.dynamic || sub.dynamic
		}
		if m.dynamic || len(m.list) > 0 {
			m.literal = []any{}
			return m
		}
	case map[string]any:
		m := &made{literal: map[string]any{}, fields: map[string]*made{}}
		for _, key := range protocol.SortedKeys(x) {
			sub := compileValue(x[key], roots, append(slices.Clip(steps), key), fault)
			m.fields[key], m.dynamic = sub, m.dynamic || sub.dynamic
		}
		return m
	}
	return &made{literal: v}
}

// eval makes the value.
func (m *made) eval(env expr.Env) (any, error) {
	switch {
	case m.program != nil:
		v, err := m.program.Eval(env)
		if err != nil {
			return nil, err
		}
		if v, err = protocol.Normalize(v); err != nil {
			return nil, fmt.Errorf("=%s: %w", m.program.Source(), err)
		}
		return v, nil
	case m.list != nil:
		out := make([]any, len(m.list))
		for i, e := range m.list {
			v, err := e.eval(env)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case m.fields != nil:
		out := make(map[string]any, len(m.fields))
		for _, key := range protocol.SortedKeys(m.fields) {
			v, err := m.fields[key].eval(env)
			if err != nil {
				return nil, err
			}
			out[key] = v
		}
		return out, nil
	}
	return m.literal, nil
}

// static is the value without what its expressions make, which is nil.
func (m *made) static() any {
	if m.dynamic && m.fields == nil {
		return nil
	}
	if m.fields == nil {
		v, _ := m.eval(nil)
		return v
	}
	out := make(map[string]any, len(m.fields))
	for key, f := range m.fields {
		out[key] = f.static()
	}
	return out
}
