// Package value has the values of a script whose texts are expressions.
package value

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/protocol"
)

// Made is a value of a definition in which texts that begin with "=" are expressions.
// The text "==x" is "=x".
type Made struct {
	Literal any // of a value without expressions
	program *expr.Program
	list    []*Made
	Fields  map[string]*Made
	Dynamic bool // there is an expression in it
}

// Compile reads a value; fault gets the steps to a text that is no expression.
func Compile(v any, roots []string, steps []any, fault func(steps []any, message string)) *Made {
	switch x := v.(type) {
	case string:
		switch {
		case strings.HasPrefix(x, "=="):
			return &Made{Literal: x[1:]}
		case strings.HasPrefix(x, "="):
			p, err := expr.Compile(x[1:], roots...)
			if err != nil {
				fault(steps, "the expression does not compile: "+err.Error())
				return &Made{}
			}
			return &Made{program: p, Dynamic: true}
		}
	case []any:
		m := &Made{}
		for i, e := range x {
			sub := Compile(e, roots, append(slices.Clip(steps), i), fault)
			m.list, m.Dynamic = append(m.list, sub), m.Dynamic || sub.Dynamic
		}
		if m.Dynamic || len(m.list) > 0 {
			m.Literal = []any{}
			return m
		}
	case map[string]any:
		m := &Made{Literal: map[string]any{}, Fields: map[string]*Made{}}
		for _, key := range protocol.SortedKeys(x) {
			sub := Compile(x[key], roots, append(slices.Clip(steps), key), fault)
			m.Fields[key], m.Dynamic = sub, m.Dynamic || sub.Dynamic
		}
		return m
	}
	return &Made{Literal: v}
}

// Eval makes the value.
func (m *Made) Eval(env expr.Env) (any, error) {
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
			v, err := e.Eval(env)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case m.Fields != nil:
		out := make(map[string]any, len(m.Fields))
		for _, key := range protocol.SortedKeys(m.Fields) {
			v, err := m.Fields[key].Eval(env)
			if err != nil {
				return nil, err
			}
			out[key] = v
		}
		return out, nil
	}
	return m.Literal, nil
}

// Static is the value without what its expressions make, which is nil.
func (m *Made) Static() any {
	if m.Dynamic && m.Fields == nil {
		return nil
	}
	if m.Fields == nil {
		v, _ := m.Eval(nil)
		return v
	}
	out := make(map[string]any, len(m.Fields))
	for key, f := range m.Fields {
		out[key] = f.Static()
	}
	return out
}
