package scenes_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// guards is a scene of agents that hear nothing that they are not told to, of which
// the clock raises an alarm in its second turn.
func guards(t *testing.T, agents string) *scenestest.Scene {
	t.Helper()
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
`+agents+`
simulation: {clock: realtime, stop: {after: 10s}, limits: {restart_backoff: 3s}}
-- models/voices.yaml --
rules:
  - match: {agent: clock, variables: {turn: 2}}
    answer: {calls: [{tool: PublishEventTool, params: {type: alarm, priority: critical}}]}
otherwise: {text: ""}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// An agent that does not return from a critical event holds up its worker and,
// for a moment, the others: not the scene.
func TestOthersGoOnBehindAStuckAlarm(t *testing.T) {
	s := guards(t, "  - {instance_id: watch, profile_id: guard, custom_runtime_config: {wake_on_start: false, subscribed_event_types: [alarm]}}")
	synctest.Test(t, func(t *testing.T) {
		r, err := s.StartWith(scenestest.Settings{Clock: agenda.Realtime, Workers: 2}, scenes.InFront(func(agent string, env *protocol.Envelope) {
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

// max_deliberating bounds the deliberations in flight on the realtime clock, too,
// waiting for a model or not; who heard something critical is not held up by it,
// and the others have their turns in the order in which they were due.
func TestDeliberationsInFlight(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, `agent_instances:
  - {profile_id: person, instance_id: "p_{n}", count: 12}
  - {instance_id: watch, profile_id: person, custom_runtime_config: {wake_on_start: false, subscribed_event_types: [alarm]}}
simulation: {clock: realtime, limits: {max_deliberating: 4}, stop: {after: 10s}}`), "")
	m := &slow{}
	most := map[string]int{}
	m.answer = func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		m.mu.Lock()
		most[req.Agent] = max(most[req.Agent], m.open)
		m.mu.Unlock()
		wait := time.Second
		if req.Agent == "p_1" {
			wait /= 2
		}
		a, err := after(wait, "")(ctx, req)
		if req.Agent == "p_1" {
			a.Calls = []protocol.Call{{ID: "1", Tool: "PublishEventTool", Params: map[string]any{"type": "alarm", "priority": "critical"}}}
		}
		return a, err
	}
	synctest.Test(t, func(t *testing.T) {
		if r := live(t, s, scenestest.Settings{Model: m}).Close(); r.Err != nil {
			t.Error(r)
		}
	})
	for agent, n := range most {
		if n > 5 || n > 4 && agent != "watch" {
			t.Errorf("%s is one of %d", agent, n)
		}
	}
	want := "p_1@0s p_2@0s p_3@0s p_4@0s watch@500ms p_5@1s p_6@1s p_7@1s"
	if got := strings.Join(turns(t, s), " "); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The others stand aside for an alarm also when its receiver is in the middle of a
// deliberation: until that has ended, and the one that perceives the alarm.
func TestAlarmForWhoDeliberates(t *testing.T) {
	s := guards(t, `  - {instance_id: watch, profile_id: guard, custom_runtime_config: {deliberation_frequency_hz: 1.02, subscribed_event_types: [alarm]}}
  - {instance_id: walker, profile_id: guard, custom_runtime_config: {deliberation_frequency_hz: 60}}`)
	synctest.Test(t, func(t *testing.T) {
		woken := 0
		r, err := s.StartWith(scenestest.Settings{Clock: agenda.Realtime, Workers: 3}, scenes.InFront(func(agent string, env *protocol.Envelope) {
			if agent == "watch" && env.Kind == protocol.KindWake {
				if woken++; woken == 2 {
					<-time.After(70 * time.Millisecond)
				}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if res := r.Close(); res.Err != nil {
			t.Error(res)
		}
	})
	text, _ := trace(t, s, 0, "agent.turn_ended", "event.routed")
	_, rest, _ := strings.Cut(text, " alarm ")
	var order []string
	for line := range strings.Lines(rest) {
		if words := strings.Fields(line); len(words) > 1 && words[1] == "turn" {
			order = append(order, words[0])
		}
	}
	if len(order) < 3 || order[0] != "watch" || order[1] != "watch" || order[2] != "walker" {
		t.Errorf("after the alarm: %v", order[:min(len(order), 9)])
	}
}

// Nobody stands aside for an agent that has failed.
func TestAlarmForWhoFails(t *testing.T) {
	s := guards(t, "  - {instance_id: watch, profile_id: guard, custom_runtime_config: {wake_on_start: false, subscribed_event_types: [alarm]}}")
	synctest.Test(t, func(t *testing.T) {
		r, err := s.StartWith(scenestest.Settings{Clock: agenda.Realtime, Workers: 2}, scenes.FailAgentAt("watch", protocol.KindWake, 0))
		if err != nil {
			t.Fatal(err)
		}
		if res := r.Close(); res.Err != nil {
			t.Error(res)
		}
	})
	if text, _ := trace(t, s, 0, agenda.FactAgentFailed); !strings.Contains(text, "agent watch failed") {
		t.Error(text)
	}
	s.Journal(t, func(j *persistence.Journal) {
		var rung protocol.Time
		err := j.Read(1, func(r protocol.Record) error {
			switch {
			case r.Kind == bus.FactRouted:
				rung = max(rung, r.Time)
			case r.Kind == agenda.FactAgentFailed && r.Time != rung:
				t.Errorf("kept %v after the alarm", r.Time.Sub(rung))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
