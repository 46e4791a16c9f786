package budget_test

import (
	"strings"
	"testing"

	"tavernsim/engine/budget"
)

// What is held ahead and what was wasted stay within a share of every limit, and within what is left.
func TestWhatIsAheadIsASmallShare(t *testing.T) {
	limits := func(tokens, calls int64) *budget.Limits {
		return &budget.Limits{Amount: budget.Amount{Tokens: tokens, Calls: calls}}
	}
	a := budget.NewAhead(budget.Config{Scene: limits(1000, 0), Agents: map[string]*budget.Limits{"even": limits(0, 30)}, Endpoints: map[string]*budget.Limits{"near": limits(500, 0)}, Cast: cast{}}, nil, 0.1)
	ask := func(o uint32, tokens int64, want string) (h budget.Held) {
		t.Helper()
		bound := budget.Amount{Tokens: tokens, Calls: 1}
		h, why, never := a.Hold(&budget.Request{Agent: o, Bound: bound, Parts: []budget.Part{{Endpoint: "near", Bound: bound, First: true}}}, 0)
		if !strings.Contains(why, want) || want == "" && why != "" || never != strings.Contains(want, "one call") {
			t.Errorf("%d tokens of %d: %q, want %q", tokens, o, why, want)
		}
		return h
	}
	ask(0, 200, "budget of the scene: one call may take 200 tokens")
	ask(0, 60, "budget of endpoint near: one call")
	first := ask(0, 30, "")
	ask(0, 30, "endpoint near") // 60 of 50
	a.Answered(&first, 0, "near", budget.Amount{Tokens: 10, Calls: 1})
	second := ask(0, 30, "")
	a.Release(&first) // the turn itself took it
	third := ask(1, 20, "")
	ask(0, 10, "near")
	a.Release(&third)
	a.Answered(&third, 1, "near", budget.Amount{Tokens: 1000}) // what was given back holds nothing any more
	ask(0, 10, "")
	a.Release(&second)
	a.Charge(0, "near", 0, budget.Amount{Tokens: 480, Calls: 29})
	ask(0, 11, "near") // 480 + 10 + 11 of 500
	ask(0, 10, "agent")
	ask(1, 10, "")
}
