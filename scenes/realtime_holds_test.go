package scenes_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// §3.5 on the wall clock: a subscription that wants quiet hears the last event
// when it was quiet for two seconds, a throttle rule lets the second event of ten
// seconds through when the next ten begin, and both stand over an interruption.
func TestRealtimeHolds(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, `event_bus_config: {throttle: [{type: alarm, max: 1, window_seconds: 10, action: delay}]}
agent_instances:
  - {instance_id: typist, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: reader, profile_id: person, custom_runtime_config: {wake_on_start: false, subscribed_event_types: [{type: key, debounce_seconds: 2}]}}
  - {instance_id: ringer, profile_id: person, custom_runtime_config: {wake_on_start: false, subscribed_event_types: [alarm]}}
simulation: {clock: realtime, stop: {after: 15s}}`), "")
	typing := func(_ context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		a := protocol.ModelAnswer{Finish: protocol.FinishStop}
		publish := func(typ string) {
			a.Calls = append(a.Calls, protocol.Call{ID: typ, Tool: "PublishEventTool", Params: map[string]any{"type": typ, "payload": req.Messages[0].Text}})
		}
		switch turn := req.Messages[0].Text; {
		case req.Agent != "typist":
		case strings.Contains(turn, "Turn 1 "), strings.Contains(turn, "Turn 2 "):
			publish("key")
			publish("alarm")
		case strings.Contains(turn, "Turn 3 "), strings.Contains(turn, "Turn 4 "):
			publish("key")
		}
		return a, nil
	}
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: &slow{answer: typing}})
		time.AfterFunc(3500*time.Millisecond, r.Interrupt)
		if res := r.Close(); res.Err != nil || res.Final {
			t.Error(res)
		}
		if n := s.Fold(t, scenestest.Settings{Clock: agenda.Realtime}).Bus().Holding(); n != 2 {
			t.Errorf("%d deliveries are held, want the key and the alarm", n)
		}
		if res := live(t, s, scenestest.Settings{Model: &slow{answer: typing}}).Close(); res.Err != nil || res.Reason != agenda.StoppedByTime {
			t.Error(res)
		}
	})
	var heard []string
	for _, turn := range turns(t, s) {
		if !strings.HasPrefix(turn, "typist") {
			heard = append(heard, turn)
		}
	}
	if got, want := strings.Join(heard, " "), "ringer@0s reader@5s ringer@10s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if text, _ := trace(t, s, 0, "event.routed"); !strings.Contains(text, `"Turn 4 of typist."`) {
		t.Error(text)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}
