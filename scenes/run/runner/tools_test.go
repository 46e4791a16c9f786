package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/permit"
	"tavernsim/internal/metrics"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/approvals"
	"tavernsim/tools/grants"
)

const asking = `
-- project.json --
{"id": "test", "model": "models/m.yaml", "tool_policy": {"otherwise": "allow", "rules": [{"id": "r", "tools": ["bank.pay"], "do": "ask"}]}}
-- models/m.yaml --
rules: [{answer: {calls: [{tool: bank.pay}, {tool: bank.far}, {tool: bank.look}]}}]
-- tools/pay.tool.yaml --
id: bank.pay
implementation: {type: service, name: bank}
-- tools/look.tool.yaml --
id: bank.look
implementation: {type: service, name: bank}
-- tools/far.tool.yaml --
id: bank.far
implementation: {type: http, url: "https://bank.example/"}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [bank.pay, bank.look, bank.far]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 1}}
`

// A run counts what its tools do, what is denied and who was asked; the manifest has the
// grants, and whoever replays it counts nothing.
func TestToolsAreCounted(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(asking))), nil)
	if err != nil {
		t.Fatal(err)
	}
	answers, faults := permit.New(&permit.Policy{Otherwise: permit.Ask, Rules: []permit.Rule{{ID: "yes", Tools: []string{"*"}, Do: permit.Allow}}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	counts := metrics.New()
	r, err := runner.Start(p, runner.Options{Dir: t.TempDir() + "/run", Metrics: counts, Grants: &grants.Store{}, Leave: tooling.Leave{Answers: answers}, Services: map[string]tools.Executor{
		"bank": tools.Func(func(context.Context, *tools.Call) tools.Result { return tools.Output(strings.Repeat("x", 100_000)) }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if g := r.Manifest.Grants; len(g) != 1 || len(g[0].Tools) != 0 {
		t.Error(g)
	}
	families, err := counts.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"simd_tool_duration_seconds bank.pay": 1, "simd_tool_duration_seconds bank.look": 1, "simd_tool_inflight_calls": 0, "simd_tool_denied_total grant": 1,
		"simd_tool_approvals_total yes": 1, "simd_tool_output_truncated_total bank.pay": 1, "simd_tool_calls_total denied bank.far": 1,
	} {
		if v, there := got[name]; !there || v != want {
			t.Errorf("%s: %v, %v", name, v, there)
		}
	}
}

const askingAboutFiles = `
-- project.json --
{"id": "test", "model": "models/m.yaml", "tool_policy": {"otherwise": "allow", "rules": [{"id": "r", "tools": ["bank.pay", "edit", "read"], "do": "ask"}]}}
-- models/m.yaml --
rules:
  - answer:
      calls:
        - {tool: edit, params: {files: [{src: "fam://run/letter", edits: [{find: "", replace: "good"}]}]}}
        - {tool: edit, params: {files: [{src: own, edits: [{find: "", replace: "mine"}]}]}}
        - {tool: read, params: {files: [{src: "own#L1"}]}}
        - {tool: bank.pay, params: {text: "fam://run/letter"}}
        - {tool: bank.pay, params: {text: "fam://agent/own"}}
-- tools/pay.tool.yaml --
id: bank.pay
parameters: {properties: {text: {type: string, x-uri: text}}}
implementation: {type: service, name: bank}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [bank.pay, edit, read]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 1}}
`

// agrees says yes to everything.
type agrees struct{ asked []approvals.Question }

func (a *agrees) Ask(_ context.Context, q *approvals.Question) (approvals.Verdict, error) {
	a.asked = append(a.asked, *q)
	return approvals.Verdict{Yes: true, Contents: q.Contents}, nil
}

// Who is asked by a run sees the files of the call, and a yes is for them.
func TestAskedAboutFilesOfARun(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(askingAboutFiles))), nil)
	if err != nil {
		t.Fatal(err)
	}
	var sent []any
	door := &agrees{}
	r, err := runner.Start(p, runner.Options{Dir: t.TempDir() + "/run", Grants: &grants.Store{}, Leave: tooling.Leave{Door: door}, Services: map[string]tools.Executor{
		"bank": tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
			sent = append(sent, c.Params["text"])
			return tools.Output("ok")
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(sent) != "[good mine]" {
		t.Errorf("sent %v", sent)
	}
	const good, mine = "sha256-770e607624d689265ca6c44884d0807d9b054d23c473c106c72be9de08b7376c", "sha256-"
	want := []map[string]string{{"fam://run/letter": "missing"}, {"fam://agent/own": "missing"}, {"fam://agent/own": mine}, {"fam://run/letter": good}, {"fam://agent/own": mine}}
	if len(door.asked) != len(want) {
		t.Fatalf("%+v", door.asked)
	}
	for i, q := range door.asked {
		for uri, id := range want[i] {
			if len(q.Contents) != 1 || !strings.HasPrefix(q.Contents[uri], id) {
				t.Errorf("question %d: %v, want %s of %s", i, q.Contents, id, uri)
			}
		}
	}
}
