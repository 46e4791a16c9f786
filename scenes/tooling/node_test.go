package tooling_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
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

const inferred = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/merge.tool.yaml --
id: merge
implementation: {type: node, kind: TextMerge, config: {separator: "+"}}
-- tools/declared.tool.yaml --
id: declared
parameters: {properties: {texts: {type: array}}, required: [texts]}
implementation: {type: node, kind: TextMerge, config: {separator: "+"}}
-- tools/list.tool.yaml --
id: list
implementation: {type: node, kind: MakeList}
-- tools/first.tool.yaml --
id: first
implementation: {type: node, kind: Select, config: {skipNull: true}}
-- tools/hello.tool.yaml --
id: hello
implementation: {type: node, kind: TextTemplate, config: {template: "Hi {{.who}}"}}
-- tools/sum.tool.yaml --
id: sum
implementation: {type: node, kind: Expression, config: {expression: "a + Math.max(b, 2)"}}
-- tools/at.tool.yaml --
id: at
implementation: {type: node, kind: Get}
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
        ({calls: [{tool: 'merge', params: {texts: ['a', 'b']}}, {tool: 'declared', params: {texts: ['a', 'b']}}, {tool: 'list', params: {}},
          {tool: 'list', params: {items: [1, 2]}}, {tool: 'first', params: {candidates: [null, 5]}}, {tool: 'hello', params: {who: 'Bo'}},
          {tool: 'sum', params: {a: n, b: 1}}, {tool: 'at', params: {from: {x: [7]}, path: 'x[0]'}}, {tool: 'merge', params: {texts: 'a'}},
          {tool: 'merge', params: {texts: []}}, {tool: 'first', params: {candidates: []}}]})
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
tool_ids_inventory: [merge, declared, list, first, hello, sum, at]
-- scenes/s.yaml --
id: s
name: Players
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: player}]
simulation: {stop: {ticks: 1}}
`

// 001 §4.1.2: the parameters of a node without any in its definition are all that it can take. What comes to an input by many edges
// is a list, names that its configuration reads are parameters, and so are inputs that only some nodes of the kind have.
func TestParametersOfNodesAreInferred(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(inferred))), nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"merge": "map[texts:map[items:map[type:string] type:array]] [texts]",
		"list":  "map[items:map[type:array]] []",
		"first": "map[candidates:map[type:array]] [candidates]",
		"hello": "map[who:map[]] []",
		"sum":   "map[a:map[] b:map[]] []",
		"at":    "map[from:map[] path:map[type:string]] [from path]",
	} {
		tool, _ := p.Tool(id)
		if got := fmt.Sprint(tool.Definition.Parameters["properties"], tool.Definition.Parameters["required"]); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	s := scenestest.New(t, p, "")
	if r := s.Run(t, scenestest.Settings{}); r.Err != nil {
		t.Fatal(r)
	}
	var said []string
	for _, f := range agentFacts(t, s) {
		if x, ok := f.(*agentfact.CallMade); ok {
			v, _ := x.Output.Value()
			said = append(said, fmt.Sprint(x.Tool, " ", v, " ", x.Error != ""))
		}
	}
	want := []string{
		"merge map[text:a+b] false", "declared map[text:a+b] false", "list map[list:[]] false", "list map[list:[1 2]] false", "first map[value:5] false",
		"hello map[text:Hi Bo variables:map[who:Bo]] false", "sum map[value:3] false", "at map[found:true value:7] false", "merge map[text:a] false",
		"merge <nil> true", "first <nil> true",
	}
	if !slices.Equal(said, want) {
		t.Errorf("said\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
}
