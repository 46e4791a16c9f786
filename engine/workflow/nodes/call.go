package nodes

import (
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

func errTooLong(what string, n int) error {
	return protocol.Errorf(protocol.KindLimit, "%s: %d bytes; the limit is 1 MiB", what, n)
}

// tool is a kind that calls one tool: its inputs are the tool's parameters.
type tool struct {
	kind, id string
	params   []workflow.In
}

// tools are the atomic tools of the agent architecture (§2.1.4), in its order.
func tools() []tool {
	text := func(name string) workflow.In { return workflow.In{Name: name, Type: workflow.String} }
	need := func(in workflow.In) workflow.In { in.Required = true; return in }
	any := func(name string) workflow.In { return workflow.In{Name: name} }
	number := func(name string) workflow.In { return workflow.In{Name: name, Type: workflow.Float} }
	whole := func(name string) workflow.In { return workflow.In{Name: name, Type: workflow.Integer} }
	flag := func(name string) workflow.In { return workflow.In{Name: name, Type: workflow.Boolean} }
	list := func(name string) workflow.In { return workflow.In{Name: name, Type: workflow.Array} }
	object := func(name string) workflow.In { return workflow.In{Name: name, Type: workflow.Object} }
	return []tool{
		{"ReadPrivateState", "ReadPrivateStateTool", []workflow.In{text("path")}},
		{"UpdatePrivateState", "UpdatePrivateStateTool", []workflow.In{text("path"), text("op"), any("value")}},
		{"ReadWorldState", "ReadWorldStateTool", []workflow.In{text("path")}},
		{"RequestWorldStateUpdate", "RequestWorldStateUpdateTool", []workflow.In{
			need(text("path")), text("op"), any("value"), whole("expected_version"), text("reason")}},
		{"PublishEvent", "PublishEventTool", []workflow.In{
			need(text("type")), any("payload"), any("target_agent_instance_id"), text("priority"), number("ttl_seconds"), flag("ephemeral")}},
		{"QueryKnowledgeBase", "QueryKnowledgeBaseTool", []workflow.In{
			text("kb"), text("query"), text("entry_type"), list("tags"), text("id"), whole("limit")}},
		{"WriteToKnowledgeBase", "WriteToKnowledgeBaseTool", []workflow.In{text("kb"), need(object("entry"))}},
		{"GenerateRandomNumber", "GenerateRandomNumberTool", []workflow.In{number("min"), number("max"), flag("integer")}},
	}
}

// Build declares the parameters as inputs.
func (t tool) Build(s *workflow.Setup) workflow.Body {
	c := &call{tool: t.id, chosen: -1, more: -1}
	for _, in := range t.params {
		if s.Given(in.Name) || in.Required {
			c.declare(s, in)
		} else {
			s.In(in) // known, so that a wrong name gets a suggestion
		}
	}
	c.outputs(s)
	return c
}

func callTool(s *workflow.Setup) workflow.Body {
	c := &call{tool: s.Text("tool", ""), chosen: -1, more: -1}
	if c.tool == "" || s.Given("tool") {
		c.chosen = s.In(workflow.In{Name: "tool", Type: workflow.String, Required: c.tool == ""})
	}
	if s.Given("params") {
		c.more = s.In(workflow.In{Name: "params", Type: workflow.Object})
	}
	for _, name := range s.Free() {
		c.declare(s, workflow.In{Name: name})
	}
	c.outputs(s)
	return c
}

// call is a node that makes one tool call.
type call struct {
	tool   string
	chosen int // input that names the tool; -1 = none
	more   int // input with further parameters; -1 = none
	names  []string
	ins    []int

	result, status int
}

func (c *call) declare(s *workflow.Setup, in workflow.In) {
	c.names = append(c.names, in.Name)
	c.ins = append(c.ins, s.In(in))
}

func (c *call) outputs(s *workflow.Setup) {
	c.result = s.Out("result", workflow.Wildcard)
	c.status = s.Out("status", workflow.String)
}

// Run asks for the call. Parameters without a value are left out.
func (c *call) Run(x *workflow.Exec) error {
	id := c.tool
	if c.chosen >= 0 && x.Has(c.chosen) {
		id = x.Text(c.chosen)
	}
	if id == "" {
		return protocol.Errorf(protocol.KindInvalid, "input \"tool\": the id of the tool is empty")
	}
	var more map[string]any
	if c.more >= 0 {
		more = x.Object(c.more)
	}
	params := make(map[string]any, len(c.names)+len(more))
	for k, v := range more {
		params[k] = v
	}
	for i, in := range c.ins {
		if x.Has(in) {
			params[c.names[i]] = x.In(in)
		}
	}
	x.AskTool(id, params)
	return nil
}

// Answered gives the tool's output out.
func (c *call) Answered(x *workflow.Exec, a *workflow.Answer) error {
	x.Share(c.result, a.Result.Output)
	x.Set(c.status, string(a.Result.Status))
	return nil
}

// callValues turns calls into values.
func callValues(calls []protocol.Call) []any {
	list := make([]any, len(calls))
	for i := range calls {
		list[i] = CallValue(&calls[i])
	}
	return list
}

// CallValue is the form in which workflows handle a call. Fields that are not
// set are left out.
func CallValue(c *protocol.Call) map[string]any {
	params := c.Params
	if params == nil {
		params = map[string]any{}
	}
	m := map[string]any{"tool": c.Tool, "params": params}
	text := func(key, v string) {
		if v != "" {
			m[key] = v
		}
	}
	text("id", c.ID)
	text("origin", string(c.Origin))
	text("requestId", c.RequestID)
	text("onError", string(c.OnError))
	if c.Index != 0 {
		m["index"] = int64(c.Index)
	}
	if c.Retry != 0 {
		m["retry"] = int64(c.Retry)
	}
	words := func(key string, from map[string]string) {
		if len(from) == 0 {
			return
		}
		to := make(map[string]any, len(from))
		for k, v := range from {
			to[k] = v
		}
		m[key] = to
	}
	words("uris", c.URIs)
	words("typeHints", c.TypeHints)
	return m
}

// ReadCall reads what CallValue made, and what models write for it: the tool
// also under name, toolName or command, the parameters also under arguments or
// parameters.
func ReadCall(v any) (protocol.Call, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return protocol.Call{}, protocol.Errorf(protocol.KindInvalid, "call: want an object with tool and params, got %s", workflow.TypeOf(v))
	}
	c := protocol.Call{Tool: firstText(m, "tool", "name", "toolName", "command"), ID: firstText(m, "id"),
		Origin: protocol.Origin(firstText(m, "origin")), RequestID: firstText(m, "requestId", "request_id"),
		OnError: protocol.OnError(firstText(m, "onError", "on_error")), URIs: texts(m["uris"]), TypeHints: texts(m["typeHints"])}
	if c.Tool == "" {
		return protocol.Call{}, protocol.Errorf(protocol.KindInvalid, "call: no tool; want {\"tool\": id, \"params\": {…}}")
	}
	for _, key := range []string{"params", "arguments", "parameters"} {
		p, there := m[key]
		if !there || p == nil {
			continue
		}
		if c.Params, ok = p.(map[string]any); !ok {
			return protocol.Call{}, protocol.Errorf(protocol.KindInvalid, "call %s: %s is %s; want an object", c.Tool, key, workflow.TypeOf(p))
		}
		break
	}
	c.Index, c.Retry = whole(m["index"]), whole(m["retry"])
	return c, nil
}

func firstText(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func whole(v any) int {
	f, _ := protocol.Number(v)
	return int(f)
}

func texts(v any) map[string]string {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, e := range m {
		if s, ok := e.(string); ok {
			out[k] = s
		}
	}
	return out
}
