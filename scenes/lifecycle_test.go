package scenes_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// On the realtime clock the first turns begin when the workflow of the start has ended, whatever its model took, and find what it did
// (on the virtual one they do not: testdata/script/lifecycle_start.txtar).
func TestRealtimeStartComesFirst(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, `agent_instances: [{instance_id: ada, profile_id: person}]
scene_lifecycle_workflows: {on_scene_start: open}
initial_world_state: {door: shut}
simulation: {stop: {after: 10s}}
-- workflows/open.yaml --
interfaceOutputs: {response: {dataFlowType: STRING}}
nodes:
  - {id: model, type: LLMCompletion, inputValues: {prompt: "Open the inn."}}
  - {id: keep, type: RequestWorldStateUpdate, inputValues: {path: door}}
  - {id: out, type: GroupOutput, inputValues: {response: ""}}
edges:
  - {source: model, sourceHandle: text, target: keep, targetHandle: value}
`), "")
	synctest.Test(t, func(t *testing.T) {
		m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			if req.Agent == "$scene" {
				return after(1500*time.Millisecond, "wide open")(ctx, req)
			}
			return after(0, "")(ctx, req)
		}}
		r, err := s.Start(scenestest.Settings{Model: m, Clock: agenda.Realtime})
		if err != nil {
			t.Fatal(err)
		}
		if res := r.Close(); res.Err != nil {
			t.Error(res)
		}
	})
	if got := turns(t, s); !slices.Equal(got, []string{"$scene@0s", "ada@1.5s"}) {
		t.Error(got)
	}
	text, _ := trace(t, s, 0)
	if set, first := strings.Index(text, `set door "wide open"`), strings.Index(text, "ada model"); set < 0 || first < set {
		t.Error(text)
	}
}
