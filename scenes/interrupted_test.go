package scenes_test

import (
	"runtime"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/scenes/scenestest"
)

// alarms is a scene in which critical events interrupt slow agents whose inboxes
// are small, while talkers keep them full.
const alarms = `
-- scenes/s.yaml --
id: s
name: Alarms
schema_version: "1.0"
agent_instances:
  - {instance_id: "slow_{n}", profile_id: person, count: 12, custom_runtime_config: {wake_on_start: false, max_inbox: 2, max_observations: 3, subscribed_event_types: [talk.*], interrupt: {by: critical}}}
  - {instance_id: "talker_{n}", profile_id: person, count: 24, custom_runtime_config: {deliberation_frequency_hz: 0.5, subscribed_event_types: []}}
event_bus_config: {max_revisits: 16, max_depth: 16}
simulation: {seed: 7, stop: {ticks: 100}}
-- models/voices.yaml --
rules:
  - match: {agent: slow_*}
    latency: {min: 1s, max: 9s}
    answer: {calls: [{tool: UpdatePrivateStateTool, params: {path: heard, op: add, value: "{{len .variables.incoming_events}}"}}, {tool: RequestWorldStateUpdateTool, params: {path: x.y, value: 1}}]}
  - match: {agent: talker_*, chance: 0.02}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.fire, priority: critical, requires_ack: true}}]}
  - match: {agent: talker_*}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.word, payload: "{{randInt 1 99}}", priority: "{{pick \"low\" \"normal\" \"high\"}}"}}]}
otherwise: {text: ""}
`

// Promises 1 and 7: what the stage tells an agent that an event interrupts does not
// overtake events that were sent before it, however many workers there are.
func TestInterruptionsKeepTheirPlace(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(alarms))), nil)
	if err != nil {
		t.Fatal(err)
	}
	stop, counts := &agenda.Stop{Ticks: 30}, []int{32}
	if scenestest.Long() {
		stop.Ticks, counts = 60, []int{1, 2, 4, 7, 32}
	}
	s := scenestest.New(t, p, "")
	want := s.Run(t, scenestest.Settings{Workers: 1, Stop: stop})
	if want.Err != nil || !has(t, s, "agent.interrupted") {
		t.Fatal(want, "nobody is interrupted: nothing is tested")
	}
	mustRestore(t, s, scenestest.Settings{Stop: stop})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, workers := range counts {
		mustEqual(t, scenestest.New(t, p, ""), scenestest.Settings{Workers: workers, Stop: stop}, want)
	}
}
