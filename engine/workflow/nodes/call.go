package nodes

import (
	"maps"
	"slices"
	"strings"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

func errTooLong(what string, n int) error {
	return protocol.Errorf(protocol.KindLimit, "%s: %d bytes; the limit is 1 MiB", what, n)
}

// tool is a kind that calls one tool: its inputs are the tool's parameters.
type tool struct {
	id     string
	params []workflow.In
}

// KindOf is the kind of the node that calls a tool: its id without "Tool".
func KindOf(id string) string { return strings.TrimSuffix(id, "Tool") }

// OfTool is a kind whose nodes call one tool.
func OfTool(spec protocol.ToolSpec) workflow.Kind { return toolKind(spec) }

func toolKind(spec protocol.ToolSpec) tool {
	schema, _ := spec.Parameters.(map[string]any)
	required, _ := schema["required"].([]any)
	t := tool{id: spec.Name}
	inputs := Inputs(schema)
	for _, name := range protocol.SortedKeys(inputs) {
		t.params = append(t.params, workflow.In{Name: name, Type: inputs[name].DataFlowType, Required: slices.Contains(required, any(name))})
	}
	return t
}

// Inputs are the inputs of a workflow that takes what a JSON Schema describes, by name. None must be
// given: the schema says which.
func Inputs(schema map[string]any) map[string]workflow.Port {
	properties, _ := schema["properties"].(map[string]any)
	inputs := make(map[string]workflow.Port, len(properties))
	for name := range properties {
		property, _ := properties[name].(map[string]any)
		inputs[name] = workflow.Port{DataFlowType: typeOf(property["type"]), Default: property["default"]}
	}
	return inputs
}

// typeOf is the type of an input for a parameter; what a schema leaves open
// takes any value.
func typeOf(name any) workflow.Type {
	switch name {
	case "string":
		return workflow.String
	case "integer":
		return workflow.Integer
	case "number":
		return workflow.Float
	case "boolean":
		return workflow.Boolean
	case "array":
		return workflow.Array
	case "object":
		return workflow.Object
	}
	return ""
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
	if s.Takes("params") {
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

// Calls implements workflow.Caller.
func (c *call) Calls() string {
	if c.chosen >= 0 {
		return ""
	}
	return c.tool
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
	maps.Copy(params, more)
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
