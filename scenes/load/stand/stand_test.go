package stand_test

import (
	"strings"
	"sync"
	"testing"

	"tavernsim/engine/panel"
	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/protocol"
	"tavernsim/scenes/load/stand"
)

// plan is a workflow with one node between its input and its output.
func plan(t *testing.T, node workflow.Node, into, from, output string) *workflow.Plan {
	t.Helper()
	p, faults := workflow.Compile(&workflow.Definition{
		ID:               "w",
		InterfaceInputs:  map[string]workflow.Port{"payload": {DataFlowType: workflow.Wildcard}},
		InterfaceOutputs: map[string]workflow.Port{output: {DataFlowType: workflow.Wildcard}},
		Nodes:            []workflow.Node{{ID: "in", Type: workflow.TypeGroupInput}, node, {ID: "out", Type: workflow.TypeGroupOutput}},
		Edges: []workflow.Edge{
			{Source: "in", SourceHandle: "payload", Target: node.ID, TargetHandle: into},
			{Source: node.ID, SourceHandle: from, Target: "out", TargetHandle: output},
		},
	}, workflow.Options{Kinds: nodes.Standard(nodes.Options{})})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return p
}

// Promise 1: equal questions get equal answers, whoever asks them beside each other, and others
// get others.
func TestAnswer(t *testing.T) {
	p := plan(t, workflow.Node{ID: "die", Type: "Random", ConfigValues: map[string]any{"mode": "shuffle"}}, "list", "value", "answer")
	if err := stand.Check(p); err != nil {
		t.Fatal(err)
	}
	ask := func(payload any) any {
		v, err := stand.Answer(p, &panel.Question{Panel: "main", Action: "text", Payload: payload})
		if err != nil {
			t.Error(err)
		}
		return v
	}
	list := []any{"a", "b", "c", "d", "e", "f", "g", "h"}
	want := ask(list)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if got := ask(list); string(protocol.Encode(got)) != string(protocol.Encode(want)) {
					t.Errorf("%v, and another time %v", want, got)
				}
			}
		})
	}
	all.Wait()
	others := 0
	for i := range 20 {
		if got := ask(append([]any{int64(i)}, list...)); string(protocol.Encode(got)) != string(protocol.Encode(ask(append([]any{int64(i + 1)}, list...)))) {
			others++
		}
	}
	if others < 15 {
		t.Error("every question gets the same answer")
	}
}

// Promise 2, and what cannot stand in for a person.
func TestRefused(t *testing.T) {
	model := plan(t, workflow.Node{ID: "think", Type: "LLMCompletion"}, "prompt", "text", "answer")
	if _, err := stand.Answer(model, &panel.Question{Payload: "x"}); err == nil || !strings.Contains(err.Error(), "(node think): it may ask nobody") {
		t.Error(err)
	}
	if err := stand.Check(plan(t, workflow.Node{ID: "e", Type: "Get", ConfigValues: map[string]any{"path": "a"}}, "from", "value", "text")); err == nil || !strings.Contains(err.Error(), `has no output "answer"`) {
		t.Error(err)
	}
}
