package nodes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/engine/template"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// program compiles the expression of the configuration over the inputs that are
// declared and those that the user named.
func program(s *workflow.Setup) *expr.Program {
	const key = "expression"
	src := s.NeedText(key)
	s.Names(expr.Names(src))
	freeInputs(s)
	names := s.Inputs()
	if src == "" {
		return nil
	}
	p, err := expr.Compile(src, names...)
	if err != nil {
		s.Faultf(key, unnamed(err), "%v", err)
		return nil
	}
	return p
}

// outType reads the type of an output that the user chooses.
func outType(s *workflow.Setup, missing workflow.Type) workflow.Type {
	names := []string{string(missing)}
	for _, t := range workflow.Types() {
		names = append(names, string(t))
	}
	return workflow.Type(s.OneOf("type", names...))
}

// setTyped gives out a value in the type that was promised. It is new, or part of
// an input.
func setTyped(x *workflow.Exec, typ workflow.Type, out int, v any, made bool) error {
	c, err := workflow.Convert(v, typ)
	switch {
	case err != nil:
		return err
	case made || workflow.TypeOf(c) != workflow.TypeOf(v):
		x.Set(out, c)
	default:
		x.Share(out, c)
	}
	return nil
}

func expression(s *workflow.Setup) workflow.Body {
	p := program(s)
	typ := outType(s, workflow.Wildcard)
	return evaluate(p, typ, s.Out("value", typ))
}

func mathNode(s *workflow.Setup) workflow.Body {
	p := program(s)
	typ := workflow.Type(s.OneOf("type", string(workflow.Float), string(workflow.Integer)))
	return evaluate(p, typ, s.Out("result", typ))
}

func evaluate(p *expr.Program, typ workflow.Type, out int) workflow.Body {
	if p == nil {
		return nil
	}
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		v, err := p.Eval(x)
		if err != nil {
			return err
		}
		_, text := v.(string)
		return setTyped(x, typ, out, v, text || p.Makes())
	})
}

// condition is what Compare and Branch ask.
type condition func(x *workflow.Exec) (bool, error)

func expressionCondition(p *expr.Program) condition {
	if p == nil {
		return nil
	}
	return func(x *workflow.Exec) (bool, error) { return p.EvalBool(x) }
}

func compare(s *workflow.Setup) workflow.Body {
	out := s.Out("result", workflow.Boolean)
	var holds condition
	if s.Value("expression") != nil {
		holds = expressionCondition(program(s))
	} else {
		holds = comparison(s)
	}
	if holds == nil {
		return nil
	}
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		ok, err := holds(x)
		if err == nil {
			x.Set(out, ok)
		}
		return err
	})
}

func comparison(s *workflow.Setup) condition {
	op := s.OneOf("op", "eq", "ne", "lt", "le", "gt", "ge", "contains", "startsWith", "endsWith", "matches", "in", "exists", "empty")
	a := s.In(workflow.In{Name: "a"})
	if op == "exists" || op == "empty" {
		return func(x *workflow.Exec) (bool, error) {
			if op == "exists" {
				return x.In(a) != nil, nil
			}
			return !template.Truth(x.In(a)), nil
		}
	}
	b := s.In(workflow.In{Name: "b"})
	if op == "matches" {
		return pattern(s, a)
	}
	return func(x *workflow.Exec) (bool, error) { return judge(op, x.In(a), x.In(b)) }
}

// pattern is a regular expression (RE2) from the configuration.
func pattern(s *workflow.Setup, a int) condition {
	re, err := regexp.Compile(s.NeedText("pattern"))
	if err != nil {
		s.Faultf("pattern", "", "%v", err)
		return nil
	}
	return func(x *workflow.Exec) (bool, error) {
		t, err := textOperand("matches", x.In(a))
		return err == nil && re.MatchString(t), err
	}
}

func judge(op string, a, b any) (bool, error) {
	switch op {
	case "eq":
		return protocol.Equal(a, b), nil
	case "ne":
		return !protocol.Equal(a, b), nil
	case "lt", "le", "gt", "ge":
		return judgeOrder(op, a, b)
	case "in":
		return within(op, b, a)
	case "contains":
		return within(op, a, b)
	}
	t, err := textOperand(op, a)
	if err != nil {
		return false, err
	}
	part, err := textOperand(op, b)
	if err != nil {
		return false, err
	}
	if op == "startsWith" {
		return strings.HasPrefix(t, part), nil
	}
	return strings.HasSuffix(t, part), nil
}

func judgeOrder(op string, a, b any) (bool, error) {
	c, err := template.Compare(a, b)
	if err != nil {
		return false, fmt.Errorf("%s: %w", op, err)
	}
	switch op {
	case "lt":
		return c < 0, nil
	case "le":
		return c <= 0, nil
	case "gt":
		return c > 0, nil
	}
	return c >= 0, nil
}

// within: an element of a list, a key of an object, a part of a text.
func within(op string, whole, part any) (bool, error) {
	switch w := whole.(type) {
	case []any:
		return slices.ContainsFunc(w, func(e any) bool { return protocol.Equal(e, part) }), nil
	case map[string]any:
		k, err := textOperand(op, part)
		_, ok := w[k]
		return ok, err
	case string:
		t, err := textOperand(op, part)
		return err == nil && strings.Contains(w, t), err
	}
	return false, protocol.Errorf(protocol.KindInvalid, "%s: %s has no parts; want a list, an object or text", op, template.Describe(whole))
}

func textOperand(op string, v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", protocol.Errorf(protocol.KindInvalid, "%s: want text, got %s", op, template.Describe(v))
	}
	return s, nil
}

// branch lets the value out on one of two sides; the other is not taken.
func branch(s *workflow.Setup) workflow.Body {
	typ := s.Incoming("value")
	value := s.In(workflow.In{Name: "value", Type: typ})
	var holds condition
	if s.Value("expression") != nil {
		holds = expressionCondition(program(s))
	} else {
		in := s.In(workflow.In{Name: "condition", Required: true})
		holds = func(x *workflow.Exec) (bool, error) { return expr.Truthy(x.In(in)), nil }
	}
	yes, no := s.Out("true", typ), s.Out("false", typ)
	if holds == nil {
		return nil
	}
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		ok, err := holds(x)
		if err != nil {
			return err
		}
		side := no
		if ok {
			side = yes
		}
		x.Pass(side, value)
		return nil
	})
}

// switchOn lets the value out at the case that equals "on", else at "default".
func switchOn(s *workflow.Setup) workflow.Body {
	on := s.In(workflow.In{Name: "on", Type: workflow.ConvertibleAny, Required: true})
	typ := s.Incoming("value")
	value := s.In(workflow.In{Name: "value", Type: typ})
	cases := s.Texts("cases")
	if len(cases) == 0 {
		s.Faultf("cases", `write ["buy", "sell"]`, "there are no cases")
	}
	outs := make([]int, len(cases))
	for i, name := range cases {
		if name == "" || name == "default" || name == workflow.HandleError || name == workflow.HandleAll || slices.Contains(cases[:i], name) {
			s.Faultf("cases", "", "case %q: the name is empty, reserved or there twice", name)
			return nil
		}
		outs[i] = s.Out(name, typ)
	}
	other := s.Out("default", typ)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		got := strings.TrimSpace(string(template.AppendText(x.Buffer(), x.In(on))))
		side := other
		if i := slices.Index(cases, got); i >= 0 {
			side = outs[i]
		}
		x.Pass(side, value)
		return nil
	})
}

// selectFirst joins branches: the first candidate that arrived, in the order of
// the edges.
func selectFirst(s *workflow.Setup) workflow.Body {
	in := s.In(workflow.In{Name: "candidates", Multi: true, Required: true, Without: workflow.ToleratesAll})
	skipNull := s.Bool("skipNull", false)
	out := s.Out("value", s.Common("candidates"))
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		for i, v := range x.Many(in) {
			if v != nil || !skipNull {
				x.PassMany(out, in, i)
				return nil
			}
		}
		return nil
	})
}
