package tooling_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

const hurried = `
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- models/m.yaml --
rules: [{answer: {calls: [{tool: bank.ask}, {tool: bank.ask}, {tool: bank.ask}]}}]
-- tools/ask.tool.yaml --
id: bank.ask
implementation: {type: service, name: bank}
execution: {repeat: free, rate: 30}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [bank.ask]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: "a_{n}", profile_id: a, count: 5}]
simulation: {stop: {ticks: 1}}
`

// A tool with a rate has no more calls in a minute: about a tenth at once, the others wait and are made
// at an even pace.
func TestRate(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(hurried))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	var mu sync.Mutex
	var times []time.Duration
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"bank": tools.Func(func(context.Context, *tools.Call) tools.Result {
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(begun))
			return tools.Output("yes")
		})}})
		if r.Err != nil || r.State.Tally.ByTool["bank.ask"] != 15 {
			t.Errorf("%+v", r)
		}
	})
	if len(times) != 15 || times[14] < 20*time.Second || times[14] > time.Minute {
		t.Error(times)
	}
	for i := range times {
		if i >= 4 && times[i]-times[i-1] < 2*time.Second {
			t.Errorf("call %d left after %s, call %d after %s", i-1, times[i-1], i, times[i])
		}
	}
}
