package history_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/engine/budget"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
)

// What charges a budget and answers nothing is no failure of a model.
func TestModelsWithoutCutRequests(t *testing.T) {
	var list facts
	for _, m := range []protocol.ModelBudget{{Cut: true, Lost: 100}, {Lost: 100}} {
		f := &agentfact.ModelAnswered{Model: "m", Error: "away", Origin: &effect.Origin{Endpoint: "far", Budget: &m}}
		list = append(list, protocol.Record{Actor: "a", Kind: f.FactKind(), Data: f.AppendMsg(nil)})
	}
	gone := &agenda.TurnAbandoned{Took: []budget.Loss{{Ledger: "run", Tokens: 30, Nano: 4}, {Ledger: "scene", Tokens: 30, Nano: 4}, {Ledger: budget.OfTools, Calls: 2, Nano: 500}}}
	data, err := machines.NewCodec().Marshal(gone)
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, protocol.Record{Actor: "$stage", Kind: gone.FactKind(), Data: data})
	models, lost, err := history.Models(list, 0)
	if err != nil || len(models) != 1 || models[0].Failed != 1 || lost != (budget.Amount{Tokens: 230, Nano: 4}) {
		t.Errorf("%+v, %+v, %v", models, lost, err)
	}
	if by, err := history.UseByAgent(list); err != nil || by["a"].Failed != 1 {
		t.Errorf("%+v, %v", by["a"], err)
	}
}

// A server that names another model in each answer makes no row for each: the first have theirs, and the others one together.
func TestModelsAreBounded(t *testing.T) {
	var list facts
	for i := range 400 {
		f := &agentfact.ModelAnswered{Model: fmt.Sprintf("m-%03d", i%300), Input: 1, Origin: &effect.Origin{Endpoint: "far"}}
		list = append(list, protocol.Record{Actor: "a", Kind: f.FactKind(), Data: f.AppendMsg(nil)})
	}
	models, _, err := history.Models(list, 0)
	if err != nil || len(models) != 201 || models[0].Model != "m-000" || models[0].Answers != 2 || models[200].Model != "other" || models[200].Answers != 100 || models[200].Input != 100 {
		t.Errorf("%d rows, %+v, %v", len(models), models[len(models)-1], err)
	}
}

// Answers that were cut at max_tokens are counted, by model and by agent; a failure is none.
func TestModelsCountCutAnswers(t *testing.T) {
	var list facts
	for i, finish := range []protocol.FinishReason{protocol.FinishLength, protocol.FinishStop, protocol.FinishLength, protocol.FinishToolCalls} {
		f := &agentfact.ModelAnswered{Model: "m", Finish: finish, Origin: &effect.Origin{Endpoint: "far"}}
		if i == 2 {
			f.Error = "away"
		}
		list = append(list, protocol.Record{Actor: "a", Kind: f.FactKind(), Data: f.AppendMsg(nil)})
	}
	models, _, err := history.Models(list, 0)
	if err != nil || len(models) != 1 || models[0].Answers != 3 || models[0].Length != 1 {
		t.Errorf("%+v, %v", models, err)
	}
	if by, err := history.UseByAgent(list); err != nil || by["a"].Length != 1 {
		t.Errorf("%+v, %v", by["a"], err)
	}
	text, err := json.Marshal(models[0])
	if err != nil || !strings.Contains(string(text), `"cut":1,`) {
		t.Errorf("%s, %v", text, err)
	}
}

type facts []protocol.Record

func (l facts) Scan(q persistence.Query, yield func(protocol.Record) error) error {
	for _, r := range l {
		if !slices.Contains(q.Kinds, r.Kind) {
			continue
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}
