package tooling_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/tooltask"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// awaiting is a scene of agents that open tasks in their first turns, which take longer than it.
const awaiting = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/wait.tool.yaml --
id: wait
parameters: {properties: {what: {type: string}}}
implementation: {type: service, name: wait}
execution: {mode: async, repeat: free, latency: 5m}
-- workflows/work.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}}
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes:
  - {id: in, type: GroupInput}
  - {id: d, type: Expression, configValues: {type: OBJECT, expression: "({calls: n === 1 ? [CALLS] : []})"}}
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
tool_ids_inventory: [wait]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: "a_{n}", profile_id: a, count: 400}]
simulation: {stop: {ticks: 250}}
`

// BenchmarkRestart is the time until a scene that was interrupted has gone on for two waves, with
// 10,000 tasks open, and without; more-ms is the median of the difference, at most 1,000, and
// cpu-ms the same of the time of the processor.
func BenchmarkRestart(b *testing.B) {
	const each = 25 // tasks of an agent
	wait := tools.Func(func(ctx context.Context, _ *tools.Call) tools.Result {
		<-ctx.Done()
		return tools.Fail("cancelled", "the scene has ended")
	})
	restart := func(calls int) cost {
		list := strings.TrimSuffix(strings.Repeat("{tool: 'wait', params: {what: 'the answer to a question of some length'}},", calls), ",")
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.Replace(awaiting, "CALLS", list, 1)))), nil)
		if err != nil {
			b.Fatal(err)
		}
		s, set := scenestest.New(b, p, ""), scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"wait": wait}}
		for _, set.InterruptAt = range []uint64{3, 5} {
			begun := now()
			if r := s.Run(b, set); r.Err != nil || r.Final {
				b.Fatal(r)
			}
			if took := now().minus(begun); set.InterruptAt == 5 {
				opened := 0
				for _, f := range factsOf(b, s) {
					if _, is := f.(*tooltask.Opened); is {
						opened++
					}
				}
				if opened != 400*calls {
					b.Fatalf("%d tasks", opened)
				}
				return took
			}
		}
		return cost{}
	}
	var wall, cpu []float64
	for b.Loop() {
		more := restart(each).minus(restart(0))
		wall, cpu = append(wall, more[0]/1e6), append(cpu, more[1]/1e6)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	b.ReportMetric(wall[len(wall)/2], "more-ms")
	b.ReportMetric(cpu[len(cpu)/2], "cpu-ms")
}
