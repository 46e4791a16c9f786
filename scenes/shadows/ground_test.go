package shadows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/shadows"
)

// greens is a scene with far more room than agents: who stands on one green meets who is there, and
// nobody else but for those on their way. Everything that an agent perceives is in its prompt.
const greens = `
-- project.json --
{"id": "test", "model": "models/voices.yaml"}
-- models/voices.yaml --
rules:
  - match: {chance: 0.3}
    answer: {calls: [{tool: MoveTool, params: {to: '{{pick "north" "south" "stay"}}'}}]}
  - match: {chance: 0.3}
    answer: {calls: [{tool: MoveTool, params: {to: '{{pick GREENS}}'}}]}
  - match: {chance: 0.4}
    answer: {calls: [{tool: SayTool, params: {text: '{{pick "oh" "ah"}}'}}, {tool: MoveTool, params: {to: "MEETS"}}]}
otherwise: {text: ""}
-- workflows/stroll.yaml --
interfaceInputs:
  turn: {dataFlowType: INTEGER}
  self: {dataFlowType: OBJECT}
  now: {dataFlowType: STRING}
  surroundings: {dataFlowType: OBJECT}
  interaction_history: {dataFlowType: ARRAY}
  incoming_events: {dataFlowType: ARRAY}
  observations: {dataFlowType: ARRAY}
interfaceOutputs: {calls: {dataFlowType: ARRAY}}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "Turn {{.turn}} of {{.self.instance_id}} at {{.now}}: {{json .surroundings}} {{json .interaction_history}} {{json .incoming_events}} {{json .observations}}"}}
  - {id: model, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: text, target: model, targetHandle: prompt}
  - {source: model, sourceHandle: calls, target: out, targetHandle: calls}
-- agent_profiles/stroller.yaml --
id: stroller
name: Stroller
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: stroll
subscribed_event_types: [agent.said, space.entered]
tool_ids_inventory: [MoveTool, SayTool, TOOLS]
custom_runtime_config: {deliberation_frequency_hz: 0.25}
-- scenes/s.yaml --
id: s
name: Greens
schema_version: "1.0"
space:
  grid: {width: 400, height: 60, CAPACITY}
  places:
    a: {at: [0, 10], size: [6, 6]}
    b: {at: [14, 10], size: [6, 6]}
    c: {at: [200, 30], size: [6, 6]}
    d: {at: [220, 30], size: [6, 6]}
    e: {at: [390, 10], size: [6, 6]}
  perception: {radius: 3, types: [agent.said, "space.*"]}
  speed: 2
agent_instances:
  - {instance_id: "west_{n}", profile_id: stroller, count: 4, place: a}
  - {instance_id: "south_{n}", profile_id: stroller, count: 4, place: c}
  - {instance_id: "east_{n}", profile_id: stroller, count: 2, place: e}
simulation: {seed: SEED, stop: {ticks: TICKS}}
`

func onGreens(seed, ticks int, set ...string) string {
	r := strings.NewReplacer(append(set, "SEED", fmt.Sprint(seed), "TICKS", fmt.Sprint(ticks), "GREENS", `"a" "b"`, "MEETS", "south", "TOOLS", "UpdatePrivateStateTool", "CAPACITY", "cell: 1m")...)
	return r.Replace(greens)
}

// Promise 2 in space: a turn waits for those only who may come near, or be heard, and no call is made in vain:
// where agents see and hear each other, only see, and only hear.
func TestWhoIsFarAwayDoesNotWait(t *testing.T) {
	stays := []string{"MEETS", "stay", `{{pick GREENS}}`, `{{pick "north" "northeast" "west"}}`}
	deaf := []string{"[agent.said, space.entered]", "[]"}
	blind := []string{"  surroundings: {dataFlowType: OBJECT}\n", "", "{{json .surroundings}} ", ""}
	far := []string{"radius: 3", "radius: 9", "speed: 2", "speed: 1"} // farther than the steps that the rule allows for
	sets := [][]string{stays, slices.Concat(deaf, stays), slices.Concat(blind, stays), slices.Concat(deaf, far, stays), slices.Concat(blind, far, stays)}
	for seed, set := range sets {
		if testing.Short() && seed > 0 {
			continue
		}
		text := onGreens(seed+5, 60, set...)
		want, _, barrier := played(t, text, scenes.Barrier)
		for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
			got, c, took := played(t, text, schedule)
			t.Logf("%d %s: %v of %v, %+v", seed, schedule, took, barrier, *c)
			if got.Digest() != want.Digest() || c.Off != "" {
				t.Errorf("%s: digest %s, want %s, %+v", schedule, got.Digest(), want.Digest(), c)
			}
			if c.Calls.Used < 30 || took > barrier || len(c.Advice) > 0 {
				t.Errorf("%s took %v, the barrier %v: %+v", schedule, took, barrier, *c)
			}
			if schedule == scenes.Tracked && (c.Calls.Wasted > 0 || c.Missed > 0) {
				t.Errorf("calls were made in vain: %+v", *c)
			}
		}
	}
}

// Promise 1 in space: walks that lead through each other, full cells, looks around, walks to agents, interrupted and
// resumed, shadows that are lied to.
func TestOneDigestInSpace(t *testing.T) {
	var sum shadows.Counts
	rapid.Check(t, func(rt *rapid.T) {
		set := []string{}
		if rapid.Bool().Draw(rt, "full cells") {
			set = append(set, "CAPACITY", "capacity: 1")
		}
		if rapid.Bool().Draw(rt, "looks") {
			set = append(set, "TOOLS", "LookTool")
		}
		set = append(set, "MEETS", rapid.SampledFrom([]string{"south", "west_1", "c", "nowhere_at_all", "0,0"}).Draw(rt, "meets"))
		text := onGreens(rapid.IntRange(0, 1000).Draw(rt, "seed"), rapid.IntRange(4, 16).Draw(rt, "ticks"), set...)
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
		if err != nil {
			rt.Fatal(err)
		}
		underEverySchedule(t, rt, p, nil, drawn(rt), text, &sum)
	})
	t.Logf("%d turns ran ahead; %d calls were used", sum.Turns, sum.Calls.Used)
	if scenestest.Long() && (sum.Turns == 0 || sum.Calls.Used == 0) {
		t.Error("nothing is tested")
	}
}
