package agent

import (
	"strings"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
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
// stays when the answer is too long for the turn.
func TestBudgetKeepsAnswers(t *testing.T) {
	m := machine(t, asks(1), func(d *Definition) { d.Limits.MaxTurnBytes = 1_000 })
	d, err := m.Decide(wake(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	d, err = m.Decide(&effect.Answered{Kind: effect.KindModel, Number: d.Effects[0].(*effect.Ask).Number, Model: protocol.ModelAnswer{Text: strings.Repeat("x", 2_000), Finish: protocol.FinishStop}})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Facts) != 2 {
		t.Fatalf("%d facts, want the answer and the end", len(d.Facts))
	}
	if end := d.Facts[1].(*agentfact.TurnEnded); end.Outcome != agentfact.OutcomeFailed || end.ModelCalls != 1 {
		t.Errorf("%+v", end)
	}
}
