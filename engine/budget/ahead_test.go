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

// What a request may take, and what an answer is said to have taken, is never less than nothing: else it would be room for others. Of two
// ledgers that never have room for a request the widest says so.
func TestNothingAheadMakesRoom(t *testing.T) {
	for name, answered := range map[string]bool{"held": false, "answered": true} {
		a := budget.NewAhead(budget.Config{Run: limits(t, "tokens=100"), Scene: limits(t, "tokens=100"), Cast: cast{}}, nil, 0.5)
		hold := func(tokens int64) (budget.Held, string) {
			h, why, _ := a.Hold(&budget.Request{Bound: budget.Amount{Tokens: tokens}}, 0)
			return h, why
		}
		if answered {
			h, _ := hold(10)
			a.Answered(&h, 0, "", budget.Amount{Tokens: -40})
		} else {
			hold(-40)
		}
		_, room := hold(50)
		_, none := hold(1)
		if _, never := hold(51); room != "" || none == "" || !strings.HasPrefix(never, "budget of the run: one call") {
			t.Errorf("%s: %q, %q, %q", name, room, none, never)
		}
	}
}
