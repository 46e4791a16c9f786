package workflow_test

import (
	"fmt"
	"strings"

	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/protocol"
)

// haggle is a kind of one's own: it asks the tool "shop:Price" for a price and
// offers a part of it.
type haggle struct{}

// Build declares what the node takes and gives, and reads its settings.
func (haggle) Build(s *workflow.Setup) workflow.Body {
	share := s.Number("share", 0.8)
	if share <= 0 || share > 1 {
		s.Faultf("share", "write 0.8 to offer 80 %", "%v; want more than 0 and at most 1", share)
	}
	return &haggling{
		share: share,
		item:  s.In(workflow.In{Name: "item", Type: workflow.String, Required: true}),
		offer: s.Out("offer", workflow.Float),
	}
}

type haggling struct {
	share       float64
	item, offer int
}

// Run asks.
func (h *haggling) Run(x *workflow.Exec) error {
	x.AskTool("shop:Price", map[string]any{"item": strings.ToLower(x.Text(h.item))})
	return nil
}

// Answered takes the answer.
func (h *haggling) Answered(x *workflow.Exec, a *workflow.Answer) error {
	price, ok := protocol.Number(a.Result.Output)
	if !ok {
		return protocol.Errorf(protocol.KindInvalid, "the price is no number")
	}
	x.Set(h.offer, price*h.share)
	return nil
}

// A kind of one's own, in a workflow that runs with answers at once.
func ExampleKind() {
	kinds := nodes.Standard(nodes.Options{})
	kinds["shop:Haggle"] = haggle{}

	def := &workflow.Definition{
		ID:               "buy",
		InterfaceInputs:  map[string]workflow.Port{"item": {DataFlowType: workflow.String, Required: true}},
		InterfaceOutputs: map[string]workflow.Port{"offer": {DataFlowType: workflow.Float}},
		Nodes: []workflow.Node{
			{ID: "in", Type: workflow.TypeGroupInput},
			{ID: "h", Type: "shop:Haggle", ConfigValues: map[string]any{"share": 0.5}},
			{ID: "out", Type: workflow.TypeGroupOutput},
		},
		Edges: []workflow.Edge{
			{Source: "in", SourceHandle: "*", Target: "h", TargetHandle: "*"},
			{Source: "h", SourceHandle: "*", Target: "out", TargetHandle: "*"},
		},
	}
	plan, faults := workflow.Compile(def, workflow.Options{Kinds: kinds})
	if len(faults) > 0 {
		fmt.Println(faults)
		return
	}
	host := workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
		fmt.Println(q.Node, "asks", q.Call.Tool, "for", q.Call.Params["item"])
		return workflow.Answer{Result: protocol.CallResult{Status: protocol.CallOK, Output: int64(9)}}, true
	})
	args, _ := plan.Args(map[string]any{"item": "Mint"})
	var run workflow.Run
	if err := run.Start(plan, args, workflow.Env{}); err != nil {
		fmt.Println(err)
		return
	}
	run.Advance(host)
	fmt.Println(run.Outputs(map[string]any{}))
	// Output:
	// h asks shop:Price for mint
	// map[offer:4.5]
}
