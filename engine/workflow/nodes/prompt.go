package nodes

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/prompt"
	"tavernsim/engine/template"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// assemble is a node that makes the prompt of a turn.
type assemble struct {
	texts   [4]*template.Template // by place in written; nil = none
	grammar string
	model   string // that reads the prompt; "" = the default one
	context int    // 0 = the model's
	output  int
	kinds   []prompt.Kind

	names []string       // of all inputs, by number
	in    map[string]int // numbers of those with a section

	messages, shorter, tools, variables, trace, tokens, dropped, maxTokens int // outputs; -1 = nobody looks
}

// written are the settings that are templates, each the text of a section.
func written() [4]string { return [4]string{"persona", "rules", "state", "instruction"} }

const (
	grammarNative = "native"
	grammarTAM    = "tam"
	grammarXML    = "toolsxml"
	grammarNone   = "none"
)

// assembled are the inputs that have a section of their own, with their types.
func assembled() []workflow.In {
	list := []workflow.In{}
	for _, name := range []string{"tools", "knowledge", "interaction_history", "active_goals", "observations", "incoming_events", "conversation"} {
		list = append(list, workflow.In{Name: name, Type: workflow.Array})
	}
	return append(list, workflow.In{Name: "summary", Type: workflow.String}, workflow.In{Name: "private_state"})
}

func assemblePrompt(s *workflow.Setup) workflow.Body {
	n := &assemble{
		grammar: s.OneOf("grammar", grammarNative, grammarTAM, grammarXML, grammarNone),
		model:   s.Text("model", ""),
		context: s.Int("context", 0, 256, 100_000_000),
		output:  s.Int("output", 0, 1, 10_000_000),
		in:      map[string]int{},
	}
	if context, output, _ := n.room(workflow.Room{}); n.context > 0 && output+context/20 >= context {
		s.Faultf("output", "lower it, or raise context", "an answer of %d tokens leaves nothing of a context of %d for the prompt", output, context)
	}
	n.kinds = sectionRules(s)
	for _, in := range assembled() {
		n.in[in.Name] = s.In(in)
		n.names = append(n.names, in.Name)
	}
	if n.in["episodes"] = -1; s.Given("episodes") { // only agents that remember bring it
		n.in["episodes"] = s.In(workflow.In{Name: "episodes", Type: workflow.Array})
		n.names = append(n.names, "episodes")
	}
	if s.Value("sections") != nil && s.Object("sections")["summary"] != nil && !s.Given("summary") {
		s.Faultf("sections", "connect an edge to the input summary, or remove summary", "there is no summary to bound: nothing brings the input summary")
	}
	free, _ := freeInputs(s)
	n.names = append(n.names, free...)
	for i, key := range written() {
		n.texts[i] = n.template(s, key)
	}
	n.outputs(s)
	return n
}

// template compiles a setting.
func (n *assemble) template(s *workflow.Setup, key string) *template.Template {
	src := s.Text(key, "")
	if src == "" {
		return nil
	}
	t, err := template.Compile(s.NodeID()+"."+key, src, template.Roots(n.names...))
	if err != nil {
		s.Faultf(key, unnamed(err), "%v", err)
		return nil
	}
	return t
}

// sectionRules reads the setting sections: {history: {min, max, units, drop}}.
func sectionRules(s *workflow.Setup) []prompt.Kind {
	kinds := prompt.Sections()
	given := s.Object("sections")
	for _, name := range protocol.SortedKeys(given) {
		i := slices.IndexFunc(kinds, func(k prompt.Kind) bool { return k.Name == name })
		rule, ok := given[name].(map[string]any)
		switch {
		case i < 0:
			s.Faultf("sections", "", "there is no section %q; there are %s", name, strings.Join(prompt.Names(), ", "))
		case !ok:
			s.Faultf("sections", "", "%s: want an object such as {max: 2000}", name)
		default:
			readRule(s, &kinds[i], rule)
		}
	}
	return kinds
}

func readRule(s *workflow.Setup, k *prompt.Kind, rule map[string]any) {
	for _, key := range protocol.SortedKeys(rule) {
		if key == "drop" {
			drop, _ := rule[key].(string)
			switch {
			case !slices.Contains(prompt.Drops(), drop):
				s.Faultf("sections", "", "%s.drop: want one of %s", k.Name, strings.Join(prompt.Drops(), ", "))
			case k.Fixed && drop != string(prompt.DropNever):
				s.Faultf("sections", "", "%s.drop: this section is never dropped", k.Name)
			}
			k.Drop = prompt.Drop(drop)
			continue
		}
		v, ok := protocol.Number(rule[key])
		if !ok || v < 0 || v != float64(int(v)) || v > 100_000_000 {
			s.Faultf("sections", "", "%s.%s: want a whole number from 0", k.Name, key)
			continue
		}
		switch key {
		case "min":
			k.Min = int(v)
		case "max":
			k.Max = int(v)
		case "units":
			k.Units = int(v)
		default:
			s.Faultf("sections", "", "%s.%s: want min, max, units or drop", k.Name, key)
		}
	}
	for _, key := range []string{"min", "units"} {
		if _, given := rule[key]; given && (k.Fixed || k.Drop == prompt.DropNever) {
			s.Strictf("sections", "remove it", "%s.%s: this section is never dropped", k.Name, key)
		}
	}
	for _, key := range []string{"max", "units"} {
		if v, ok := protocol.Number(rule[key]); ok && v == 0 {
			s.Strictf("sections", "left out, the prompt alone bounds the section, and history has 16 units; to have none of it, give the node no such input", "%s.%s: 0 is no bound; want at least 1", k.Name, key)
		}
	}
	if k.Max > 0 && k.Min > k.Max {
		s.Faultf("sections", "", "%s: min %d is more than max %d", k.Name, k.Min, k.Max)
	}
}

func (n *assemble) outputs(s *workflow.Setup) {
	out := func(name string, t workflow.Type) int { return usedOut(s, name, t) }
	n.messages = s.Out("messages", workflow.Array)
	n.shorter, n.tools, n.variables = out("shorter", workflow.Array), out("tools", workflow.Array), out("variables", workflow.Object)
	n.maxTokens = out("max_tokens", workflow.Integer)
	n.trace, n.tokens, n.dropped = out("trace", workflow.Object), out("tokens", workflow.Integer), out("dropped", workflow.Integer)
}

// Run makes the prompt, and where somebody takes it a second one that is a quarter
// shorter.
func (n *assemble) Run(x *workflow.Exec) error {
	sections, err := n.sections(x)
	if err != nil {
		return err
	}
	conversation := x.List(n.in["conversation"])
	tools := n.native(x)
	model := x.Room(n.model)
	if model.Context > 0 {
		model.Context = max(1, model.Context-model.Extra/bytesPerToken)
	}
	context, output, most := n.room(model)
	budget := prompt.Budget{Context: context, Output: output, Fixed: 2*prompt.PerMessage + toolTokens(tools) + conversationTokens(conversation)}
	p, err := prompt.Assemble(sections, budget)
	if err != nil {
		return err
	}
	x.Set(n.messages, messagesOf(p, conversation))
	trace := traceValue(p, budget.Fixed)
	if n.shorter >= 0 {
		x.Share(n.shorter, nil)
		budget.Most = p.Tokens * 3 / 4
		if again, err := prompt.Assemble(sections, budget); err == nil {
			x.Set(n.shorter, messagesOf(again, conversation))
			trace["shorter"] = traceValue(again, budget.Fixed)
		}
	}
	n.give(x, p, tools, trace)
	n.giveMost(x, most, n.output == 0 && model.Differs)
	return nil
}

// room is the context of a prompt, and what the answer gets of it: what the node says, but
// no more than the model reads; else most, what the model's file says. Of a model's context an
// answer gets no more than a quarter if nobody says anything. Of a context that is not the
// model's it leaves half to the prompt: there output is less than most, unless both together
// would be more than the model reads.
func (n *assemble) room(model workflow.Room) (context, output, most int) {
	context, output = n.context, cmp.Or(n.output, defaultOutput)
	if model.Context > 0 && (context == 0 || model.Context < context) {
		context = model.Context
		if n.output == 0 {
			output = min(output, context/4)
		}
	}
	if n.output > 0 || model.Answer == 0 {
		return cmp.Or(context, defaultContext), output, output
	}
	context = cmp.Or(context, max(defaultContext, 2*model.Answer))
	output = min(model.Answer, context/2)
	if model.Context > 0 {
		output = max(output, context+model.Answer-model.Context)
	}
	return context, output, model.Answer
}

// What a prompt has if neither node nor model says it.
const (
	defaultContext = 8192
	defaultOutput  = 1024
)

// bytesPerToken are of the fields of the endpoint's own, rather too few.
const bytesPerToken = 3

// give sets the outputs that somebody looks at.
func (n *assemble) give(x *workflow.Exec, p *prompt.Prompt, tools []any, trace map[string]any) {
	if n.tools >= 0 {
		x.Share(n.tools, tools)
	}
	if n.tokens >= 0 {
		x.Share(n.tokens, int64(p.Tokens))
	}
	if n.dropped >= 0 {
		x.Share(n.dropped, int64(p.Left))
	}
	if n.trace >= 0 {
		x.Set(n.trace, trace)
	}
	if n.variables >= 0 {
		n.giveVariables(x, trace)
	}
}

// giveMost bounds the answer, or leaves that to the model that is asked.
func (n *assemble) giveMost(x *workflow.Exec, most int, open bool) {
	switch {
	case n.maxTokens < 0:
	case open:
		x.Share(n.maxTokens, nil)
	default:
		x.Share(n.maxTokens, int64(most))
	}
}

// giveVariables gives the inputs by name, and the trace as "prompt": they go along with
// the request, and no model reads them.
func (n *assemble) giveVariables(x *workflow.Exec, trace map[string]any) {
	m := make(map[string]any, len(n.names)+1)
	made, size := protocol.ValueBytes, protocol.ValueBytes
	for i, name := range n.names {
		m[name] = x.In(i)
		made += protocol.ValueBytes + len(name)
		size += protocol.ValueBytes + len(name) + x.Size(i)
	}
	m["prompt"] = trace
	traced := protocol.SizeOf(trace, 1<<30)
	x.SetOf(n.variables, m, made+traced, size+traced)
}

// sections fills the sections with units.
func (n *assemble) sections(x *workflow.Exec) ([]prompt.Section, error) {
	var texts [4]string
	for i, t := range n.texts {
		if t == nil {
			continue
		}
		b, err := t.AppendFrom(x.Buffer(), x, nil)
		if err != nil {
			return nil, err
		}
		texts[i] = string(b)
		x.Keep(b)
	}
	list := func(name string) []any { return x.List(n.in[name]) }
	known := prompt.Knowledge(list("knowledge"))
	units := map[string][]prompt.Unit{
		"persona": prompt.One("persona", texts[0]), "rules": append(prompt.One("rules", texts[1]), known["rules"]...),
		"constant": known["constant"], "lessons": known["lessons"], "knowledge": known["knowledge"],
		"summary": prompt.One("summary", x.Text(n.in["summary"])), "history": prompt.History(list("interaction_history")),
		"goals": prompt.Goals(list("active_goals")), "state": prompt.One("state", texts[2]),
		"observations": prompt.Observations(list("observations")), "events": prompt.Events(list("incoming_events")),
		"instruction": append(known["instruction"], prompt.One("instruction", texts[3])...),
	}
	if n.texts[2] == nil {
		units["state"] = prompt.State(x.In(n.in["private_state"]))
	}
	if n.in["episodes"] >= 0 {
		units["episodes"] = prompt.Episodes(list("episodes"))
	}
	switch n.grammar {
	case grammarTAM:
		if len(list("tools")) > 0 {
			units["grammar"], units["tools"] = prompt.One("grammar", prompt.TAM), prompt.Tools(list("tools"))
		}
	case grammarXML:
		form, _ := prompt.ToolsXML(list("tools"))
		units["grammar"] = prompt.One("grammar", form)
	}
	sections := make([]prompt.Section, len(n.kinds))
	for i, k := range n.kinds {
		sections[i] = prompt.Section{Kind: k, Units: units[k.Name]}
	}
	return sections, nil
}

// native are the tools that go beside the messages.
func (n *assemble) native(x *workflow.Exec) []any {
	tools := x.List(n.in["tools"])
	switch n.grammar {
	case grammarNative:
		return tools
	case grammarXML:
		_, tools = prompt.ToolsXML(tools)
		return tools
	}
	return []any{}
}

func toolTokens(tools []any) (n int) {
	for _, t := range tools {
		n += prompt.PerTool + prompt.JSONTokens(t)
	}
	return n
}

func conversationTokens(list []any) (n int) {
	for _, m := range list {
		n += prompt.PerMessage + prompt.JSONTokens(m)
	}
	return n
}

// messagesOf is the prompt as messages, and the turn's earlier rounds behind it.
func messagesOf(p *prompt.Prompt, conversation []any) []any {
	list := make([]any, 0, 2+len(conversation))
	if p.System != "" {
		list = append(list, map[string]any{"role": string(protocol.RoleSystem), "text": p.System})
	}
	if p.User != "" {
		list = append(list, map[string]any{"role": string(protocol.RoleUser), "text": p.User})
	}
	return append(list, conversation...)
}

// traceValue lists what became of every unit.
func traceValue(p *prompt.Prompt, fixed int) map[string]any {
	units := make([]any, len(p.Trace))
	for i, k := range p.Trace {
		u := map[string]any{"section": k.Section, "unit": k.Unit, "tokens": int64(k.Tokens)}
		if k.Dropped != "" {
			u["dropped"] = k.Dropped
		}
		units[i] = u
	}
	return map[string]any{"tokens": int64(p.Tokens), "room": int64(p.Room), "beside": int64(fixed), "dropped": int64(p.Left), "units": units}
}
