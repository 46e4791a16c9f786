package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/protocol/callvalue"
	"tavernsim/protocol/picture"
)

// llm is a node that asks a model once.
type llm struct {
	model       string
	temperature *float64
	maxTokens   int
	stop        []string
	json        bool
	purpose     protocol.Purpose // "" = the workflow's
	options     *protocol.ModelOptions
	check       func(value any) error // of the answer, against its schema; nil = there is none
	ends        *callMarks            // of the grammar at whose calls the model stops

	prompt, system, messages, shorter, variables, modelIn, tools, rounds, maxIn, images int // inputs

	text, value, calls, reasoning, finish, usage, answered int // outputs; -1 = nobody looks
}

type completion struct {
	schema func(schema any) (check func(value any) error, err error) // nil = schemas are refused
}

// Build implements workflow.Kind.
func (c completion) Build(s *workflow.Setup) workflow.Body {
	n := &llm{
		model:     s.Text("model", ""),
		maxTokens: maxTokensOf(s),
		stop:      s.Texts("stop"),
		json:      s.Bool("json", false),
		purpose:   purposeOf(s),
	}
	if s.Value("temperature") != nil {
		t := s.Number("temperature", 0)
		if t < 0 || t > 2 {
			s.Faultf("temperature", "", "%v; want 0 to 2", t)
		}
		n.temperature = &t
	}
	n.options, n.check = c.options(s)
	n.json = n.json || n.check != nil
	if n.ends = marksOf(s); n.ends != nil {
		n.stop = append(n.stop, n.ends.end)
	}
	in := func(name string, t workflow.Type) int { return s.In(workflow.In{Name: name, Type: t}) }
	n.prompt, n.system = in("prompt", workflow.String), in("system", workflow.String)
	n.messages, n.variables = in("messages", workflow.Array), in("variables", workflow.Object)
	n.modelIn, n.tools, n.rounds = in("model", workflow.String), in("tools", workflow.Array), in("conversation", workflow.Array)
	n.shorter, n.maxIn, n.images = in("shorter", workflow.Array), in("max_tokens", workflow.Integer), in("images", workflow.Array)
	if !s.Given("prompt") && !s.Given("messages") {
		s.Faultf("", "connect an edge to \"prompt\" or \"messages\"", "there is nothing to ask the model")
	}
	n.outputs(s)
	return n
}

// maxTokensOf reads what bounds an answer; 0 = the input, or the model.
func maxTokensOf(s *workflow.Setup) int {
	n := s.Int("maxTokens", 0, 0, mostOutput)
	if n == 0 && s.Value("maxTokens") != nil {
		s.Strictf("maxTokens", "leave it out for the default", "0 tokens are no answer")
	}
	return n
}

// purposeOf reads what no workflow says of itself, or what it says otherwise.
func purposeOf(s *workflow.Setup) protocol.Purpose {
	if s.Value("purpose") == nil {
		return ""
	}
	words := make([]string, 0, 8)
	for _, p := range protocol.Purposes() {
		words = append(words, string(p))
	}
	return protocol.Purpose(s.OneOf("purpose", words...))
}

// usedOut is the place of an output, or -1 if nothing reads it.
func usedOut(s *workflow.Setup, name string, t workflow.Type) int {
	i := s.Out(name, t)
	if !s.Used(name) {
		return -1
	}
	return i
}

func (n *llm) outputs(s *workflow.Setup) {
	out := func(name string, t workflow.Type) int { return usedOut(s, name, t) }
	n.text = s.Out("text", workflow.String)
	n.value = -1
	if n.json {
		n.value = s.Out("json", workflow.Wildcard)
	}
	n.calls, n.reasoning = out("calls", workflow.Array), out("reasoning", workflow.String)
	n.finish, n.usage = out("finish", workflow.String), out("usage", workflow.Object)
	n.answered = out("model", workflow.String)
}

// Run makes the request.
func (n *llm) Run(x *workflow.Exec) error {
	messages, err := n.conversation(x)
	if err != nil {
		return err
	}
	tools, err := readTools(x.List(n.tools))
	if err != nil {
		return err
	}
	if o := n.options; o != nil && len(tools) == 0 && !slices.Contains([]string{"", "auto", "none"}, o.ToolChoice) {
		return protocol.Errorf(protocol.KindInvalid, "toolChoice %s: the request has no tools", protocol.Short(o.ToolChoice, 80))
	}
	q := x.AskModel()
	q.Model = n.model
	if x.Has(n.modelIn) {
		q.Model = x.Text(n.modelIn)
	}
	q.Messages, q.Tools = messages, tools
	q.MaxTokens, q.Temperature, q.Stop, q.JSON = n.mostTokens(x), n.temperature, n.stop, n.json
	q.Purpose, q.Options, q.Variables = n.purpose, n.options, x.Object(n.variables)
	return nil
}

// mostTokens bounds the answer: by the setting, else by the input.
func (n *llm) mostTokens(x *workflow.Exec) int {
	if given, ok := x.In(n.maxIn).(int64); ok && n.maxTokens == 0 && given > 0 {
		return int(min(given, mostOutput))
	}
	return n.maxTokens
}

const mostOutput = 10_000_000

// Shorter implements workflow.Shortener: a prompt node that assembled the messages has
// assembled shorter ones too.
func (n *llm) Shorter(x *workflow.Exec) bool { return x.Has(n.shorter) }

// conversation is the system text, the messages, the prompt and the rounds, in this
// order: what a later round asks begins with all that this one asks.
func (n *llm) conversation(x *workflow.Exec) ([]protocol.ModelMessage, error) {
	given, rounds := x.List(n.messages), x.List(n.rounds)
	if x.Short() {
		given = x.List(n.shorter)
	}
	size := len(given) + len(rounds) + 1 // with the prompt
	t := x.Text(n.system)
	if t != "" {
		size++
	}
	list := make([]protocol.ModelMessage, 0, size)
	if t != "" {
		list = append(list, protocol.ModelMessage{Role: protocol.RoleSystem, Text: t})
	}
	list, err := readMessages(list, "message", given)
	images, bad := readImages(x.List(n.images))
	if t := x.Text(n.prompt); t != "" || len(images) > 0 {
		list = append(list, protocol.ModelMessage{Role: protocol.RoleUser, Text: t, Images: images})
	}
	if err = cmp.Or(err, bad); err == nil && len(list) == 0 {
		err = protocol.Errorf(protocol.KindInvalid, "the prompt is empty and there are no messages")
	}
	if err != nil {
		return nil, err
	}
	if list, err = readMessages(list, "conversation: message", rounds); err == nil {
		err = boundImages(list)
	}
	return append(list, complaints(x)...), err
}

// boundImages leaves the newest pictures that calls have brought, and refuses more than a
// request may have of others.
func boundImages(list []protocol.ModelMessage) error {
	left := picture.Most
	for i := range list {
		for _, x := range list[i].Images {
			if !x.Found {
				left--
			}
		}
	}
	if left < 0 {
		return protocol.Errorf(protocol.KindLimit, "%d images; a request may have %d", picture.Most-left, picture.Most)
	}
	for i := len(list) - 1; i >= 0; i-- {
		list[i].Images = slices.DeleteFunc(list[i].Images, func(x protocol.Image) bool {
			if x.Found {
				left--
			}
			return x.Found && left < 0
		})
	}
	return nil
}

func readImages(values []any) (list []protocol.Image, err error) {
	for i, v := range values {
		image, err := picture.Read(v)
		if err != nil {
			return nil, protocol.Errorf(protocol.KindInvalid, "image %d: %w", i, err)
		}
		list = append(list, image)
	}
	return list, nil
}

func readMessages(list []protocol.ModelMessage, what string, values []any) ([]protocol.ModelMessage, error) {
	for i, v := range values {
		m, err := readMessage(v)
		if err != nil {
			return list, protocol.Errorf(protocol.KindInvalid, "%s %d: %w", what, i, err)
		}
		list = append(list, m)
	}
	return list, nil
}

func readMessage(v any) (protocol.ModelMessage, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return protocol.ModelMessage{}, fmt.Errorf("want an object with role and text, got %s", workflow.TypeOf(v))
	}
	out := protocol.ModelMessage{Role: protocol.Role(callvalue.TextOf(m, "role")), Text: callvalue.TextOf(m, "text", "content"), CallID: callvalue.TextOf(m, "callId", "tool_call_id")}
	switch out.Role {
	case protocol.RoleSystem, protocol.RoleUser, protocol.RoleAssistant, protocol.RoleTool:
	default:
		return out, fmt.Errorf("role %q: want system, user, assistant or tool", out.Role)
	}
	calls, _ := m["calls"].([]any)
	for _, c := range calls {
		call, err := callvalue.Read(c)
		if err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, call)
	}
	given, _ := m["images"].([]any)
	if len(given) > 0 && out.Role != protocol.RoleUser && out.Role != protocol.RoleTool {
		return out, fmt.Errorf("images of the role %s: want user or tool", out.Role)
	}
	var err error
	out.Images, err = readImages(given)
	return out, err
}

func readTools(list []any) ([]protocol.ToolSpec, error) {
	if len(list) == 0 {
		return nil, nil
	}
	specs, names := make([]protocol.ToolSpec, 0, len(list)), make(map[string]bool, len(list))
	for i, v := range list {
		m, _ := v.(map[string]any)
		spec := protocol.ToolSpec{Name: callvalue.TextOf(m, "id", "name"), Description: callvalue.TextOf(m, "description"), Parameters: m["parameters"]}
		if spec.Name == "" {
			return nil, protocol.Errorf(protocol.KindInvalid, "tool %d: want an object with name (or id), description and parameters", i)
		}
		if names[spec.Name] {
			return nil, protocol.Errorf(protocol.KindInvalid, "tool %d: the list has %q already; servers take each name once", i, protocol.Short(spec.Name, 80))
		}
		names[spec.Name] = true
		specs = append(specs, spec)
	}
	return specs, nil
}

// Answered gives out what somebody looks at.
func (n *llm) Answered(x *workflow.Exec, a *workflow.Answer) error {
	m := &a.Model
	text := n.ends.close(m)
	if n.json && (len(m.Calls) == 0 || strings.TrimSpace(m.Text) != "") { // calls alone say nothing
		v, err := n.read(m.Text)
		if err != nil {
			return reject(x, m.Text, err)
		}
		x.Set(n.value, v)
	}
	x.Set(n.text, text)
	set := func(out int, v func() any) {
		if out >= 0 {
			x.Set(out, v())
		}
	}
	if n.calls >= 0 {
		x.Share(n.calls, callvalue.Calls(m.Calls)) // a node that reads them counts them
	}
	set(n.reasoning, func() any { return m.Reasoning })
	set(n.finish, func() any { return string(m.Finish) })
	set(n.usage, func() any { return usageValue(&m.Usage) })
	set(n.answered, func() any { return m.Model })
	return nil
}

func usageValue(u *protocol.Usage) map[string]any {
	return map[string]any{
		"input": u.Input, "output": u.Output, "cacheRead": u.CacheRead, "cacheWrite": u.CacheWrite, "reasoning": u.Reasoning, "estimated": u.Estimated,
	}
}
