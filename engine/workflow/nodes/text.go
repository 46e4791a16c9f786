package nodes

import (
	"slices"
	"strings"

	"tavernsim/engine/template"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
)

// freeInputs declares what the user named, and what "*" offers besides.
func freeInputs(s *workflow.Setup) (names []string, first int) {
	names = append(s.Free(), s.Offered()...)
	first = -1
	for i, name := range names {
		n := s.In(workflow.In{Name: name, Type: workflow.Wildcard})
		if i == 0 {
			first = n
		}
	}
	return names, first
}

// unnamed suggests what to do about a template or an expression with a name that is no input.
func unnamed(err error) string {
	if strings.Contains(err.Error(), "no such name") || strings.Contains(err.Error(), "unknown name") {
		return "connect what it names, or write the name of an input"
	}
	return ""
}

func textTemplate(s *workflow.Setup) workflow.Body {
	src := s.NeedText("template")
	s.Names(template.Names(src))
	names, first := freeInputs(s)
	text := s.Out("text", workflow.String)
	vars := s.Out("variables", workflow.Object)
	wantVars := s.Used("variables")
	if src == "" {
		return nil
	}
	t, err := template.Compile(s.NodeID(), src, template.Roots(names...))
	fault := s.Faultf
	if err != nil && len(names) == 0 {
		if t, _ = template.Compile(s.NodeID(), src); t != nil {
			fault = s.Strictf // older programs looked at no name without inputs, and the node failed when it ran
		}
	}
	if err != nil {
		fault("template", unnamed(err), "%v", err)
	}
	if t == nil {
		return nil
	}
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		b, err := t.AppendFrom(x.Buffer(), x, nil)
		if err != nil {
			return err
		}
		x.Set(text, string(b))
		x.Keep(b)
		if wantVars {
			setObject(x, vars, names, first, true)
		}
		return nil
	})
}

// setObject gives out an object of inputs that stand next to each other, those
// without a value only when all are wanted.
func setObject(x *workflow.Exec, out int, names []string, first int, all bool) {
	m := make(map[string]any, len(names))
	made, size := protocol.ValueBytes, protocol.ValueBytes
	for i, name := range names {
		if all || x.Has(first+i) {
			m[name] = x.In(first + i)
			made += protocol.ValueBytes + len(name)
			size += protocol.ValueBytes + len(name) + x.Size(first+i)
		}
	}
	x.SetOf(out, m, made, size)
}

func textMerge(s *workflow.Setup) workflow.Body {
	texts := s.In(workflow.In{Name: "texts", Type: workflow.String, Multi: true, Required: true, Without: workflow.ToleratesSkip})
	out := s.Out("text", workflow.String)
	separator := s.Text("separator", "\n\n")
	keepEmpty := s.Bool("keepEmpty", false)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		size := 0
		for _, v := range x.Many(texts) {
			t, _ := v.(string)
			size += len(t) + len(separator)
		}
		if size > template.MaxOutput {
			return errTooLong("text", size)
		}
		b, n := x.Buffer(), 0
		for _, v := range x.Many(texts) {
			t, _ := v.(string)
			if t == "" && !keepEmpty {
				continue
			}
			if n++; n > 1 {
				b = append(b, separator...)
			}
			b = append(b, t...)
		}
		x.Set(out, string(b))
		x.Keep(b)
		return nil
	})
}

func constant(s *workflow.Setup) workflow.Body {
	v := s.Value("value")
	if v == nil && !slices.Contains(s.Settings(), "value") {
		s.Faultf("value", "", "is missing")
	}
	out := s.Out("value", workflow.TypeOf(v))
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		x.Share(out, v)
		return nil
	})
}

func makeObject(s *workflow.Setup) workflow.Body {
	names, first := freeInputs(s)
	out := s.Out("object", workflow.Object)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		setObject(x, out, names, first, false)
		return nil
	})
}

func makeList(s *workflow.Setup) workflow.Body {
	items := s.In(workflow.In{Name: "items", Multi: true, Without: workflow.ToleratesSkip})
	out := s.Out("list", workflow.Array)
	flatten := s.Bool("flatten", false)
	return workflow.BodyFunc(func(x *workflow.Exec) error {
		list, size := make([]any, 0, len(x.Many(items))), protocol.ValueBytes
		for i, v := range x.Many(items) {
			if inner, ok := v.([]any); ok && flatten {
				list = append(list, inner...)
			} else {
				list = append(list, v)
			}
			size += x.ManySize(items, i)
		}
		x.SetOf(out, list, protocol.ValueBytes*(1+len(list)), size)
		return nil
	})
}

// tamParse takes the calls out of a text.
func tamParse(read func(string, protocol.FinishReason) Parsed) workflow.Kind {
	return workflow.KindFunc(func(s *workflow.Setup) workflow.Body {
		in := s.In(workflow.In{Name: "text", Type: workflow.String, Required: true})
		finish := s.In(workflow.In{Name: "finish", Type: workflow.String})
		text := s.Out("text", workflow.String)
		calls := s.Out("calls", workflow.Array)
		problems := s.Out("problems", workflow.Array)
		return workflow.BodyFunc(func(x *workflow.Exec) error {
			p := read(x.Text(in), protocol.FinishReason(x.Text(finish)))
			x.Set(text, strings.TrimSpace(p.Text))
			x.Set(calls, callvalue.Calls(p.Calls))
			x.Set(problems, protocol.ListOf(p.Problems))
			return nil
		})
	})
}
