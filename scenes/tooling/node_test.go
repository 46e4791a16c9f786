package tooling_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

const nodeTools = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/sum.tool.yaml --
id: math.sum
description: Adds.
parameters: {properties: {a: {type: number}, b: {type: number, default: 1}, c: {type: number, maximum: 9}}, required: [a]}
implementation: {type: node, kind: Expression, config: {type: FLOAT, expression: "a + b + (c || 0)"}}
-- tools/dice.tool.yaml --
id: dice
implementation: {type: node, kind: GenerateRandomNumber}
-- workflows/play.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}}
interfaceOutputs: {decision: {dataFlowType: OBJECT, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - id: d
    type: Expression
    configValues:
      type: OBJECT
      expression: >-
        ({calls: [{tool: 'math_sum', params: {a: n}}, {tool: 'math.sum', params: {a: n, b: 2, c: 3}}, {tool: 'math.sum', params: {b: 2, c: 10}}, {tool: 'dice', params: {min: 5, max: 6, integer: true}}, {tool: 'dice', params: {sides: 6}}]})
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: turn, target: d, targetHandle: n}
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
-- agent_profiles/player.yaml --
id: player
name: Player
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: play
tool_ids_inventory: [math.sum, dice, GenerateRandomNumberTool]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: Players
schema_version: "1.0"
agent_instances: [{instance_id: "a_{n}", profile_id: player, count: 3}]
simulation: {stop: {ticks: 2}}
`

// A node carries a tool out within the turn; its parameters are those of the definition, or
// the inputs of its kind.
func TestNodesAreTools(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(nodeTools))), nil)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for _, workers := range []int{1, 7} {
		s := scenestest.New(t, p, "")
		r := s.Run(t, scenestest.Settings{Workers: workers})
		if r.Err != nil {
			t.Fatal(r)
		}
		digests[r.Digest()] = true
		var said []string
		s.Journal(t, func(j *persistence.Journal) {
			if err := j.Scan(persistence.Query{Kinds: []string{"agent.call_made"}}, func(r protocol.Record) error {
				v, err := r.Data.Value()
				if r.Actor == "a_2" {
					said = append(said, fmt.Sprint(v))
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
		for i, want := range []string{"value:2", "value:6", "missing property 'a'; /c: maximum: got 10, want 9", "GenerateRandomNumberTool workflow", "result:", "sides"} {
			if i >= len(said) || !strings.Contains(said[i], want) {
				t.Fatalf("call %d: want %s\n%s", i+1, want, strings.Join(said, "\n"))
			}
		}
	}
	if len(digests) != 1 {
		t.Error(digests)
	}
}

// Faults of a node that is a tool stand at its definition.
func TestFaultsOfNodeTools(t *testing.T) {
	for _, c := range [][2]string{
		{"implementation: {type: node, kind: Expresion}", `tools/dice.tool.yaml:2:36: implementation.kind: there is no node kind "Expresion" that can be a tool; a workflow can have any node (type: workflow) (did you mean "Expression"?)`},
		{"implementation: {type: node, kind: Loop}", `there is no node kind "Loop" that can be a tool`},
		{"implementation: {type: node}", "the type node wants kind"},
		{"implementation: {type: node, kind: Expression, id: x}", "implementation.id: id is not a field of the type node"},
		{`implementation: {type: node, kind: Expression, config: {expression: "a +"}}`, "tools/dice.tool.yaml:2:69: implementation.config.expression: expr: line 1, column 4"},
		{"implementation: {type: node, kind: Expression, config: {expression: '1', wrong: 1}}", "implementation.config.wrong: Expression has no setting of this name"},
		{"implementation: {type: node, kind: GenerateRandomNumber}\nparameters: {properties: {sides: {type: number}}}", `tools/dice.tool.yaml:3:13: parameters: GenerateRandomNumber "node" has no input "sides"`},
		{"implementation: {type: node, kind: GenerateRandomNumber}\nexecution: {mode: async}", "a node is carried out within the turn, which has no use for it"},
		{"implementation: {type: node, kind: GenerateRandomNumber}\nneeds: ['net:a.org:80']", "a tool of the type node has no network of its own"},
	} {
		text := strings.Replace(nodeTools, "implementation: {type: node, kind: GenerateRandomNumber}", c[0], 1)
		if _, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v", c[0], err)
		}
	}
}
