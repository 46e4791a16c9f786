package nodes

import (
	"errors"
	"slices"
	"strings"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// options reads what few nodes set; nil = nothing is. check compares an answer with its
// schema.
func (c completion) options(s *workflow.Setup) (set *protocol.ModelOptions, check func(any) error) {
	o := &protocol.ModelOptions{ToolChoice: s.Text("toolChoice", ""), Extra: s.Object("extra")}
	for _, name := range protocol.SortedKeys(o.Extra) {
		if protocol.OwnField(name) {
			s.Faultf("extra", "remove it, and use a setting of the node, or the model's file", "simd writes the field %s itself, and budgets and records depend on it", name)
		}
	}
	if s.Value("effort") != nil {
		o.Effort = s.OneOf("effort", "minimal", "low", "medium", "high")
	}
	if s.Value("topP") != nil {
		p := s.Number("topP", 1)
		if p < 0 || p > 1 {
			s.Faultf("topP", "", "%v; want 0 to 1", p)
		}
		o.TopP = &p
	}
	if s.Value("seed") != nil {
		seed := int64(s.Int("seed", 0, -1<<53, 1<<53))
		o.Seed = &seed
	}
	if s.Value("parallel") != nil {
		parallel := s.Bool("parallel", true)
		o.Parallel = &parallel
	}
	if o.Schema = s.Value("schema"); o.Schema != nil {
		check = c.checker(s, o.Schema)
	}
	for _, key := range []string{"toolChoice", "extra", "effort", "topP", "seed", "parallel", "schema"} {
		if s.Value(key) != nil {
			return o, check
		}
	}
	return nil, nil
}

func (c completion) checker(s *workflow.Setup, schema any) func(any) error {
	if c.schema == nil {
		s.Faultf("schema", "remove it", "this program cannot check answers against a schema")
		return nil
	}
	check, err := c.schema(schema)
	if err != nil {
		s.Faultf("schema", "", "%v", err)
	}
	return check
}

// read reads an answer that must be JSON, and keep to its schema if it has one.
func (n *llm) read(text string) (any, error) {
	r, err := readJSON(text)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindTransient, "the model's answer is no JSON: %w", err)
	}
	if n.check != nil {
		if err = n.check(r.Value); err != nil {
			return nil, protocol.Errorf(protocol.KindTransient, "the model's answer breaks its schema: %w", err)
		}
	}
	return r.Value, nil
}

// rejected is the error of an answer in the wrong form. Asking again may help: the model
// is shown what it said and what was wrong with it.
type rejected struct {
	error
	shown []protocol.ModelMessage
}

// Unwrap gives the kind of the error.
func (r *rejected) Unwrap() error { return r.error }

func reject(x *workflow.Exec, text string, err error) error {
	shown := slices.Clip(complaints(x))
	if strings.TrimSpace(text) != "" {
		shown = append(shown, protocol.ModelMessage{Role: protocol.RoleAssistant, Text: text})
	}
	return &rejected{err, append(shown, protocol.ModelMessage{Role: protocol.RoleUser, Text: err.Error() + "\nAnswer again, with nothing but the JSON."})}
}

// complaints are about the answers of the attempts before.
func complaints(x *workflow.Exec) []protocol.ModelMessage {
	if x.Failed() == nil {
		return nil
	}
	if r, ok := errors.AsType[*rejected](x.Failed()); ok {
		return r.shown
	}
	return nil
}

// callMarks enclose calls in a text.
type callMarks struct{ begin, end string }

// marksOf reads at which calls a model stops.
func marksOf(s *workflow.Setup) *callMarks {
	if s.Value("stopAtCall") == nil {
		return nil
	}
	if s.OneOf("stopAtCall", "tam", "toolsxml") == "toolsxml" {
		return &callMarks{"<tools", "</tools>"}
	}
	return &callMarks{"<|[REQUEST_TOOL]|>", "<|[END_TOOL]|>"}
}

// close gives the text of an answer the end mark back at which the model stopped:
// providers leave it out.
func (m *callMarks) close(a *protocol.ModelAnswer) string {
	if m == nil || a.Finish != protocol.FinishStop {
		return a.Text
	}
	if begin := strings.LastIndex(a.Text, m.begin); begin < 0 || strings.Contains(a.Text[begin:], m.end) {
		return a.Text
	}
	return a.Text + m.end
}
