package inspect

import (
	"os"
	"path/filepath"
	"testing"

	"tavernsim/engine/bus"
	"tavernsim/scenes/run/runner"
)

// A loop through the world is one tree, although the event of each change begins a chain; the width and depth bound it.
func TestTraceGoesOnBehindTheWorld(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"scenes/s.yaml":         `{id: s, name: S, schema_version: "1.0", agent_instances: [{instance_id: a, profile_id: a}], scene_lifecycle_workflows: {on_go_event: w, on_world_state_updated_event: w}, simulation: {stop: {ticks: 7}}}`,
		"agent_profiles/a.yaml": `{id: a, name: A, version: 1.0.0, schema_version: "1.0", core_deliberation_workflow_id: go, tool_ids_inventory: [PublishEventTool]}`,
		"workflows/go.yaml":     `{nodes: [{id: p, type: PublishEvent, inputValues: {type: go}}]}`,
		"workflows/w.yaml":      `{nodes: [{id: w, type: RequestWorldStateUpdate, inputValues: {path: n, op: add, value: 1}}]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, ranProject(t, dir, runner.Options{}, nil))
	v, err := s.Trace("a/1.e1", TraceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	depth := 0
	for e := v.Event; len(e.Reactions) > 0 && len(e.Reactions[0].Published) > 0; depth++ {
		if e = e.Reactions[0].Published[0]; e.Type != bus.TypeWorldUpdated {
			t.Errorf("%+v", e.EventLine)
		}
	}
	if depth < 3 || v.Events != depth+1 || v.Cut {
		t.Errorf("depth %d, %d events", depth, v.Events)
	}
}
