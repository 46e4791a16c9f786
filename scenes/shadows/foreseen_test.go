package shadows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
)

// foreseen are scenes in which something beside the profiles decides what an agent does or is told next.
func foreseen() map[string]string {
	teller := party{"teller", 1, "0.25", "", publishes, tells}
	hears := party{"clerk", 2, "0.05", "incoming_events", keeps + "\nsubscribed_event_types: [job.do]", notes}
	works := party{"writer", 3, "0.2", "", writes, counts}
	at5 := func(does string) string {
		return "script: {states: [{id: up, transitions: [{to: down, after: 5s}]}, {id: down, on_enter: [" + does + "]}]}"
	}
	echo := party{"echo", 1, "0.5", "incoming_events", publishes + "\nsubscribed_event_types: [job.do]", tells}
	other := echo
	other.name = "other"
	names := party{"caller", 2, "0.5", "", "tool_ids_inventory: [PublishEventTool]\npublishes: [job.do]\npublishes_to: [nobody]", "{tool: PublishEventTool, params: {type: job.do, payload: go, target_agent_instance_id: nobody}}"}
	yard := "space: {grid: {width: 40, height: 40, cell: 1m}, places: {here: {at: [0, 0], size: [9, 9]}, there: {at: [30, 30], size: [3, 3]}}, perception: {radius: 2, types: [job.do]}, speed: 2}"
	walks := party{"walker", 3, "0.5", "", "tool_ids_inventory: [MoveTool]", "{tool: MoveTool, params: {to: here}}"}
	return map[string]string{
		"an event goes in a circle":  company("", "", echo, works),
		"nobody else is near":        strings.NewReplacer("profile_id: echo, count: 1}", "profile_id: echo, count: 1, place: here}", "profile_id: other, count: 1}", "profile_id: other, count: 1, place: there}").Replace(company("", yard, echo, other, works)),
		"nobody has the name":        company("", "", names, works),
		"too many events":            company("", "event_bus_config: {throttle: [{type: \"job.*\", max: 1, window_seconds: 5, action: drop}]}", teller, names, works),
		"who is nowhere cannot walk": strings.Replace(company("", yard, walks, works), "profile_id: writer, count: 3}", "profile_id: writer, count: 3, place: here}", 1),
		"a lane blocks":              strings.Replace(company("", "", party{"teller", 5, "0.5", "", publishes, tells}, party{"clerk", 1, "0.05", "incoming_events", keeps + "\nsubscribed_event_types: [job.do]\nceilings: {max_deliberation_hz: 0.05}", notes}, party{"listener", 2, "0.07", "incoming_events", keeps + "\nsubscribed_event_types: [job.do]", notes}, works), "frequency_hz: 0.05", "frequency_hz: 0.05, inbox: {normal: {max: 2, policy: block}}", 1),
		"who rests is not woken":     company("", at5("{rest: {agents: 'profile:clerk'}}"), teller, hears, works),
	}
}

// Promise 2: it is predicted, or whom it concerns waits for the fact.
func TestItIsForeseen(t *testing.T) {
	for name, text := range foreseen() {
		t.Run(name, func(t *testing.T) { foresees(t, text) })
	}
}

// Turns behind an order whose time is known wait for it.
func TestOrdersAreForeseen(t *testing.T) {
	text := company("", "", party{"reader", 4, "0.5", "world_state", keeps, notes})
	foresees(t, text, func(o *scenes.Options) {
		for _, at := range []time.Duration{21 * time.Second, 41500 * time.Millisecond, 41500 * time.Millisecond, 70 * time.Second} {
			do := protocol.Encode([]any{map[string]any{"world": map[string]any{"path": "n", "op": "add", "value": int64(1)}}})
			o.Orders = append(o.Orders, &machines.Order{Intervened: &agenda.Intervened{ID: fmt.Sprint("flood ", len(o.Orders)), Do: do}, After: at})
		}
	})
}

// foresees holds a scene to that no call is made in vain under tracked, and few under speculative.
func foresees(t *testing.T, text string, change ...func(*scenes.Options)) {
	t.Helper()
	want, _, barrier := played(t, text, scenes.Barrier, change...)
	for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		got, c, took := played(t, text, schedule, change...)
		t.Logf("%s: %v of %v, %d calls, %+v", schedule, took, barrier, got.State.Tally.ModelCalls, *c)
		if got.Digest() != want.Digest() || c.Off != "" {
			t.Errorf("%s: digest %s, want %s, %+v", schedule, got.Digest(), want.Digest(), c)
		}
		if schedule == scenes.Tracked && (c.Calls.Wasted > 0 || c.Calls.Used == 0) || wastes(c) {
			t.Errorf("%s: %+v", schedule, c)
		}
	}
}
