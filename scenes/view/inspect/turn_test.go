package inspect

import (
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/protocol"
)

// What charges a budget and answers nothing is no answer of a model of a deliberation, and is shown all the same.
func TestCutRequestsAreNoAnswers(t *testing.T) {
	var turn turnFacts
	for _, cut := range []bool{true, false} {
		f := &agentfact.ModelAnswered{Request: 1, Error: "away", Origin: &effect.Origin{Endpoint: "far", Budget: &protocol.ModelBudget{Cut: cut, Lost: 100}}}
		turn.take(protocol.Record{Kind: f.FactKind()}, f)
	}
	if len(turn.models) != 1 || turn.models[0].Cut() || len(turn.other) != 1 {
		t.Errorf("%d answers, %+v", len(turn.models), turn.other)
	}
}
