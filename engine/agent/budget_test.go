package agent

import (
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// TestTurnBudget: a deliberation that hands over more than it may fails as a
// whole, says which setting bounds it, and leaves nothing of what it did.
func TestTurnBudget(t *testing.T) {
	big := strings.Repeat("x", 5_000)
	many := make([]any, 200)
	for i := range many {
		many[i] = map[string]any{"tool": "GenerateRandomNumberTool"}
	}
	shown := make([]any, 3) // fits into the answer of a call, not into its fact as well
	for i := range shown {
		shown[i] = "self.decision.say"
	}
	for name, decision := range map[string]map[string]any{
		"speech": {"say": strings.Repeat(big, 20)},
		"calls":  {"say": "first", "calls": many},
		"commands": {"say": big, "calls": []any{map[string]any{"tool": "UpdatePrivateStateTool", "params": map[string]any{"commands": map[string]any{
			"set": map[string]any{"self.n": int64(1)}, "tavern_inspect": shown,
		}}}}},
		"events": {"say": "first", "events": []any{
			map[string]any{"type": "a.b", "payload": big}, map[string]any{"type": "a.b", "payload": big}, map[string]any{"type": "a.b", "payload": big},
			map[string]any{"type": "a.b", "payload": big}, map[string]any{"type": "a.b", "payload": big}, map[string]any{"type": "a.b", "payload": big}}},
	} {
		m := machine(t, echo(), func(d *Definition) { d.Limits.MaxTurnBytes = 30_000 })
		m.State.Private = map[string]any{"decision": decision}
		d := decide(t, m, 1)
		end := d.Facts[len(d.Facts)-1].(*agentfact.TurnEnded)
		if end.Outcome != agentfact.OutcomeFailed || !strings.Contains(end.Error, "more than 30000 bytes") || !strings.Contains(end.Error, "custom_runtime_config.max_turn_bytes") {
			t.Errorf("%s: %s %q", name, end.Outcome, end.Error)
		}
		if len(d.Facts) != 1 || len(d.Requests) != 0 {
			t.Errorf("%s: %d facts and %d requests are left", name, len(d.Facts), len(d.Requests))
		}
		if got := seen(m); got != "failure" {
			t.Errorf("%s: observations %q", name, got)
		}
		m.State.Private = map[string]any{"decision": map[string]any{"say": "again"}}
		if d := decide(t, m, 2); d.Facts[len(d.Facts)-1].(*agentfact.TurnEnded).Outcome != agentfact.OutcomeOK {
			t.Errorf("%s: the next deliberation has no budget of its own", name)
		}
	}
}

// TestBudgetKeepsAnswers: what a model answered cost something, so its fact
// stays when the answer is too long for the turn; so does that of calls without an answer.
func TestBudgetKeepsAnswers(t *testing.T) {
	m := machine(t, asks(1), func(d *Definition) { d.Limits.MaxTurnBytes = 1_000 })
	w, charged := wake(t, 1), block.Spent{Calls: 2, Cost: 3}
	w.Left = func([]int) ([]*effect.Answered, block.Spent, bool) { return nil, charged, false }
	d, err := m.Decide(w)
	if err != nil {
		t.Fatal(err)
	}
	d, err = m.Decide(&effect.Answered{Kind: effect.KindModel, Number: d.Effects[0].(*effect.Ask).Number, Model: protocol.ModelAnswer{Text: strings.Repeat("x", 2_000), Finish: protocol.FinishStop}})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Facts) != 3 {
		t.Fatalf("%d facts, want the answer, the calls and the end", len(d.Facts))
	}
	if f, ok := d.Facts[1].(*agentfact.CallsCharged); !ok || block.Spent(*f) != charged {
		t.Errorf("%+v", d.Facts[1])
	}
	if end := d.Facts[2].(*agentfact.TurnEnded); end.Outcome != agentfact.OutcomeFailed || end.ModelCalls != 1 {
		t.Errorf("%+v", end)
	}
}

// Under a budget what an answer made the turn ask leaves before the next answer is taken, though that is there already
// and drops it: then the turn waits for it. Without a budget it does not leave.
func TestRequestsLeaveBetweenAnswers(t *testing.T) {
	for name, next := range map[string]any{"without a budget": nil, "sent": Sent{}, "a late answer": &effect.Answered{Kind: effect.KindModel, Number: 9}} {
		core := asks(2)
		core.Nodes = append(core.Nodes, workflow.Node{ID: "m2", Type: "LLMCompletion"})
		core.Edges = append(core.Edges, workflow.Edge{Source: "m0", SourceHandle: "text", Target: "m2", TargetHandle: "prompt"},
			workflow.Edge{Source: "m2", SourceHandle: "text", Target: "merge", TargetHandle: "texts"})
		m := machine(t, core, func(d *Definition) { d.Limits.MaxTurnBytes = 1_000 })
		answer := func(number int, text string) any {
			return &effect.Answered{Kind: effect.KindModel, Number: number, Model: protocol.ModelAnswer{Text: text, Finish: protocol.FinishStop}}
		}
		var dropped []int
		w := wake(t, 1)
		if next != nil {
			w.Left = func(list []int) ([]*effect.Answered, block.Spent, bool) {
				dropped = list
				return nil, block.Spent{}, true
			}
		}
		takes := func(in any, effects int) protocol.Decision {
			d, err := m.Decide(in)
			if err != nil || len(d.Effects) != effects {
				t.Fatal(name, err, d.Effects)
			}
			return d
		}
		takes(w, 2)
		takes(answer(2, strings.Repeat("x", 2_000)), 0)
		if next == nil {
			if d := takes(answer(1, "little"), 0); len(d.Facts) == 0 {
				t.Error(name, "the turn goes on")
			}
			continue
		}
		if takes(answer(1, "little"), 1); len(m.Dropped()) > 0 {
			t.Error(name, m.Dropped())
		}
		if takes(next, 0); !slices.Equal(dropped, []int{3}) || !slices.Equal(m.Dropped(), []int{3}) {
			t.Error(name, dropped, m.Dropped())
		}
	}
}
