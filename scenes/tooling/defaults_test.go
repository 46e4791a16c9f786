package tooling_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

const orders = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/order.tool.yaml --
id: order
parameters:
  properties: {item: {type: string}, count: {type: integer, minimum: 1, default: 1}, tags: {type: array, default: [new]}, note: {type: [string, "null"], default: "@{self.name}"}}
  required: [item, count]
implementation: {type: service, name: order}
-- workflows/work.yaml --
interfaceOutputs: {response: {dataFlowType: STRING}, decision: {dataFlowType: OBJECT}}
nodes:
  - id: d
    type: Expression
    configValues:
      type: OBJECT
      expression: >-
        ({calls: [{tool: 'order', params: {item: 'a'}}, {tool: 'order', params: {item: 'b', count: null, tags: null, note: null}},
        {tool: 'order', params: {item: 'c', count: 2, tags: [], note: ''}}, {tool: 'order', params: {item: 'd', count: 0}}, {tool: 'order', params: {}}]})
  - id: text
    type: Expression
    configValues:
      type: STRING
      expression: >-
        '<|[REQUEST_TOOL]|>\ncommand_1:»»»order«««\nitem_1:»»»@{self.name}«««\n<|[END_TOOL]|>'
  - {id: out, type: GroupOutput}
edges:
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
  - {source: text, sourceHandle: value, target: out, targetHandle: response}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
tool_ids_inventory: [order]
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {stop: {ticks: 1}}
`

// A tool of a project gets the default of a parameter that a call does not give, required or not.
func TestDefaultsAreGiven(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(orders))), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	order := tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
		b, _ := json.Marshal(c.Params)
		got = append(got, string(b))
		return tools.Output("ok")
	})
	s := scenestest.New(t, p, "")
	if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"order": order}}); r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{
		`{"count":1,"item":"A","note":"@{self.name}","tags":["new"]}`,
		`{"count":1,"item":"a","note":"@{self.name}","tags":["new"]}`,
		`{"count":1,"item":"b","note":null,"tags":["new"]}`,
		`{"count":2,"item":"c","note":"","tags":[]}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tool got %q", got)
	}
}
