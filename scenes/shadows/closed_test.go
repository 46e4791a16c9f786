package shadows_test

import (
	"strings"
	"testing"

	"tavernsim/scenes"
)

// An agent that is told later what it asked for waits for that, also if the end of a wave before finds it elsewhere than it was
// taken to be: no call is made in vain.
func TestWhoWaitsForAnAnswerIsNotBegunAnew(t *testing.T) {
	yard := "space: {grid: {width: 12, height: 12, cell: 1m, capacity: 1}, places: {here: {at: [0, 0], size: [4, 4]}}, perception: {radius: 2}, speed: 1}"
	walker := party{"walker", 6, "0.25", "", "tool_ids_inventory: [RequestWorldStateUpdateTool, MoveTool]", writing("{path: l, op: push, value: 1, answer: always}") + ", {tool: MoveTool, params: {to: '3,3'}}"}
	text := strings.Replace(company(lasting, yard, walker), "count: 6}", "count: 6, place: here}", 1)
	want, _, _ := played(t, text, scenes.Barrier)
	for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		got, c, _ := played(t, text, schedule)
		if got.Digest() != want.Digest() || c.Off != "" || c.Calls.Wasted > 0 || c.Calls.Used < 150 {
			t.Errorf("%s: digest %s, want %s, %+v", schedule, got.Digest(), want.Digest(), c)
		}
	}
}

// A wave that has no room for an event which agents heard in advance sets them back before anything else goes on: a turn that heard
// what was not said asks nothing more.
func TestWhoHeardWhatWasNotSaidAsksNoMore(t *testing.T) {
	if testing.Short() {
		t.Skip(alike)
	}
	text := strings.NewReplacer("HEARS", "[]", "count: 3", "count: 30", "deliberation_frequency_hz: 0.2", "deliberation_frequency_hz: 0.5",
		"stop: {ticks: 100}", "limits: {max_events_in_wave: 1}, stop: {ticks: 100, deliberations: 100000}").Replace(radio)
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Tracked)
	if got.Digest() != want.Digest() || failed(c) || c.Calls.Used < 122 { // of 126; 118 if they ask before they are set back
		t.Errorf("digest %s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
}

// In the wave in which an agent hears what was foretold, the world refuses its change, which was not: it begins anew behind the
// wave, and every call but the first of each agent is made ahead.
func TestWhatIsForetoldHidesNoRefusal(t *testing.T) {
	fast := party{"fast", 4, "0.25", "incoming_events", writes + "\nsubscribed_event_types: [job.do]", writing("{path: l, op: push, value: 1, reads: [l]}")}
	text := company("", "", party{"teller", 1, "0.25", "", publishes, tells}, fast)
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Tracked)
	if got.Digest() != want.Digest() || c.Off != "" || c.Calls.Used != got.State.Tally.ModelCalls-5 {
		t.Errorf("digest %s, want %s, %d calls, %+v", got.Digest(), want.Digest(), got.State.Tally.ModelCalls, c)
	}
}

// An agent that sleeps on hears an event of the script, which nobody foretold: it is due as before, and begins anew behind the wave.
func TestWhoHearsInItsSleepBeginsAnew(t *testing.T) {
	sleeper := party{"sleeper", 4, "0.5", "incoming_events", "tool_ids_inventory: [SleepTool]\nsubscribed_event_types: [talk.bell]", "{tool: SleepTool, params: {seconds: 9}}"}
	text := company("", "script: {states: [{id: open}], schedules: [{id: it, every: 7s, do: [{event: {type: talk.bell}}]}]}", sleeper)
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Speculative)
	if got.Digest() != want.Digest() || failed(c) || c.Calls.Used < 20 { // of 56 calls 30 to 33; none if it went on as it was
		t.Errorf("digest %s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
}

// An agent is told of the end of its lease at the first moment behind it: it runs ahead until then, also if the lease ends between
// two moments.
func TestALeaseEndsAtAMoment(t *testing.T) {
	text := company("", "", party{"clerk", 4, "0.25", "", writes, writing("{lock: {paths: [n], seconds: 2.5}}")})
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Tracked)
	if got.Digest() != want.Digest() || c.Off != "" || c.Calls.Wasted > 0 || c.Calls.Used < 420 { // of 437; 397 if it waits a moment more
		t.Errorf("digest %s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
}

// An agent that others might wake and nobody wakes is passed over with each wave: however long that lasts, they run ahead of it.
func TestWhoIsNeverWokenHoldsUpNobody(t *testing.T) {
	reactor := party{"reactor", 1, "0", "incoming_events", writes + "\nsubscribed_event_types: [job.do]", counts}
	text := company("", "", reactor, party{"teller", 1, "0.0005", "", publishes, tells}, party{"reader", 2, "0.05", "private_state world_state", keeps, notes})
	text = strings.NewReplacer("stop: {ticks: 120}", "stop: {ticks: 1500}").Replace(text)
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Tracked)
	if got.Digest() != want.Digest() || c.Off != "" || c.Calls.Used < 140 { // of 149; 101 if not more than the window of turns ahead is
		t.Errorf("digest %s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
}

// What waits for the script goes on behind the wave in which it acts: every call but the first of each agent is made ahead.
func TestWhoWaitsForAScriptGoesOn(t *testing.T) {
	text := strings.NewReplacer("now: {dataFlowType: STRING}}", "now: {dataFlowType: STRING}, incoming_events: {dataFlowType: ARRAY}}", "{{.now}}", "{{.now}} {{json .incoming_events}}",
		"\ncustom_runtime_config:", "\nsubscribed_event_types: [talk.*]\ncustom_runtime_config:",
		"\nsimulation:", "\nscript: {states: [{id: open}], schedules: [{id: it, every: 25s, do: [{event: {type: talk.bell}}]}]}\nsimulation:").Replace(desks)
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Tracked)
	if got.Digest() != want.Digest() || c.Off != "" || c.Calls.Used != got.State.Tally.ModelCalls-8 {
		t.Errorf("digest %s, want %s, %d calls, %+v", got.Digest(), want.Digest(), got.State.Tally.ModelCalls, c)
	}
}
