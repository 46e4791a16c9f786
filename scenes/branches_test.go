package scenes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// branching is a scene of which each turn asks two questions at once, and another one for each answer.
const branching = `agent_instances: [{instance_id: ada, profile_id: fork}, {instance_id: bob, profile_id: fork}]
simulation: {stop: {ticks: 3}}
-- agent_profiles/fork.yaml --
id: fork
name: Fork
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: fork
custom_runtime_config: {deliberation_frequency_hz: 1}
-- workflows/fork.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}}
interfaceOutputs: {response: {dataFlowType: STRING, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: a, type: TextTemplate, configValues: {template: "a{{.turn}}"}}
  - {id: b, type: TextTemplate, configValues: {template: "b{{.turn}}"}}
  - {id: a1, type: LLMCompletion}
  - {id: b1, type: LLMCompletion}
  - {id: a2, type: LLMCompletion}
  - {id: b2, type: LLMCompletion}
  - {id: both, type: TextTemplate, configValues: {template: "{{.a}} {{.b}}"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: turn, target: a, targetHandle: turn}
  - {source: in, sourceHandle: turn, target: b, targetHandle: turn}
  - {source: a, sourceHandle: text, target: a1, targetHandle: prompt}
  - {source: b, sourceHandle: text, target: b1, targetHandle: prompt}
  - {source: a1, sourceHandle: text, target: a2, targetHandle: prompt}
  - {source: b1, sourceHandle: text, target: b2, targetHandle: prompt}
  - {source: a2, sourceHandle: text, target: both, targetHandle: a}
  - {source: b2, sourceHandle: text, target: both, targetHandle: b}
  - {source: both, sourceHandle: text, target: out, targetHandle: response}
`

// Answers of one turn count in the order in which they were asked for, however fast they come: one digest, whatever
// branch is slow, and turns ahead too.
func TestBranchesOfATurn(t *testing.T) {
	p := realtimeScene(t, branching)
	want := ""
	for name, wait := range map[string][2]time.Duration{"at once": {}, "a is slow": {2 * time.Second, time.Second}, "b is slow": {time.Second, 5 * time.Second}} {
		for _, schedule := range []scenes.Schedule{scenes.Barrier, scenes.Tracked} {
			s := scenestest.New(t, p, "")
			synctest.Test(t, func(t *testing.T) {
				m := &slow{answer: func(_ context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
					text := req.Messages[0].Text
					<-time.After(wait[text[0]-'a'])
					return protocol.ModelAnswer{Text: text + string(rune('0'+req.Draw.IntN(10))), Finish: protocol.FinishStop, Latency: time.Millisecond}, nil
				}}
				r, err := s.StartWith(scenestest.Settings{Model: m, Clock: agenda.Virtual}, func(o *scenes.Options) { o.Schedule = schedule })
				if err != nil {
					t.Fatal(err)
				}
				if res := r.Close(); res.Err != nil {
					t.Error(res)
				} else if want == "" {
					want = res.Digest()
				} else if res.Digest() != want {
					t.Errorf("%s, %s: digest %s, want %s", name, schedule, res.Digest(), want)
				}
			})
		}
	}
}
