package scenes_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/director"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// An agent that does not return from a critical event holds up its worker and,
// for a moment, the others: not the scene.
func TestOthersGoOnBehindAStuckAlarm(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(`
-- agent_profiles/guard.yaml --
id: guard
name: Guard
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [PublishEventTool]
-- scenes/s.yaml --
id: s
name: Guards
schema_version: "1.0"
agent_instances:
  - {instance_id: clock, profile_id: guard, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: watch, profile_id: guard, custom_runtime_config: {wake_on_start: false, subscribed_event_types: [alarm]}}
simulation: {clock: realtime, stop: {after: 10s}}
-- models/voices.yaml --
rules:
  - match: {agent: clock, variables: {turn: 2}}
    answer: {calls: [{tool: PublishEventTool, params: {type: alarm, priority: critical}}]}
otherwise: {text: ""}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	synctest.Test(t, func(t *testing.T) {
		r, err := s.StartWith(scenestest.Settings{Clock: director.Realtime, Workers: 2}, scenes.InFront(func(agent string, env *protocol.Envelope) {
			if agent == "watch" && env.Kind == protocol.KindWake {
				<-time.After(4 * time.Second)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if res := r.Close(); res.Err != nil {
			t.Error(res)
		}
	})
	if got, want := strings.Join(turns(t, s), " "), "clock@0s clock@1s watch@1s clock@2s clock@3s clock@4s clock@5s"; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
