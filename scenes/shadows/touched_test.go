package shadows_test

import (
	"strings"
	"testing"

	"tavernsim/scenes"
)

// In the wave in which a walk ends as foretold, the world refuses a change of the same agent, which is not foretold: the agent
// begins anew behind the wave, and runs ahead again. It would not if the walk were taken for all that it was told.
func TestAForetoldWalkHidesNoRefusal(t *testing.T) {
	if testing.Short() {
		t.Skip(alike)
	}
	yard := "space: {grid: {width: 40, height: 40, cell: 1m}, places: {here: {at: [0, 0], size: [9, 9]}}, perception: {radius: 2}, speed: 2}"
	walker := party{"walker", 4, "0.25", "", "tool_ids_inventory: [RequestWorldStateUpdateTool, MoveTool]", writing("{path: l, op: push, value: 1, reads: [l]}") + ", {tool: MoveTool, params: {to: nowhere_at_all}}"}
	text := strings.Replace(company("", yard, walker), "count: 4}", "count: 4, place: here}", 1)
	want, _, _ := played(t, text, scenes.Barrier)
	for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		got, c, _ := played(t, text, schedule)
		if got.Digest() != want.Digest() || c.Off != "" || c.Used < 300 { // of 480; three of four are refused at each moment
			t.Errorf("%s: digest %s, want %s, %+v", schedule, got.Digest(), want.Digest(), c)
		}
	}
}

// An agent that asked for something of which it is told nothing, as when a base takes its entry, is waited for no longer than
// that wave: it runs ahead again behind it.
func TestWhoIsToldNothingGoesOn(t *testing.T) {
	entry := "{tool: WriteToKnowledgeBaseTool, params: {entry: {entry_type: lore, content: hello}}}"
	writer := party{"writer", 4, "0.25", "", "tool_ids_inventory: [WriteToKnowledgeBaseTool]\nknowledge_base_references: [{source_id: lore, access_permissions: [read, write_caiu]}]", entry}
	text := company("", "", writer)
	want, _, _ := played(t, text, scenes.Barrier)
	for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		got, c, _ := played(t, text, schedule)
		if got.Digest() != want.Digest() || c.Off != "" || c.Calls.Used < 100 { // of 120: each asks ahead for its next turn
			t.Errorf("%s: digest %s, want %s, %+v", schedule, got.Digest(), want.Digest(), c)
		}
	}
}

// A script lets agents rest and wakes them, which tells them nothing and changes when they are due: turns ahead at other times
// are dropped with the wave, and the next turn runs ahead. A bet cannot know of it before.
func TestWhoIsDueAtAnotherTimeBeginsAnew(t *testing.T) {
	text := strings.Replace(desks, "\nsimulation:", "\nscript: {states: [{id: up, on_enter: [{wake: {agents: \"*\"}}], transitions: [{to: down, after: 12s}]}, {id: down, on_enter: [{rest: {agents: \"*\"}}], transitions: [{to: up, after: 7s}]}]}\nsimulation:", 1)
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Speculative)
	if got.Digest() != want.Digest() || c.Off != "" || c.Used < 105 { // of 144; 80 if the agents went on as they were
		t.Errorf("digest %s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
}

// Where a cell has room for one, an agent waits for it and is told nothing of that. Who walks there, and whoever may be near,
// waits until the walk is over: no call is in vain. Under bets an agent begins anew behind the wave in which it is elsewhere than it
// was taken to be.
func TestWhoIsElsewhereBeginsAnew(t *testing.T) {
	text := onGreens(5, 60, "CAPACITY", "cell: 1m, capacity: 1", "MEETS", "stay", `{{pick GREENS}}`, `{{pick "north" "northeast" "west"}}`)
	want, _, _ := played(t, text, scenes.Barrier)
	for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		got, c, _ := played(t, text, schedule)
		t.Logf("%s: %+v", schedule, c)
		if got.Digest() != want.Digest() || c.Off != "" || c.Used < 200 || schedule == scenes.Tracked && c.Calls.Wasted > 0 {
			t.Errorf("%s: digest %s, want %s, %+v", schedule, got.Digest(), want.Digest(), c)
		}
	}
}
