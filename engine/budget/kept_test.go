package budget_test

import (
	"testing"

	"tavernsim/engine/budget"
)

// A turn that takes other answers than those that are kept for it takes them beside: a wave needs rounds if it has no room for both.
func TestKeptAnswersAreBesideTheWorst(t *testing.T) {
	for number, c := range map[int]budget.Config{1: {Scene: limits(t, "calls=4"), Cast: cast{}}, budget.ToolNumbers + 1: {Tools: limits(t, "calls=4"), Cast: cast{}}} {
		r := budget.NewRounds(budget.New(c), false)
		worst := func(uint32) (models, tools budget.Amount) { return budget.Amount{Calls: 3}, budget.Amount{Calls: 3} }
		r.Keep(0, number, "", budget.Amount{Calls: 1})
		if r.Open(0, []uint32{0}, worst) {
			t.Error(number, "one and three of four need rounds")
		}
		r.Keep(0, number+1, "", budget.Amount{Calls: 1})
		if !r.Open(0, []uint32{0}, worst) {
			t.Error(number, "two and three of four need none")
		}
	}
}

// What a turn that has ended did not take of what was kept is spent: an earlier turn of the order does not wait for it.
func TestKeptAnswersOfATurnThatHasEnded(t *testing.T) {
	r := budget.NewRounds(budget.New(budget.Config{Scene: limits(t, "calls=2"), Cast: cast{}}), false)
	r.Keep(1, 1, "", budget.Amount{Calls: 1})
	r.Open(0, []uint32{0, 1}, func(uint32) (models, tools budget.Amount) { return budget.Amount{Calls: 2}, budget.Amount{} })
	r.Woken(0, 0, 1)
	r.Woken(1, 1, 1)
	r.Step(1, &budget.Step{Agent: 0, Asks: []budget.Request{{Agent: 0, Number: 1, Bound: budget.Amount{Calls: 2}}}})
	r.Ended(1)
	if g := r.Grants(0); len(g) != 1 || g[0].Refused == nil {
		t.Errorf("%+v", g)
	}
}
