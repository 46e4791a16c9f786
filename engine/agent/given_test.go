package agent

import (
	"slices"
	"testing"

	"tavernsim/engine/agent/memory"
	"tavernsim/engine/workflow"
)

// What the engine gives a skill is none of its parameters. A required input that agents do not have, and one of another type, are
// the skill's own, whatever their names.
func TestGivenToSkills(t *testing.T) {
	def := &workflow.Definition{ID: "w", InterfaceInputs: map[string]workflow.Port{
		"text": {DataFlowType: workflow.String, Required: true}, "turn": {DataFlowType: workflow.String, Required: true}, "round": {DataFlowType: workflow.Float, Required: true},
		"scene": {DataFlowType: workflow.Object, Required: true}, "surroundings": {DataFlowType: workflow.Object}, "summary": {DataFlowType: workflow.String, Required: true}, "self": {}, "knowledge": {DataFlowType: workflow.Integer},
	}, Nodes: []workflow.Node{{ID: "in", Type: workflow.TypeGroupInput}}}
	plan, faults := workflow.Compile(def, workflow.Options{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, c := range []struct {
		d    Definition
		want []string
	}{
		{Definition{}, []string{"round", "self", "surroundings", "turn"}},
		{Definition{Ordered: true, Memory: &memory.Rules{}}, []string{"round", "scene", "self", "summary", "surroundings", "turn"}},
	} {
		got := c.d.givenTo(plan)
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("given %q, want %q", got, c.want)
		}
	}
}
