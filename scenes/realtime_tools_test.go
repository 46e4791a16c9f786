package scenes_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

const cutTools = `-- tools/ask.tool.yaml --
id: ask
implementation: {type: service, name: lab}
execution: {repeat: free, timeout: 30s}
cost: 0.25
-- agent_profiles/caller.yaml --
id: caller
name: Caller
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [ask]
subscribed_event_types: [call]
custom_runtime_config: {wake_on_start: false, interrupt: {by: high, then: drop}}
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: guest, profile_id: caller}]
tool_budget: {calls: 6, money: 1.25}
simulation: {clock: realtime, stop: {after: 2m}}
-- models/voices.yaml --
otherwise: {calls: [{tool: ask}]}
`

// A call of a tool that is out when a more urgent event interrupts its turn counts in the budget of tools.
func TestRealtimeInterruptedUnderABudgetOfTools(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(cutTools))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	var made atomic.Int64
	lab := tools.Func(func(ctx context.Context, _ *tools.Call) tools.Result {
		made.Add(1)
		select {
		case <-ctx.Done():
			return tools.Fail(protocol.KindCancelled, "it was cut off")
		case <-time.After(4 * time.Second):
			return tools.Output("done")
		}
	})
	set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": lab}}
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, set)
		for i := range 24 {
			<-time.After(time.Second)
			call := map[string]any{"publish": map[string]any{"type": "call", "to": "guest", "priority": []string{"normal", "high"}[i%2]}}
			if got, err := r.Order(t.Context(), doing(fmt.Sprint(i), call)); err != nil || got.Refused != "" {
				t.Error(got, err)
			}
		}
		if res := r.Close(); res.Err != nil || !res.Final {
			t.Error(res)
		}
	})
	interrupted, counted := 0, int64(0)
	s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
		switch x := fact.(type) {
		case *agentfact.CallsCharged:
			counted += x.Calls
		case *agentfact.TurnEnded:
			counted += x.ToolCalls
			if x.Outcome == agentfact.OutcomeInterrupted {
				interrupted++
			}
		}
	})
	if n := made.Load(); n != 5 || counted != 5 || interrupted == 0 {
		t.Errorf("%d calls were made, and %d counted, under a budget for 5; %d turns were interrupted", n, counted, interrupted)
	}
	var used []string
	for _, l := range s.Fold(t, scenestest.Settings{}).Spending.Lines() {
		used = append(used, fmt.Sprint(l.Name, " ", l.Used.Calls))
	}
	if !strings.Contains(strings.Join(used, ", "), "tools 5") {
		t.Error(used)
	}
	set.Clock = agenda.Realtime
	mustRestore(t, s, set)
	mustVerify(t, s, set)
}
