package tooling_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// withins are tools that the turn itself carries out.
const withins = `
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- tools/echo.tool.yaml --
id: echo
parameters: {properties: {q: {type: string}}}
outputSchema: {type: object, required: [q], properties: {q: {type: string, maxLength: 3}}}
implementation: {type: workflow, id: echo}
-- tools/sum.tool.yaml --
id: sum
parameters: {properties: {q: {type: string}}}
outputSchema: {type: object, properties: {value: {type: string, maxLength: 3}}}
implementation: {type: node, kind: Expression, config: {expression: q, type: STRING}}
-- tools/think.tool.yaml --
id: think
parameters: {properties: {q: {type: string}}}
implementation: {type: workflow, id: think}
-- workflows/echo.yaml --
interfaceInputs: {q: {dataFlowType: STRING}}
interfaceOutputs: {q: {dataFlowType: STRING}}
nodes: [{id: in, type: GroupInput}, {id: out, type: GroupOutput}]
edges: [{source: in, sourceHandle: q, target: out, targetHandle: q}]
-- workflows/think.yaml --
interfaceInputs: {q: {dataFlowType: STRING}}
interfaceOutputs: {said: {dataFlowType: STRING}}
nodes: [{id: in, type: GroupInput}, {id: m, type: LLMCompletion}, {id: out, type: GroupOutput}]
edges: [{source: in, sourceHandle: q, target: m, targetHandle: prompt}, {source: m, sourceHandle: text, target: out, targetHandle: said}]
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [echo, sum, think]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: "a_{n}", profile_id: a, count: 5}]
simulation: {seed: 1, stop: {after: 4s}}
-- models/m.yaml --
rules:
  - {match: {purpose: skill, chance: 0.7}, answer: {fail: server_error}}
  - {match: {purpose: skill}, answer: {text: thought}, latency: {min: 10ms, max: 900ms}}
  - {answer: {text: "TEXT"}}
`

func withinTheTurn(t *testing.T, text string, more ...string) *project.Project {
	t.Helper()
	all := strings.ReplaceAll(withins, "TEXT", strings.ReplaceAll(text, "\n", `\n`)) + strings.Join(more, "\n")
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(all))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcomes are the results of the calls of a tool, and how often each came.
func outcomes(t *testing.T, s *scenestest.Scene, tool string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for _, f := range agentFacts(t, s) {
		if c, ok := f.(*agentfact.CallMade); ok && c.Tool == tool {
			out, err := c.Output.Value()
			if err != nil {
				t.Fatal(err)
			}
			seen[fmt.Sprintf("%s %v %s", c.Status, out, c.Error)]++
		}
	}
	return seen
}

// What a workflow or a node gives is checked against the outputSchema of its tool, in a scene and
// outside of it.
func TestOutputsWithinTheTurnAreChecked(t *testing.T) {
	p := withinTheTurn(t, "<|[REQUEST_TOOL]|>\ncommand_1:»»»echo«««\nq_1:»»»abc«««\ncommand_2:»»»echo«««\nq_2:»»»abcd«««\non_error_2:»»»continue«««\ncommand_3:»»»sum«««\nq_3:»»»abcd«««\n<|[END_TOOL]|>")
	s := scenestest.New(t, p, "")
	if r := s.Run(t, scenestest.Settings{Tools: tooling.Live}); r.Err != nil {
		t.Fatal(r)
	}
	const broken = ": the output breaks outputSchema: /"
	if got := outcomes(t, s, "echo"); len(got) != 2 || got["ok map[q:abc] "] == 0 || !strings.Contains(fmt.Sprint(got), "error <nil> echo"+broken+"q: ") {
		t.Error(got)
	}
	if got := outcomes(t, s, "sum"); len(got) != 1 || !strings.Contains(fmt.Sprint(got), "error <nil> sum"+broken+"value: ") {
		t.Error(got)
	}
	mustVerify(t, s, scenestest.Settings{Tools: tooling.Live})
	set, err := tooling.ForTries(tooling.Options{Project: p})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"echo", "sum"} {
		tool, _ := p.Tool(id)
		if r := set.Try(t.Context(), tool, map[string]any{"q": "abc"}, 0); r.Status != tools.OK {
			t.Errorf("%s: %+v", id, r.Error)
		}
		if r := set.Try(t.Context(), tool, map[string]any{"q": "abcd"}, 2); r.Error == nil || r.Error.Kind != tools.KindBadOutput || r.Meta.Attempts != 1 {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// Workflows whose models fail are repeated by retry_N: the same with any number of workers, after an
// interruption, and decided again.
func TestWorkflowsAreRepeated(t *testing.T) {
	p := withinTheTurn(t, "<|[REQUEST_TOOL]|>\ncommand:»»»think«««\nretry:»»»3«««\nx_timeout:»»»1500ms«««\nq:»»»a«««\n<|[END_TOOL]|>")
	digest := ""
	for _, set := range []scenestest.Settings{{Workers: 1}, {Workers: 7}, {Workers: 3, InterruptAt: 1}} {
		s := scenestest.New(t, p, "")
		r := s.Run(t, set)
		if set.InterruptAt = 0; !r.Final && r.Err == nil { // it was interrupted
			r = s.Run(t, set)
		}
		if r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		if digest == "" {
			digest = r.Digest()
		}
		if r.Digest() != digest {
			t.Errorf("%+v: the digest is %s, want %s", set, r.Digest(), digest)
		}
		mustVerify(t, s, set)
		asked := 0
		for _, f := range agentFacts(t, s) {
			if m, ok := f.(*agentfact.ModelAnswered); ok && m.Error != "" {
				asked++
			}
		}
		got := outcomes(t, s, "think")
		if all := fmt.Sprint(got); got["ok map[said:thought] "] == 0 || asked < 20 || len(got) < 2 || !strings.Contains(all, "error <nil> skill think") {
			t.Errorf("%d failures, %v", asked, got)
		}
	}
}

// With --tools off a workflow does not carry a tool out, and with a mock none whose tool a rule names.
func TestWorkflowsStandAside(t *testing.T) {
	text := "<|[REQUEST_TOOL]|>\ncommand_1:»»»echo«««\nq_1:»»»abc«««\non_error_1:»»»continue«««\ncommand_2:»»»sum«««\nq_2:»»»abc«««\n<|[END_TOOL]|>"
	mock := "-- tools/mock.yaml --\nrules: [{match: {tool: 'ech?'}, answer: {output: {q: no}}}]\notherwise: {output: never}\n"
	for mode, want := range map[tooling.Mode][2]string{
		tooling.Live: {"ok map[q:abc] ", "ok map[value:abc] "},
		tooling.Mock: {"ok map[q:no] ", "ok map[value:abc] "},
		tooling.Off:  {"error <nil> echo: unavailable: tools are off in this run (--tools off)", "error <nil> sum: unavailable: tools are off in this run (--tools off)"},
	} {
		p := withinTheTurn(t, text, mock)
		s := scenestest.New(t, p, "")
		set := scenestest.Settings{Tools: mode}
		if r := s.Run(t, set); r.Err != nil {
			t.Fatal(r)
		}
		for i, id := range []string{"echo", "sum"} {
			if got := outcomes(t, s, id); len(got) != 1 || got[want[i]] == 0 {
				t.Errorf("%s: %s: %v", mode, id, got)
			}
		}
		mustVerify(t, s, set)
		tries, err := tooling.ForTries(tooling.Options{Project: p, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		tool, _ := p.Tool("echo")
		r := tries.Try(t.Context(), tool, map[string]any{"q": "abc"}, 0)
		if got := fmt.Sprintf("%s %v", r.Status, r.Output); !strings.HasPrefix(want[0], got) {
			t.Errorf("%s: tried: %s %+v", mode, got, r.Error)
		}
	}
}
