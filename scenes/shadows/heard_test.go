package shadows_test

import (
	"slices"
	"strings"
	"testing"

	"tavernsim/scenes"
)

// Promise 2. Turns ahead hear what turns before them published, in their prompts with ids and traces, and ask as they
// will: some hear one publisher, some themselves, too, some answer.
func TestWhatIsHeardIsForetold(t *testing.T) {
	for _, hears := range []string{"[]", "[agent.said]"} {
		text := strings.NewReplacer("HEARS", hears).Replace(radio)
		want, _, barrier := played(t, text, scenes.Barrier)
		got, c, took := played(t, text, scenes.Tracked)
		t.Logf("the host hears %s: %v of %v, %+v", hears, took, barrier, *c)
		if got.Digest() != want.Digest() || c.Calls.Wasted > 0 || c.Missed > 0 || c.Undone > 0 || c.Off != "" || c.Calls.Used < 50 {
			t.Errorf("the host hears %s: digest %s, want %s, %+v", hears, got.Digest(), want.Digest(), c)
		}
	}
}

// What is a fact already is heard before what is foretold, also if a turn between them has perceived nothing of it.
func TestFactsAreHeardFirst(t *testing.T) {
	crier := party{"crier", 3, "0.1", "incoming_events", publishes + "\nsubscribed_event_types: [job.do]", tells}
	late := party{"late", 2, "0.07", "incoming_events", publishes + "\nsubscribed_event_types: [job.do]", tells}
	text := company("latency: {min: 1s, max: 9s}", "", crier, late)
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Tracked)
	t.Logf("%d calls, %+v", got.State.Tally.ModelCalls, c.Calls)
	if got.Digest() != want.Digest() || c.Off != "" || c.Calls.Wasted > 0 || c.Calls.Used < 20 {
		t.Errorf("digest %s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
}

// radio is a scene in which a host speaks, and others hear it and take notes.
const radio = `
-- project.json --
{"id": "test", "model": "models/voices.yaml"}
-- models/voices.yaml --
rules:
  - match: {agent: host}
    answer: {calls: [{tool: SayTool, params: {text: '{{pick "rain" "sun"}}'}}, {tool: SayTool, params: {text: now music}}]}
otherwise: {calls: [{tool: UpdatePrivateStateTool, params: {path: last, value: noted}}]}
-- workflows/work.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}, self: {dataFlowType: OBJECT}, interaction_history: {dataFlowType: ARRAY}, incoming_events: {dataFlowType: ARRAY}, now: {dataFlowType: STRING}}
interfaceOutputs: {calls: {dataFlowType: ARRAY}}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "{{.self.instance_id}} {{.turn}} {{.now}} {{json .incoming_events}} {{json .interaction_history}}"}}
  - {id: model, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: text, target: model, targetHandle: prompt}
  - {source: model, sourceHandle: calls, target: out, targetHandle: calls}
-- agent_profiles/host.yaml --
id: host
name: Host
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
subscribed_event_types: HEARS
tool_ids_inventory: [SayTool]
custom_runtime_config: {deliberation_frequency_hz: 0.1}
-- agent_profiles/listener.yaml --
id: listener
name: Listener
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
subscribed_event_types: [agent.said]
tool_ids_inventory: [UpdatePrivateStateTool]
custom_runtime_config: {deliberation_frequency_hz: 0.2}
-- scenes/s.yaml --
id: s
name: Radio
schema_version: "1.0"
agent_instances:
  - {instance_id: host, profile_id: host}
  - {instance_id: "l_{n}", profile_id: listener, count: 3}
simulation: {seed: 3, stop: {ticks: 100}}
`

// A profile that reads the world, or that everybody may tell anything, waits for everybody under the
// proof, and the summary says for whom. Bets run all the same.
func TestWhoMayBeToldWaits(t *testing.T) {
	if testing.Short() {
		t.Skip(alike)
	}
	told := strings.Replace(desks, "[UpdatePrivateStateTool, RequestWorldStateUpdateTool]", "[UpdatePrivateStateTool, RequestWorldStateUpdateTool, PublishEventTool]", 1)
	told = strings.Replace(told, "count: 8}", "count: 7}\n  - {instance_id: b, profile_id: clerk, custom_runtime_config: {deliberation_frequency_hz: 0.1, max_goals: 30}}", 1) // one profile, and one line
	reads := strings.Replace(strings.Replace(desks, "now: {dataFlowType: STRING}}", "now: {dataFlowType: STRING}, world_state: {dataFlowType: OBJECT}}", 1),
		"{{json .private_state}}", "{{json .private_state}} {{.world_state.motto}}", 1)
	reads = strings.Replace(reads, "desks: {}", "desks: {}, motto: work", 1)
	for text, why := range map[string]string{told: "PublishEventTool", reads: "world_write_permissions"} {
		want, _, barrier := played(t, text, scenes.Barrier)
		got, c, took := played(t, text, scenes.Tracked)
		if got.Digest() != want.Digest() || took < barrier*9/10 || c.Calls.Wasted > 0 || c.Missed > 0 || c.Off != "" {
			t.Errorf("tracked: %s, want %s, %+v", got.Digest(), want.Digest(), c)
		}
		if len(c.Advice) != 1 || !strings.Contains(c.Advice[0], why) {
			t.Errorf("advice %q, want %s in it", c.Advice, why)
		}
		got, c, took = played(t, text, scenes.Speculative)
		if got.Digest() != want.Digest() || took > barrier*9/10 || c.Calls.Used < 20 || c.Off != "" || float64(c.Calls.Wasted) > 0.1*float64(c.Calls.Asked) {
			t.Errorf("speculative: %s, want %s, %+v", got.Digest(), want.Digest(), c)
		}
		t.Logf("%s: speculative %v, barrier %v, %d calls used, %d wasted", why, took, barrier, c.Calls.Used, c.Calls.Wasted)
	}
}

// Promise 2. Who perceives of the world what nobody else may change waits for nobody, and who perceives what
// one agent may change waits for that one.
func TestWhoPerceivesItsPartDoesNotWait(t *testing.T) {
	shows := strings.NewReplacer("now: {dataFlowType: STRING}}", "now: {dataFlowType: STRING}, world_state: {dataFlowType: OBJECT}}", "{{json .private_state}}", "{{json .private_state}} {{json .world_state}}",
		"desks: {}", "desks: {}, motto: work", "tool_ids_inventory:", "perceives: [motto, \"desks.{self}\"]\nworld_write_permissions: {allow: [\"desks.{self}\"]}\ntool_ids_inventory:").Replace(desks)
	want, _, barrier := played(t, shows, scenes.Barrier)
	for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		got, c, took := played(t, shows, schedule)
		t.Logf("%s: %v of %v, %+v", schedule, took, barrier, *c)
		if got.Digest() != want.Digest() || c.Calls.Wasted != 0 || c.Off != "" || c.Missed != 0 || c.Calls.Used < 100 || took > barrier*3/4 || len(c.Advice) > 0 {
			t.Errorf("%s took %v, the barrier %v: digest %s, want %s, %+v", schedule, took, barrier, got.Digest(), want.Digest(), c)
		}
	}
	open := strings.Replace(shows, "perceives: [motto, \"desks.{self}\"]", "perceives: [motto, \"desks.*\"]", 1)
	got, c, took := played(t, open, scenes.Tracked)
	if want, _, barrier := played(t, open, scenes.Barrier); got.Digest() != want.Digest() || took < barrier*9/10 || len(c.Advice) != 1 || !strings.Contains(c.Advice[0], "perceives a part of the world that clerk may change") {
		t.Errorf("all desks: %v of %v, %+v", took, barrier, c)
	}
}

// Promise 2. Nobody waits for agents whose profile says that they publish what nobody hears, and name none; who
// hears a type waits for who may publish it, and a profile for who may name its agents.
func TestWhatIsPublishedSaysWhoWaits(t *testing.T) {
	clerk := "tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool]"
	boss := strings.NewReplacer("-- scenes/s.yaml --", strings.Replace(desks[strings.Index(desks, "-- agent_profiles/clerk.yaml --"):strings.Index(desks, "-- scenes/s.yaml --")], "clerk", "boss", 2)+"-- scenes/s.yaml --",
		"count: 8}", "count: 6}\n  - {instance_id: boss, profile_id: boss}").Replace(desks)
	says := func(rules string) string {
		return strings.Replace(boss, clerk, "tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool, PublishEventTool]\n"+rules, 1)
	}
	for name, c := range map[string]struct {
		text string
		want []string // beginnings of the advice
	}{
		"nobody hears it":      {says("publishes: [desk.note]\npublishes_to: []"), nil},
		"one may be named":     {says("publishes: [desk.note]\npublishes_to: [boss]"), []string{"profile boss: waits for every agent of clerk, of which it hears"}},
		"names of one profile": {says("publishes: [desk.note]\npublishes_to: [a_1, nobody]"), []string{"profile clerk: waits for every agent of clerk, of which it hears"}},
		"everybody may":        {says("publishes: [desk.note]"), []string{"profile clerk: waits", "profile boss: waits"}},
		"one hears it": {strings.Replace(says("publishes: [desk.note]\npublishes_to: []"), "core_deliberation_workflow_id: work\ntool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool]",
			"core_deliberation_workflow_id: work\nsubscribed_event_types: [\"desk.*\"]\ntool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool]", 1), []string{"profile boss: waits for every agent of clerk, of which it hears"}},
		"no types are bounded": {says("publishes_to: []"), nil},
	} {
		if testing.Short() && name != "one may be named" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want, _, barrier := played(t, c.text, scenes.Barrier)
			got, made, took := played(t, c.text, scenes.Tracked)
			t.Logf("%v of %v, %+v", took, barrier, *made)
			if got.Digest() != want.Digest() || made.Calls.Wasted != 0 || made.Off != "" || made.Missed != 0 || len(made.Advice) != len(c.want) {
				t.Errorf("digest %s, want %s, %+v", got.Digest(), want.Digest(), made)
			}
			for _, w := range c.want {
				if !slices.ContainsFunc(made.Advice, func(line string) bool { return strings.HasPrefix(line, w) }) {
					t.Errorf("advice %q, want %q in it", made.Advice, w)
				}
			}
			if len(c.want) == 0 && (took > barrier*3/4 || made.Calls.Used < 80) {
				t.Errorf("took %v, the barrier %v", took, barrier)
			}
		})
	}
}
