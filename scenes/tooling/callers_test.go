package tooling_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// relays are tools whose workflows call what they are told to, and decide something.
const relays = `
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- tools/look.tool.yaml --
id: look
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
-- tools/relay.tool.yaml --
id: relay
parameters: {properties: {tool: {type: string}, params: {type: object}}}
implementation: {type: workflow, id: relay}
needs: [RELAY]
-- tools/free.tool.yaml --
id: free
parameters: {properties: {tool: {type: string}, params: {type: object}}}
implementation: {type: workflow, id: relay}
-- tools/node.tool.yaml --
id: node
parameters: {properties: {q: {type: string}}}
implementation: {type: node, kind: CallTool, config: {tool: look}}
needs: ["tool:relay"]
-- workflows/relay.yaml --
interfaceInputs: {tool: {dataFlowType: STRING}, params: {dataFlowType: OBJECT}}
interfaceOutputs: {result: {dataFlowType: WILDCARD}, decision: {dataFlowType: OBJECT}}
nodes:
  - {id: in, type: GroupInput}
  - {id: call, type: CallTool}
  - {id: d, type: Expression, configValues: {type: OBJECT, expression: "({private_state: {heard: 1}})"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: tool, target: call, targetHandle: tool}
  - {source: in, sourceHandle: params, target: call, targetHandle: params}
  - {source: call, sourceHandle: result, target: out, targetHandle: result}
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [look, relay, free, node, UpdatePrivateStateTool]
skill_workflow_ids_inventory: [relay]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 2}}
-- models/m.yaml --
rules: [{match: {variables: {turn: 1}}, answer: {calls: [CALL]}}]
otherwise: {text: ""}
`

func relaying(t *testing.T, relay, call string) (*project.Project, error) {
	t.Helper()
	text := strings.NewReplacer("RELAY", relay, "CALL]", call+"]").Replace(relays)
	return scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
}

// A tool whose needs name tools calls these alone, through whatever workflow, and its outputs are no
// decision of the agent. What it calls has its own bounds.
func TestAToolCallsWhatItsNeedsName(t *testing.T) {
	const ok = ""
	for _, c := range []struct {
		needs, call string
		denied      string
		heard       bool // the decision of the workflow counts
	}{
		{`"tool:look"`, `{tool: relay, params: {tool: look, params: {q: x}}}`, ok, false},
		{`"tool:look"`, `{tool: relay, params: {tool: LOOK, params: {q: x}}}`, ok, false},
		{`"tool:node"`, `{tool: relay, params: {tool: look, params: {q: x}}}`, "relay may not call look: its needs name no tool:look", false},
		{`"tool:look"`, `{tool: relay, params: {tool: UpdatePrivateStateTool, params: {path: x, value: 1}}}`, "relay may not call UpdatePrivateStateTool", false},
		{`"tool:look"`, `{tool: relay, params: {tool: "workflow:relay", params: {tool: look, params: {q: x}}}}`, "relay may not call workflow:relay", false},
		{``, `{tool: relay, params: {tool: "workflow:relay", params: {tool: look, params: {q: x}}}}`, ok, true},
		{`"tool:workflow:relay"`, `{tool: relay, params: {tool: "workflow:relay", params: {tool: look, params: {q: x}}}}`, ok, true},
		{`"tool:free"`, `{tool: relay, params: {tool: free, params: {tool: look, params: {q: x}}}}`, ok, true},
		{``, `{tool: relay, params: {tool: look, params: {q: x}}}`, ok, true},
		{`"tool:look"`, `{tool: free, params: {tool: look, params: {q: x}}}`, ok, true},
		{`"tool:look"`, `{tool: node, params: {q: x}}`, "node may not call look", false},
	} {
		p, err := relaying(t, c.needs, c.call)
		if err != nil {
			t.Fatal(err)
		}
		s := scenestest.New(t, p, "")
		if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Services: echo()}); r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		failed, heard, looked := "", false, false
		for _, f := range agentFacts(t, s) {
			switch x := f.(type) {
			case *agentfact.CallMade:
				failed += x.Error
				heard = heard || x.Tool == "UpdatePrivateStateTool" && x.Error == ""
			case *agentfact.CallAnswered:
				looked = true
			}
		}
		if (c.denied == ok) != (failed == "") || !strings.Contains(failed, c.denied) || heard != c.heard || looked != (c.denied == ok) {
			t.Errorf("%s, %s: failed %q, heard %v, looked %v", c.needs, c.call, failed, heard, looked)
		}
		mustVerify(t, s, scenestest.Settings{Tools: tooling.Live})
	}
}

// The same outside of a scene.
func TestATriedToolCallsWhatItsNeedsName(t *testing.T) {
	p, err := relaying(t, `"tool:look"`, "")
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.ForTries(tooling.Options{Project: p, Run: "r", Services: echo()})
	if err != nil {
		t.Fatal(err)
	}
	for called, want := range map[string]string{"look": "", "free": "relay may not call free"} {
		tool, _ := p.Tool("relay")
		r := set.Try(t.Context(), tool, map[string]any{"tool": called, "params": map[string]any{}}, 0)
		if want == "" && r.Status != tools.OK || want != "" && (r.Error == nil || !strings.Contains(r.Error.Message, want)) {
			t.Errorf("%s: %s %+v", called, r.Status, r.Error)
		}
	}
}

// What nobody has is a fault of the definition.
func TestFaultsOfNeedsThatNameTools(t *testing.T) {
	for needs, want := range map[string]string{
		`"tool:loook"`:                          `tools/relay.tool.yaml:4:9: needs[0]: there is no tool "loook" (did you mean "look"?)`,
		`"tool:workflow:rely"`:                  `there is no tool "workflow:rely"`,
		`"tool:edit"`:                           "",
		`"tool:workflow:relay", "tool:SayTool"`: "",
		`exec`:                                  "a tool of the type workflow has no program",
	} {
		if _, err := relaying(t, needs, ""); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", needs, err)
		}
	}
}
