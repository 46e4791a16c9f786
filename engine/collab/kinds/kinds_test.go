package kinds_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/collab/kinds"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// one runs a workflow of one node and shows its outputs, its faults or its failure.
func one(t *testing.T, kind, config, inputs string, outputs ...string) string {
	t.Helper()
	n := workflow.Node{ID: "n", Type: kind}
	if json.Unmarshal([]byte(config), &n.ConfigValues) != nil || json.Unmarshal([]byte(inputs), &n.InputValues) != nil {
		t.Fatalf("%s %s", config, inputs)
	}
	def := &workflow.Definition{ID: "w", InterfaceOutputs: map[string]workflow.Port{}, Nodes: []workflow.Node{n, {ID: "out", Type: workflow.TypeGroupOutput}}}
	for _, o := range outputs {
		def.InterfaceOutputs[o] = workflow.Port{}
		def.Edges = append(def.Edges, workflow.Edge{Source: "n", SourceHandle: o, Target: "out", TargetHandle: o})
	}
	plan, faults := workflow.Compile(def, workflow.Options{Kinds: kinds.Add(workflow.Kinds{})})
	if len(faults) > 0 {
		return fmt.Sprint("fault ", faults[0].Pointer(), " ", faults[0].Message)
	}
	var run workflow.Run
	if err := run.Start(plan, nil, workflow.Env{Draw: protocol.NewDraw(1)}); err != nil {
		return err.Error()
	}
	run.Advance(nil)
	for _, f := range run.Failures() {
		return "failed " + f.Err.Error()
	}
	text, _ := json.Marshal(run.Outputs(map[string]any{}))
	return string(text)
}

func TestKinds(t *testing.T) {
	for _, c := range []struct{ kind, config, inputs, outputs, want string }{
		{"collab:Tally", `{}`, `{"ballots": ["a", "b", "a"]}`, "winner", `{"winner":"a"}`},
		{"collab:Tally", `{"quorum": 0.5}`, `{"ballots": ["a"], "asked": 4}`, "result winner", `{"result":{"counts":{"a":1},"spoiled":0,"tied":[],"votes":1,"why":"no_quorum","winner":null}}`},
		{"collab:Tally", `{"method": "borda"}`, `{"ballots": []}`, "winner", `fault /nodes/0/configValues/options the method borda needs the options`},
		{"collab:Tally", `{"majority": 2}`, `{"ballots": []}`, "winner", `fault /nodes/0/configValues/majority 2: want 0 to 1`},
		{"collab:Tally", `{"method": "drums"}`, `{"ballots": []}`, "winner", `fault /nodes/0/configValues/method "drums" is not offered`},
		{"collab:Auction", `{"price": "second"}`, `{"bids": [{"by": "a", "amount": 3}, {"by": "b", "amount": 5}]}`, "winner price", `{"price":3,"winner":"b"}`},
		{"collab:Auction", `{"reserve": 9}`, `{"bids": [{"by": "a", "amount": 3}]}`, "result price", `"why":"reserve"`},
		{"collab:Auction", `{}`, `{"bids": [{"by": "a"}, {"by": "a"}]}`, "winner", `failed bids[1].by "a": want the name of who bids, each once`},
		{"collab:Auction", `{"reserve": 0.5}`, `{"bids": []}`, "winner", `fault /nodes/0/configValues/reserve 0.5: want a whole number from 0`},
		{"collab:Assign", `{}`, `{"costs": [[5, 1], [1, 2], [0, 9]]}`, "columns total", `{"columns":[1,null,0],"total":1}`},
		{"collab:Assign", `{}`, `{"costs": [[1], ["x"]]}`, "columns", `failed costs[1][0]: want a whole number`},
		{"collab:Assign", `{}`, `{"costs": [[1], [1, 2]]}`, "columns", `failed row 1 of the costs has 2 numbers`},
	} {
		if got := one(t, c.kind, c.config, c.inputs, strings.Fields(c.outputs)...); !strings.Contains(got, c.want) {
			t.Errorf("%s %s %s: %s, want %s", c.kind, c.config, c.inputs, got, c.want)
		}
	}
}
