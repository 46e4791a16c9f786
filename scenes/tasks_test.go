package scenes_test

import (
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
)

// The answer of an instant executor is not kept for a task that is refused: an agent that calls on and on behind
// the end of a budget takes no memory.
func TestRefusedTasksKeepNothing(t *testing.T) {
	project, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(`
-- agent_profiles/caller.yaml --
id: caller
name: Caller
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [paint]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- tools/paint.tool.yaml --
id: paint
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
execution: {mode: async, repeat: free, timeout: 300s}
-- tools/mock.yaml --
rules:
  - match: {tool: paint}
    latency: {fixed: 200s}
    answer: {output: done}
-- scenes/s.yaml --
id: s
name: Tasks
schema_version: "1.0"
agent_instances:
  - {instance_id: a, profile_id: caller}
tool_budget: {calls: 1}
simulation: {stop: {ticks: 20}}
-- models/voices.yaml --
otherwise: {calls: [{tool: paint, params: {q: one}}, {tool: paint, params: {q: two}}]}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := scenestest.New(t, project, "").Start(scenestest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if res := r.Close(); res.Err != nil {
		t.Fatal(res.Err)
	}
	if n := r.TaskAnswers(); n != 1 {
		t.Errorf("%d answers are kept, want that of the open task", n)
	}
}
