// Package stand lets a workflow answer in place of a person: the headless policy of a
// panel, {workflow: ID} (docs/formats/panel.md).
//
// # Promises
//
//  1. Equal questions get equal answers: the workflow has no clock, and its random draws depend on
//     the question.
//  2. The workflow must not ask models or tools; a request makes it fail.
//
// A plan is safe for concurrent use.
package stand

import (
	"hash/fnv"

	"tavernsim/engine/panel"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// Output is the interface output that is the answer.
const Output = "answer"

// inputs are what a workflow may take.
func inputs(q *panel.Question) map[string]any {
	return map[string]any{"panel": q.Panel, "action": q.Action, "payload": q.Payload}
}

// Check refuses a workflow that cannot stand in for a person; nil is one that has faults of
// its own.
func Check(p *workflow.Plan) error {
	if p == nil {
		return nil
	}
	if p.Output(Output) < 0 {
		return protocol.Errorf(protocol.KindInvalid, "the workflow %s has no output %q, which is the answer", p.ID(), Output)
	}
	known := inputs(&panel.Question{})
	for i, name := range p.Inputs() {
		if _, ok := known[name]; !ok && p.InputPort(i).Required {
			return protocol.Errorf(protocol.KindInvalid, "the workflow %s wants the input %q; a person's place has panel, action and payload", p.ID(), name)
		}
	}
	return nil
}

// Answer is what the workflow answers to a question.
func Answer(p *workflow.Plan, q *panel.Question) (any, error) {
	given := map[string]any{}
	for name, v := range inputs(q) {
		if p.Input(name) >= 0 {
			given[name] = v
		}
	}
	args, err := p.Args(given)
	if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	_, _ = h.Write(protocol.Encode(inputs(q))) // a hash takes everything
	run := &workflow.Run{}
	if err := run.Start(p, args, workflow.Env{Draw: protocol.NewDraw(h.Sum64())}); err != nil {
		return nil, err
	}
	asks := ""
	done := run.Advance(workflow.HostFunc(func(r *workflow.Request) (workflow.Answer, bool) {
		asks = r.Node
		return workflow.Answer{}, false
	}))
	if asks != "" {
		return nil, protocol.Errorf(protocol.KindInvalid, "the workflow %s in the place of a person asks a model or a tool (node %s): it may ask nobody", p.ID(), asks)
	}
	if err := run.Err(); err != nil {
		return nil, err
	}
	v, ok := run.Output(p.Output(Output))
	if !done || !ok {
		why := ""
		for _, m := range run.Missing() {
			if m.Output == Output && m.Err != nil {
				why = ": " + m.Err.Error()
			}
		}
		return nil, protocol.Errorf(protocol.KindInvalid, "the workflow %s in the place of a person gives no answer%s", p.ID(), why)
	}
	return protocol.Normalize(v)
}
