package menu

import (
	"encoding/json"
	"testing"

	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/protocol"
)

// A skill is described by the inputs of its workflow, without those that the engine gives.
func TestMenu(t *testing.T) {
	plan, faults := workflow.Compile(&workflow.Definition{
		ID: "hum",
		InterfaceInputs: map[string]workflow.Port{
			"tune": {DataFlowType: workflow.String, Required: true, DisplayName: "Tune", Description: "What to hum."}, "bars": {DataFlowType: workflow.Integer, Required: true, Default: 2},
			"loud": {DataFlowType: workflow.Boolean}, "volume": {DataFlowType: workflow.Float}, "notes": {DataFlowType: workflow.Array}, "style": {DataFlowType: workflow.Object}, "any": {},
			"private_state": {DataFlowType: workflow.Object, Required: true},
		},
		Nodes: []workflow.Node{{ID: "in", Type: workflow.TypeGroupInput}},
	}, workflow.Options{Kinds: nodes.Standard(nodes.Options{})})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var m Menu
	m.AddTool(&protocol.ToolSpec{Name: "SayTool", Description: "Says.", Parameters: map[string]any{"type": "object"}}, false)
	m.AddSkill("music/hum", "Hum", "", plan, []string{"private_state"})
	got, err := json.Marshal(m.List())
	if err != nil {
		t.Fatal(err)
	}
	const parameters = `{"additionalProperties":false,"properties":{"any":{},"bars":{"default":2,"type":"integer"},"loud":{"type":"boolean"},"notes":{"type":"array"},` +
		`"style":{"type":"object"},"tune":{"description":"What to hum.","title":"Tune","type":"string"},"volume":{"type":"number"}},"required":["tune"],"type":"object"}`
	if want := `[{"description":"Says.","name":"SayTool","parameters":{"type":"object"}},{"description":"Hum","name":"workflow:music/hum","parameters":` + parameters + `}]`; string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, _ = json.Marshal(m.Capabilities()); string(got) != `{"skills":[{"description":"","id":"workflow:music/hum","name":"Hum","parameters":`+parameters+`}],"tools":[{"description":"Says.","id":"SayTool","parameters":{"type":"object"}}]}` {
		t.Errorf("%s", got)
	}
	if got, _ = json.Marshal((&Menu{}).Capabilities()); string(got) != `{"skills":[],"tools":[]}` {
		t.Errorf("%s", got)
	}
	if s := Schema(plan); len(s.Properties) != 8 {
		t.Errorf("%d properties: a call may give every input", len(s.Properties))
	}
	if s := Schema(nil); len(s.Properties) != 0 || len(Parameters(nil)["properties"].(map[string]any)) != 0 {
		t.Error("a skill without a workflow has parameters")
	}
}
