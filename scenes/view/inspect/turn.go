package inspect

import (
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/secret"
	"tavernsim/engine/statecmd"
	"tavernsim/protocol"
	"tavernsim/scenes/view/factjson"
)

// turnFacts are the facts of one deliberation. They stand together in the
// journal and end with agent.turn_ended.
type turnFacts struct {
	first, last uint64 // seq
	at          protocol.Time
	end         *agentfact.TurnEnded
	calls       []*agentfact.CallMade
	models      []*agentfact.ModelAnswered
	said        []string
	changes     []Change
	other       []FactLine // that this view has no place for
}

// take adds a fact; the deliberation is whole when end is there.
func (t *turnFacts) take(r protocol.Record, f protocol.Fact) {
	if t.first == 0 {
		t.first = r.Seq
	}
	t.last, t.at = r.Seq, r.Time
	switch x := f.(type) {
	case *agentfact.TurnEnded:
		t.end = x
	case *agentfact.CallMade:
		t.calls = append(t.calls, x)
	case *agentfact.ModelAnswered:
		if x.Cut() { // it charges budgets, and answers nothing
			t.others(r, f)
		} else {
			t.models = append(t.models, x)
		}
	case *agentfact.Said:
		t.said = append(t.said, secret.Text(x.Text))
	case *agentfact.StateUpdated, *agentfact.GoalsUpdated, *agentfact.GoalChanged, *statecmd.Committed:
		t.changes = append(t.changes, Changes(r, 0, f)...)
	default:
		t.others(r, f)
	}
}

func (t *turnFacts) others(r protocol.Record, f protocol.Fact) {
	t.other = append(t.other, FactLine{Seq: r.Seq, Time: r.Time.String(), Actor: r.Actor, Kind: r.Kind, Data: factjson.Of(f)})
}
