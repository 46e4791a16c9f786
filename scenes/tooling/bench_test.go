package tooling_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/persistence"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/render"
	"tavernsim/tools"
)

// BenchmarkFunctionTool is a call of a function of the program in a scene, with all its
// steps, facts and its log of effects in memory, beside a direct call and one check of the same
// parameters. The scenes with and without calls take turns. x-checks is the median of what a
// call takes more, as a multiple of the direct call; cpu-x-checks is the same of the time of the
// processor, which other programs change less; sleeps/call counts threads that gave the
// processor away, objects/call what a call makes.
func BenchmarkFunctionTool(b *testing.B) {
	const calls, turns = 30, 100
	params := map[string]any{"town": "Rome", "days": int64(3), "exact": true}
	project := func(n int) string {
		return strings.NewReplacer("CALLS", fmt.Sprintf("[%s]", strings.TrimSuffix(strings.Repeat("{tool: 'post', params: {town: 'Rome', days: 3, exact: true}},", n), ",")), "TICKS", fmt.Sprint(turns)).Replace(`
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/post.tool.yaml --
id: post
parameters: {properties: {town: {type: string, maxLength: 80}, days: {type: integer, minimum: 1, maximum: 7}, exact: {type: boolean}}, required: [town]}
implementation: {type: service, name: post}
execution: {repeat: free}
-- workflows/work.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}}
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes:
  - {id: in, type: GroupInput}
  - {id: d, type: Expression, configValues: {type: OBJECT, expression: "({calls: CALLS})"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: turn, target: d, targetHandle: n}
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
tool_ids_inventory: [post]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {stop: {ticks: TICKS}}
`)
	}
	out := map[string]any{"text": "sunny"}
	made := 0
	post := tools.Func(func(context.Context, *tools.Call) tools.Result { made++; return tools.Output(out) })
	play := func(n int) cost {
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(project(n)))), nil)
		if err != nil {
			b.Fatal(err)
		}
		s := scenestest.New(b, p, "")
		begun := now()
		if r := s.Run(b, scenestest.Settings{Durability: persistence.Memory, Tables: 16 << 20, // as simd run has them
			Tools: tooling.Live, Services: map[string]tools.Executor{"post": post}}); r.Err != nil {
			b.Fatal(r.Err)
		}
		return now().minus(begun)
	}
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(project(1)))), nil)
	if err != nil {
		b.Fatal(err)
	}
	tool, _ := p.Tool("post")
	var wall, cpu, each, sleeps, objects []float64
	for b.Loop() {
		without := play(0)
		made = 0
		call := play(calls).minus(without)
		if made < calls*(turns-1) {
			b.Fatalf("%d calls", made)
		}
		begun := now()
		n := made
		for range n {
			if err := tool.Check(params); err != nil {
				b.Fatal(err)
			}
			post(b.Context(), nil)
		}
		direct := now().minus(begun)
		wall, cpu = append(wall, call[0]/direct[0]), append(cpu, call[1]/direct[1])
		each, sleeps = append(each, call[1]/float64(n)), append(sleeps, call[2]/float64(n))
		objects = append(objects, call[3]/float64(n))
	}
	for unit, list := range map[string][]float64{"x-checks": wall, "cpu-x-checks": cpu, "cpu-ns/call": each, "sleeps/call": sleeps, "objects/call": objects} {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], unit)
	}
}

// cost is wall time and time of the processor in nanoseconds, how often a thread slept, and how many objects were made.
type cost [4]float64

func now() cost {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return cost{}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return cost{float64(time.Now().UnixNano()), float64(u.Utime.Nano() + u.Stime.Nano()), float64(u.Nvcsw), float64(m.Mallocs)}
}

func (c cost) minus(o cost) cost { return cost{c[0] - o[0], c[1] - o[1], c[2] - o[2], c[3] - o[3]} }

// BenchmarkRenderInventory renders twenty tools as functions and as a manual.
func BenchmarkRenderInventory(b *testing.B) {
	files := txtar.Parse([]byte("-- project.json --\n{\"id\": \"test\"}\n-- scenes/s.yaml --\nid: s\nname: S\nagent_instances: []\nsimulation: {stop: {ticks: 1}}\n"))
	for i := range 20 {
		files.Files = append(files.Files, txtar.File{Name: fmt.Sprintf("tools/t%d.tool.yaml", i), Data: fmt.Appendf(nil, `
id: shop.tool_%d
description: Orders goods of a kind that the shop has, and says when they come. The order is binding.
parameters: {properties: {item: {type: string, description: What is ordered.}, count: {type: integer, minimum: 1, default: 1}, note: {type: string}, when: {type: object, properties: {day: {type: string}}}}, required: [item]}
implementation: {type: service, name: x}
`, i)})
	}
	p, err := scenestest.Load(scenestest.Files(files), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, id := range p.ToolIDs() {
			t, _ := p.Tool(id)
			if len(render.Function(t)) == 0 || render.Manual(t) == "" {
				b.Fatal(id)
			}
		}
	}
}
