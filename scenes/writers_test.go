package scenes_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/world"
	"tavernsim/scenes/scenestest"
)

// writersProject: agents that read one of 100 counters and write it back, one
// higher, if nobody was faster: half of them with expected_version, half with
// commands and ifVersion, on the same counters.
const writersProject = `
-- project.json --
{"id": "writers"}
-- workflows/write.yaml --
interfaceInputs:
  world_state: {dataFlowType: OBJECT}
  world_version: {dataFlowType: INTEGER}
  turn: {dataFlowType: INTEGER}
  self: {dataFlowType: OBJECT}
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes:
  - {id: in, type: GroupInput}
  - {id: name, type: Expression, configValues: {expression: "'k' + ((s.ordinal * 7 + t) %% 100)"}}
  - id: do
    type: Expression
    configValues:
      type: OBJECT
      expression: >-
        (s.ordinal + t) %% 2 == 0
        ? {world: {path: 'c.' + k + '.n', value: w.c[k].n + 1, expected_version: v}}
        : {world: {commands: [{action: 'set', key: 'world.c.' + k + '.n', value: w.c[k].n + 1, options: {ifVersion: w.c[k].__version}}]}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: self, target: name, targetHandle: s}
  - {source: in, sourceHandle: turn, target: name, targetHandle: t}
  - {source: name, sourceHandle: value, target: do, targetHandle: k}
  - {source: in, sourceHandle: self, target: do, targetHandle: s}
  - {source: in, sourceHandle: turn, target: do, targetHandle: t}
  - {source: in, sourceHandle: world_state, target: do, targetHandle: w}
  - {source: in, sourceHandle: world_version, target: do, targetHandle: v}
  - {source: do, sourceHandle: value, target: out, targetHandle: decision}
-- agent_profiles/writer.yaml --
id: writer
name: Writer
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: write
tool_ids_inventory: [RequestWorldStateUpdateTool]
custom_runtime_config: {deliberation_frequency_hz: %v}
-- scenes/s.yaml --
id: s
name: Writers
schema_version: "1.0"
agent_instances: [{instance_id: "w_{n}", profile_id: writer, count: 1000}]
initial_world_state: {c: {%s}}
simulation: {stop: {%s}}
`

// No update is lost: what stands in the counters is what was attempted less what
// was refused, exactly. SIMD_TEST_LONG=1 makes a million attempts.
func TestLinearWriters(t *testing.T) {
	ticks := 4
	if scenestest.Long() {
		ticks = 1000
	}
	t.Run("virtual", func(t *testing.T) {
		linearWriters(t, agenda.Virtual, 1, fmt.Sprintf("ticks: %d", ticks), int64(1000*ticks))
	})
	t.Run("realtime", func(t *testing.T) { linearWriters(t, agenda.Realtime, 20, "after: 2s", 2000) })
}

func linearWriters(t *testing.T, clock agenda.ClockKind, hz float64, stop string, least int64) {
	var counters []string
	for i := range 100 {
		counters = append(counters, fmt.Sprintf("k%d: {n: 0, __version: 0}", i))
	}
	text := fmt.Sprintf(writersProject, hz, strings.Join(counters, ", "), stop)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{Clock: clock}
	r := s.Run(t, set)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	state := s.Fold(t, set)
	tally := state.Tally
	if tally.Deliberations < least || tally.Failed > 0 || tally.CallsFailed > 0 || tally.Conflicts != tally.WorldRefused {
		t.Fatalf("%d attempts, %d failed turns %v, %d failed calls, %d refused, %d of them conflicts", tally.Deliberations, tally.Failed, tally.Troubles, tally.CallsFailed, tally.WorldRefused, tally.Conflicts)
	}
	sum := int64(0)
	for i := range 100 {
		n, _ := state.World().Get(world.P("c", fmt.Sprintf("k%d", i), "n"))
		sum += n.(int64)
	}
	if sum != tally.Deliberations-tally.Conflicts || sum == 0 || tally.Conflicts == 0 {
		t.Errorf("the counters say %d; %d attempts, %d conflicts", sum, tally.Deliberations, tally.Conflicts)
	}
	t.Logf("%d attempts, %d conflicts, %d updates", tally.Deliberations, tally.Conflicts, sum)
}
