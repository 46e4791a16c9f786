package scenestest

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// RandomProject draws a scene and a model whose agents call tools at random, with
// inboxes of one of the given sizes.
func RandomProject(t *rapid.T, inboxes ...int) string {
	calls := []string{
		`{tool: RequestWorldStateUpdateTool, params: {path: n, op: add, value: "{{randInt -5 5}}"}}`,
		`{tool: RequestWorldStateUpdateTool, params: {path: "{{pick \"a\" \"b\"}}", value: "{{.agent}}", expected_version: "{{randInt 1 9}}"}}`,
		`{tool: RequestWorldStateUpdateTool, params: {path: n.x, value: 1}}`,
		`{tool: RequestWorldStateUpdateTool, params: {path: n, op: add, value: 1, answer: always, transaction: "{{pick \"t\" \"u\"}}"}}`,
		`{tool: RequestWorldStateUpdateTool, params: {commands: [{action: add, key: world.n, value: 1, options: {idempotencyKey: "{{randInt 1 3}}"}}, {action: push, key: world.l, value: "{{randInt 1 3}}", options: {dedupe: true, ttl: 2}}]}}`,
		`{tool: RequestWorldStateUpdateTool, params: {commands: {set: {world.v: 1, world.w.x: 2}, delete: [world.v], options: {transaction: true}}, answer: always}}`,
		`{tool: RequestWorldStateUpdateTool, params: {lock: {paths: ["{{pick \"n\" \"l\"}}"], seconds: "{{randInt 1 4}}"}}}`,
		`{tool: RequestWorldStateUpdateTool, params: {path: w.y, value: 1, reads: [l, "w.*"]}}`,
		`{tool: UpdatePrivateStateTool, params: {commands: [{action: add, key: self.m, value: 1, options: {ttl: 2}}, {action: set, key: self.k.x, value: 1, options: {ttl: 3, ifVersion: 0}}]}}`,
		`{tool: PublishEventTool, params: {type: talk.x, payload: "{{randInt 1 9}}"}}`,
		`{tool: PublishEventTool, params: {type: talk.y, priority: high, ttl_seconds: 1, target_agent_instance_id: "a_{{randInt 1 5}}"}}`,
		`{tool: PublishEventTool, params: {type: talk.z, priority: critical, requires_ack: true, payload: "{{randInt 1 9}}"}}`,
		`{tool: PublishEventTool, params: {type: talk.q, target_agent_instance_id: "a_{{randInt 1 5}}", task_id: "t{{randInt 1 3}}", expects_reply: true}}`,
		`{tool: PublishEventTool, params: {type: talk.r, priority: "{{pick \"low\" \"high\"}}", task_id: "t{{randInt 1 3}}"}}`,
		`{tool: UpdatePrivateStateTool, params: {path: n, op: add, value: 1}}`,
		`{tool: UpdatePrivateStateTool, params: {path: n, op: push, value: 1}}`,
		`{tool: SleepTool, params: {seconds: "{{randInt 0 3}}"}}`,
		`{tool: SleepTool, params: {seconds: "{{randInt 2 6}}", wake_when: "world.n > {{randInt -3 3}}", wake_types: ["{{pick \"talk.z\" \"talk.y\"}}"]}}`,
		`{tool: SleepTool, params: {seconds: "{{randInt 2 6}}", wake_types: [talk.x]}}`,
		`{tool: SayTool, params: {text: "{{pick \"oh\" \"ah\"}}"}}`,
		`{tool: UpdateGoalTool, params: {id: "g{{randInt 1 3}}", status: "{{pick \"active\" \"completed\" \"lost\"}}"}}`,
		`{tool: NoSuchTool}`,
	}
	inbox := rapid.SampledFrom(inboxes).Draw(t, "inbox")
	lanes := rapid.SampledFrom([]string{"", "normal: {max: 1, policy: block}, high: {max: 2, policy: block}", "critical: {max: 1, policy: block}, low: {max: 1, policy: block}"}).Draw(t, "lanes")
	if lanes != "" {
		inbox += 4 // for what comes until publishers stop
	}
	var b strings.Builder
	fmt.Fprintf(&b, `-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
event_bus_config: {max_depth: %d, max_revisits: %d, loop_action: %s, default_event_ttl_seconds: %d, throttle: [%s]}
agent_instances:
  - {instance_id: "a_{n}", profile_id: person, count: %d, custom_runtime_config: {deliberation_frequency_hz: %v, max_inbox: %d, max_observations: %d, max_tool_rounds: %d, interrupt: {by: %s}, inbox: {%s}, subscribed_event_types: [%s], task_timeout_seconds: 2, max_tasks: 2}}
scene_lifecycle_workflows: {%s}
initial_world_state: {n: 0}
simulation: {seed: %d, tick: %s, stop: {ticks: %d}, limits: {max_deliberating: %d}}
-- workflows/note.yaml --
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes: [{id: c, type: Constant, configValues: {value: {world: {path: n, op: add, value: 1}, events: {type: talk.x}}}}, {id: out, type: GroupOutput}]
edges: [{source: c, sourceHandle: value, target: out, targetHandle: decision}]
-- models/voices.yaml --
rules:
`,
		rapid.IntRange(1, 5).Draw(t, "depth"), rapid.IntRange(1, 3).Draw(t, "revisits"),
		rapid.SampledFrom([]string{"drop", "deprioritize", "warn"}).Draw(t, "loop"), rapid.IntRange(0, 3).Draw(t, "ttl"),
		rapid.SampledFrom([]string{"", "{type: talk.*, max: 1, window_seconds: 1, action: delay}", "{type: talk.*, max: 2, window_seconds: 2, action: deprioritize, per: source}"}).Draw(t, "throttle"),
		rapid.IntRange(1, 5).Draw(t, "agents"), rapid.SampledFrom([]float64{0, 0.5, 1, 3}).Draw(t, "hz"),
		inbox, rapid.IntRange(1, 4).Draw(t, "observations"), rapid.IntRange(1, 3).Draw(t, "rounds"), rapid.SampledFrom([]string{"never", "high", "critical"}).Draw(t, "interrupt by"),
		lanes,
		rapid.SampledFrom([]string{"talk.*", "{type: talk.x, debounce_seconds: 1}, talk.y, talk.z", "talk.z, {type: talk.*, debounce_seconds: 1, debounce: merge}"}).Draw(t, "hears"),
		rapid.SampledFrom([]string{"", "on_scene_start: note, on_scene_end: note, on_scene_pause: note, on_scene_resume: note"}).Draw(t, "lifecycle"),
		rapid.IntRange(0, 1000).Draw(t, "seed"), rapid.SampledFrom([]string{"1s", "700ms", "3s"}).Draw(t, "tick"),
		rapid.IntRange(1, 8).Draw(t, "ticks"), rapid.IntRange(1, 3).Draw(t, "deliberating"))
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		fmt.Fprintf(&b, "  - match: {chance: 0.5}\n")
		if rapid.Bool().Draw(t, "slow") {
			fmt.Fprintf(&b, "    latency: {min: 100ms, max: 3s}\n")
		}
		if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
			fmt.Fprintf(&b, "    answer: {fail: timeout}\n")
			continue
		}
		list := rapid.SliceOfN(rapid.SampledFrom(calls), 0, 4).Draw(t, "calls")
		fmt.Fprintf(&b, "    answer: {text: \"%s\", calls: [%s]}\n", rapid.SampledFrom([]string{"", "Hm.", "{{randInt 1 6}}"}).Draw(t, "text"), strings.Join(list, ", "))
	}
	b.WriteString("otherwise: {text: \"\"}\n")
	return b.String()
}
