package machines

import (
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/spending"
)

type pair struct{}

func (pair) Name(o uint32) string             { return [...]string{"ada", "bo"}[o] }
func (pair) Profile(uint32) string            { return "p" }
func (pair) Ordinal(id string) (uint32, bool) { return 0, id == "ada" }

// On the realtime clock a turn that ends without taking what it had reserved lets the request leave that waits
// for it. Nothing else may come meanwhile.
func TestAMergedTurnGivesBackItsReservation(t *testing.T) {
	b, err := budget.Parse("calls=1")
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.Limits(budget.Refuse)
	if err != nil {
		t.Fatal(err)
	}
	st := &Stage{shared: shared{StageState: &StageState{scene: &setup.Scene{Options: setup.Options{Clock: agenda.Realtime}}, Spending: spending.New(&budget.Config{Run: run, Cast: pair{}}, true)}}}
	for o := range uint32(2) {
		st.Spending.Woken(o, 0, 1, 0)
		ask := []budget.Request{{Agent: o, Number: 1, Bound: budget.Amount{Calls: 1}}}
		if err := st.decide(&TurnStep{Wave: 1, Step: budget.Step{Agent: o, Asks: ask}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(st.effects) != 1 || st.effects[0].Agent != 0 {
		t.Fatalf("granted: %+v", st.effects)
	}
	st.Spending.Over(0)
	(&wave{record: record{shared: &st.shared}}).turnMerged(0)
	if len(st.effects) != 2 || st.effects[1].Act != ActGrant || st.effects[1].Agent != 1 || st.effects[1].Grant.Refused != nil {
		t.Errorf("granted: %+v", st.effects)
	}
}
