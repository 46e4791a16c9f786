package tooling_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// Workflows of tools call tools, also each other, outside of a scene: with a number of its
// own for each call, again after failures that pass, and not without end.
func TestATriedWorkflowCallsTools(t *testing.T) {
	var keys []string
	lab := tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
		if keys = append(keys, c.Key); len(keys) == 1 {
			return tools.Fail(protocol.KindTransient, "not now")
		}
		return tools.Output(int64(len(keys)))
	})
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(`
-- models/voices.yaml --
otherwise: {text: ""}
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: []
-- tools/lab.tool.yaml --
id: lab
implementation: {type: service, name: lab}
execution: {repeat: free}
-- tools/twice.tool.yaml --
id: twice
implementation: {type: workflow, id: twice}
-- tools/outer.tool.yaml --
id: outer
implementation: {type: workflow, id: outer}
-- tools/endless.tool.yaml --
id: endless
implementation: {type: workflow, id: endless}
-- workflows/twice.yaml --
interfaceOutputs: {a: {dataFlowType: WILDCARD}, b: {dataFlowType: WILDCARD}}
nodes:
  - {id: x, type: CallTool, retry: {max: 2, backoff: 1ms}, configValues: {tool: lab}}
  - {id: y, type: CallTool, configValues: {tool: lab}}
  - {id: out, type: GroupOutput}
edges:
  - {source: x, sourceHandle: result, target: out, targetHandle: a}
  - {source: y, sourceHandle: result, target: out, targetHandle: b}
-- workflows/outer.yaml --
interfaceOutputs: {got: {dataFlowType: WILDCARD}}
nodes:
  - {id: x, type: CallTool, configValues: {tool: twice}}
  - {id: out, type: GroupOutput}
edges:
  - {source: x, sourceHandle: result, target: out, targetHandle: got}
-- workflows/endless.yaml --
interfaceOutputs: {got: {dataFlowType: WILDCARD}}
nodes:
  - {id: name, type: Constant, configValues: {value: endless}} # known only when it runs
  - {id: x, type: CallTool}
  - {id: out, type: GroupOutput}
edges:
  - {source: name, sourceHandle: value, target: x, targetHandle: tool}
  - {source: x, sourceHandle: result, target: out, targetHandle: got}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.ForTries(tooling.Options{Project: p, Run: "r", Services: map[string]tools.Executor{"lab": lab}})
	if err != nil {
		t.Fatal(err)
	}
	try := func(id string) tools.Result {
		tool, _ := p.Tool(id)
		return set.Try(t.Context(), tool, map[string]any{}, 0)
	}
	if r := try("outer"); r.Status != tools.OK {
		t.Error(r.Error)
	}
	calls := slices.Clone(keys)
	if slices.Sort(calls); len(keys) != 3 || len(slices.Compact(calls)) != 2 {
		t.Errorf("attempts with the keys %q, want 3 of 2 calls", keys)
	}
	keys = []string{""} // nothing fails
	for range 2 {
		if r := try("lab"); r.Status != tools.OK {
			t.Error(r.Error)
		}
	}
	if keys[1] == keys[2] || keys[1] == calls[0] || keys[1] == calls[1] {
		t.Errorf("calls of one set have the keys %q after %q, want others", keys[1:], calls)
	}
	if r := try("endless"); r.Status == tools.OK || !strings.Contains(r.Error.Message, "16 workflows") {
		t.Errorf("%+v", r)
	}
}
