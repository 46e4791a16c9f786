package runner_test

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/permit"
	"tavernsim/internal/metrics"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
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
