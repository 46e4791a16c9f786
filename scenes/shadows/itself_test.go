package shadows_test

import (
	"strings"
	"testing"

	"tavernsim/scenes"
)

// notices is a scene whose world changes by itself: readers ask about all that they see of it, ten times as often
// as a herald writes.
const notices = `
-- project.json --
{"id": "test", "model": "models/voices.yaml"}
-- models/voices.yaml --
rules:
  - match: {agent: herald}
    answer: {calls: [{tool: RequestWorldStateUpdateTool, params: {commands: [{action: set, key: world.notice, value: 1, options: {ttl: 7}}]}}]}
otherwise: {text: "Seen."}
-- workflows/read.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}, self: {dataFlowType: OBJECT}, world_state: {dataFlowType: OBJECT}}
interfaceOutputs: {response: {dataFlowType: STRING}, calls: {dataFlowType: ARRAY}}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "{{.self.instance_id}} {{.turn}} {{json .world_state}}"}}
  - {id: model, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: text, target: model, targetHandle: prompt}
  - {source: model, sourceHandle: text, target: out, targetHandle: response}
  - {source: model, sourceHandle: calls, target: out, targetHandle: calls}
-- agent_profiles/reader.yaml --
id: reader
name: Reader
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: read
custom_runtime_config: {deliberation_frequency_hz: 0.5}
-- agent_profiles/herald.yaml --
id: herald
name: Herald
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: read
tool_ids_inventory: [RequestWorldStateUpdateTool]
custom_runtime_config: {deliberation_frequency_hz: 0.05}
-- scenes/s.yaml --
id: s
name: Notices
schema_version: "1.0"
agent_instances:
  - {instance_id: "r_{n}", profile_id: reader, count: 8}
  - {instance_id: herald, profile_id: herald}
simulation: {seed: 3, stop: {ticks: 200}}
`

// Promise 2. What a ttl makes expire is foreseen: no call is made in vain.
func TestAnExpiryIsForeseen(t *testing.T) {
	if testing.Short() {
		t.Skip(alike)
	}
	want, _, _ := played(t, notices, scenes.Barrier)
	got, c, _ := played(t, notices, scenes.Tracked)
	if got.Digest() != want.Digest() || c.Off != "" || c.Calls.Used < 200 || c.Calls.Wasted != 0 || c.Missed != 0 {
		t.Errorf("digest %s, want %s; %+v", got.Digest(), want.Digest(), c)
	}
}

// Agents that do not read the world do not wait for what a script writes there.
func TestWhoIsIndependentOfAScriptDoesNotWait(t *testing.T) {
	if testing.Short() {
		t.Skip(alike)
	}
	text := strings.Replace(desks, "\nsimulation:", "\nscript: {states: [{id: open}], schedules: [{id: bell, every: 1s, do: [{world: {path: bell, value: 1}}]}]}\nsimulation:", 1)
	want, _, barrier := played(t, text, scenes.Barrier)
	for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		got, c, took := played(t, text, schedule)
		if got.Digest() != want.Digest() || c.Calls.Wasted != 0 || took > barrier*3/4 {
			t.Errorf("%s took %v, the barrier %v: digest %s, want %s; %+v", schedule, took, barrier, got.Digest(), want.Digest(), c)
		}
	}
}

// Agents that hear of a script, or end with it, wait for it, though they do not read the world.
func TestWhoHearsOfAScriptWaits(t *testing.T) {
	if testing.Short() {
		t.Skip(alike)
	}
	hears := strings.NewReplacer("now: {dataFlowType: STRING}}", "now: {dataFlowType: STRING}, incoming_events: {dataFlowType: ARRAY}}", "{{.now}}", "{{.now}} {{json .incoming_events}}",
		"\ncustom_runtime_config:", "\nsubscribed_event_types: [talk.*]\ncustom_runtime_config:").Replace(desks)
	for _, does := range []string{"every: 25s, do: [{event: {type: talk.bell}}]", "at: 55s, do: [{event: {type: talk.bell}}]", "at: 100s, do: [{end: {outcome: over}}]"} {
		text := strings.Replace(hears, "\nsimulation:", "\nscript: {states: [{id: open}], schedules: [{id: it, "+does+"}]}\nsimulation:", 1)
		want, _, _ := played(t, text, scenes.Barrier)
		got, c, _ := played(t, text, scenes.Tracked)
		if got.Digest() != want.Digest() || c.Calls.Wasted != 0 || c.Missed != 0 || c.Calls.Asked > c.Calls.Used+8 { // each may have asked at the end
			t.Errorf("%s: digest %s, want %s; %+v", does, got.Digest(), want.Digest(), c)
		}
	}
}

// What a script does at a known time is waited for. What it does when something happens is not known: calls in vain
// are few.
func TestAScriptWastesLittle(t *testing.T) {
	rings := "[{world: {path: bell, value: '=scene.elapsed_seconds'}}]"
	for _, c := range []struct {
		script string
		vain   bool
	}{
		{"states: [{id: open}], schedules: [{id: bell, every: 7s, do: " + rings + "}]", false},
		{"states: [{id: open}], schedules: [{id: last, at: 150s, do: [{end: {outcome: over}}]}]", false},
		{"states: [{id: a, transitions: [{to: b, after: 150s}]}, {id: b, on_enter: [{end: {outcome: over}}]}]", false},
		{"states: [{id: a, on_enter: " + rings + ", transitions: [{to: b, when: 'world.notice === 1'}]}, {id: b, on_enter: " + rings + ", transitions: [{to: a, when: 'world.notice !== 1'}]}]", true},
	} {
		if testing.Short() && !c.vain {
			continue
		}
		text := strings.Replace(notices, "\nsimulation:", "\nscript: {"+c.script+"}\nsimulation:", 1)
		want, _, _ := played(t, text, scenes.Barrier)
		got, made, _ := played(t, text, scenes.Tracked)
		calls := made.Calls
		if got.Digest() != want.Digest() || failed(made) || calls.Used < 100 {
			t.Errorf("%s: digest %s, want %s; %+v", c.script, got.Digest(), want.Digest(), made)
		}
		if most := 51 + calls.Used/10; calls.Asked-calls.Used > most || !c.vain && calls.Wasted > 0 {
			t.Errorf("%s: %+v", c.script, calls)
		}
	}
}
