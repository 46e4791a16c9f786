package workflow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/protocol"
)

// The naive twin of the engine: a recursive evaluation of the definition, one
// value after another, without plans, frames, time and answers that come late.
type naive struct {
	def  *workflow.Definition
	memo map[string]naiveNode
}

// naiveNode is what became of a node, by output handle.
type naiveNode map[string]naiveValue

type naiveValue struct {
	state string // value, skipped, failed
	v     int64
}

var naiveSkip, naiveFail = naiveValue{state: "skipped"}, naiveValue{state: "failed"}

func (n *naive) node(id string) naiveNode {
	if got, ok := n.memo[id]; ok {
		return got
	}
	i := slices.IndexFunc(n.def.Nodes, func(x workflow.Node) bool { return x.ID == id })
	out := n.evaluate(&n.def.Nodes[i])
	n.memo[id] = out
	return out
}

func (n *naive) inputs(id, handle string) []naiveValue {
	var list []naiveValue
	for _, e := range n.def.Edges {
		if e.Target == id && e.TargetHandle == handle {
			list = append(list, n.node(e.Source).get(e.SourceHandle))
		}
	}
	return list
}

func (n naiveNode) get(handle string) naiveValue {
	if v, ok := n[handle]; ok {
		return v
	}
	if v, ok := n["*"]; ok {
		return v
	}
	return naiveSkip
}

func (n *naive) evaluate(d *workflow.Node) naiveNode {
	xs := n.inputs(d.ID, "xs")
	if d.Bypassed {
		return naiveNode{"out": xs[0]} // the generator connects one
	}
	all := slices.Concat(xs, n.inputs(d.ID, workflow.HandleAfter))
	if d.Type == "Select" {
		return naiveSelect(n.inputs(d.ID, "candidates"))
	}
	if slices.Contains(all, naiveFail) {
		return naiveNode{"*": naiveFail}
	}
	if slices.Contains(all, naiveSkip) {
		return naiveNode{}
	}
	sum := int64(0)
	for _, x := range xs {
		sum += x.v
	}
	switch d.Type {
	case "Constant":
		return naiveNode{"value": {"value", d.ConfigValues["value"].(int64)}}
	case "test:Ask":
		return n.ask(d, sum)
	case "test:Fork":
		if sum%2 == 0 {
			return naiveNode{"even": {"value", sum}}
		}
		return naiveNode{"odd": {"value", sum}}
	}
	return naiveNode{"out": {"value", sum + 1}}
}

func naiveSelect(candidates []naiveValue) naiveNode {
	failed := false
	for _, c := range candidates {
		if c.state == "value" {
			return naiveNode{"value": c}
		}
		failed = failed || c == naiveFail
	}
	if failed {
		return naiveNode{"*": naiveFail}
	}
	return naiveNode{}
}

func (n *naive) ask(d *workflow.Node, sum int64) naiveNode {
	v, err := oracle(d.ID, sum, d.Retry.Max+1)
	if err == nil {
		return naiveNode{"out": {"value", v}}
	}
	caught := slices.ContainsFunc(n.def.Edges, func(e workflow.Edge) bool {
		return e.Source == d.ID && e.SourceHandle == workflow.HandleError
	})
	if caught {
		return naiveNode{"error": {"value", -1}}
	}
	return naiveNode{"*": naiveFail}
}

// oracle answers a request by what it is about alone: some fail at first, some
// for ever.
func oracle(id string, sum int64, attempt int) (int64, error) {
	switch h := protocol.HashString(fmt.Sprint(id, sum)) % 8; {
	case h == 0:
		return 0, protocol.Errorf(protocol.KindInvalid, "never")
	case h <= 2 && attempt <= int(h):
		return 0, protocol.Errorf(protocol.KindTransient, "not yet")
	}
	return 3*sum + 1, nil
}

// testKinds are the standard kinds and three that count.
func testKinds() workflow.Kinds {
	kinds := nodes.Standard(nodes.Options{})
	xs := workflow.In{Name: "xs", Type: workflow.Integer, Multi: true}
	sum := func(x *workflow.Exec, in int) (total int64) {
		for _, v := range x.Many(in) {
			total += v.(int64)
		}
		return total
	}
	kinds["test:Sum"] = workflow.KindFunc(func(s *workflow.Setup) workflow.Body {
		in, out := s.In(xs), s.Out("out", workflow.Integer)
		return workflow.BodyFunc(func(x *workflow.Exec) error { x.Set(out, sum(x, in)+1); return nil })
	})
	kinds["test:Fork"] = workflow.KindFunc(func(s *workflow.Setup) workflow.Body {
		in, even, odd := s.In(xs), s.Out("even", workflow.Integer), s.Out("odd", workflow.Integer)
		return workflow.BodyFunc(func(x *workflow.Exec) error {
			side := even
			if sum(x, in)%2 != 0 {
				side = odd
			}
			x.Set(side, sum(x, in))
			return nil
		})
	})
	kinds["test:Ask"] = workflow.KindFunc(func(s *workflow.Setup) workflow.Body {
		return &asking{in: s.In(xs), out: s.Out("out", workflow.Integer), sum: sum}
	})
	kinds["test:Pass"] = workflow.KindFunc(func(s *workflow.Setup) workflow.Body {
		s.In(workflow.In{Name: "xs", Type: workflow.Integer})
		s.Out("out", workflow.Integer)
		return workflow.BodyFunc(func(x *workflow.Exec) error { panic("is always bypassed") })
	})
	return kinds
}

type asking struct {
	in, out int
	sum     func(*workflow.Exec, int) int64
}

func (a *asking) Run(x *workflow.Exec) error {
	x.AskTool("oracle", map[string]any{"sum": a.sum(x, a.in)})
	return nil
}

func (a *asking) Answered(x *workflow.Exec, ans *workflow.Answer) error {
	x.Set(a.out, ans.Result.Output)
	return nil
}

// outputsOf lists the handles that an edge may leave.
func outputsOf(d *workflow.Node) []string {
	switch d.Type {
	case "Constant", "Select":
		return []string{"value"}
	case "test:Fork":
		return []string{"even", "odd"}
	case "test:Ask":
		return []string{"out", "out", "out", "error"}
	}
	return []string{"out"}
}

// drawDefinition makes a random graph whose every handle is an output.
func drawDefinition(t *rapid.T) *workflow.Definition {
	def := &workflow.Definition{ID: "random", InterfaceOutputs: map[string]workflow.Port{}}
	n := rapid.IntRange(1, 14).Draw(t, "nodes")
	edge := func(from *workflow.Node, to, handle string) {
		h := rapid.SampledFrom(outputsOf(from)).Draw(t, "handle")
		if h == "error" && handle != workflow.HandleAfter {
			h = "out" // the error is an object; "after" takes anything
		}
		def.Edges = append(def.Edges, workflow.Edge{Source: from.ID, SourceHandle: h, Target: to, TargetHandle: handle})
	}
	for i := range n {
		kinds := []string{"Constant", "test:Sum", "test:Ask", "test:Ask", "test:Fork", "Select", "test:Pass"}
		d := workflow.Node{ID: fmt.Sprintf("n%02d", i), Type: rapid.SampledFrom(kinds).Draw(t, "kind")}
		if i == 0 {
			d.Type = "Constant"
		}
		earlier := func() *workflow.Node { return &def.Nodes[rapid.IntRange(0, i-1).Draw(t, "from")] }
		switch d.Type {
		case "Constant":
			d.ConfigValues = map[string]any{"value": rapid.Int64Range(0, 9).Draw(t, "value")}
		case "Select":
			for range rapid.IntRange(1, 3).Draw(t, "candidates") {
				edge(earlier(), d.ID, "candidates")
			}
		case "test:Pass":
			d.Bypassed = true
			edge(earlier(), d.ID, "xs")
		default:
			for range rapid.IntRange(0, 3).Draw(t, "inputs") {
				edge(earlier(), d.ID, "xs")
			}
			if d.Type == "test:Ask" {
				d.Retry.Max = rapid.IntRange(0, 2).Draw(t, "retries")
			}
		}
		if i > 0 && !d.Bypassed && d.Type != "Select" && rapid.IntRange(0, 3).Draw(t, "after") == 0 {
			edge(earlier(), d.ID, workflow.HandleAfter)
		}
		def.Nodes = append(def.Nodes, d)
	}
	for i := range def.Nodes {
		for _, h := range slices.Compact(slices.Clone(outputsOf(&def.Nodes[i]))) {
			if h == "error" {
				continue
			}
			name := def.Nodes[i].ID + "_" + h
			def.InterfaceOutputs[name] = workflow.Port{}
			def.Edges = append(def.Edges, workflow.Edge{Source: def.Nodes[i].ID, SourceHandle: h, Target: "out", TargetHandle: name})
		}
	}
	def.Nodes = append(def.Nodes, workflow.Node{ID: "out", Type: workflow.TypeGroupOutput})
	return def
}

// Promises 1 and 4. TestRandomGraphsAgainstNaive: any graph gives what the naive evaluation
// gives, whichever answers come late and in whichever order.
func TestRandomGraphsAgainstNaive(t *testing.T) {
	kinds := testKinds()
	var run workflow.Run // one for all: what it was used for before must not show
	rapid.Check(t, func(t *rapid.T) {
		def := drawDefinition(t)
		plan, faults := workflow.Compile(def, workflow.Options{Kinds: kinds})
		if len(faults) > 0 {
			t.Fatalf("faults: %v", faults)
		}
		twin := &naive{def: def, memo: map[string]naiveNode{}}
		want := map[string]naiveValue{}
		for name := range def.InterfaceOutputs {
			node, handle, _ := strings.Cut(name, "_")
			want[name] = twin.node(node).get(handle)
		}
		seed := rapid.Uint64().Draw(t, "order")
		var first string
		for k := range uint64(3) {
			got := playOracle(t, plan, &run, protocol.NewDraw(seed, k))
			for name, w := range want {
				i := plan.Output(name)
				v, ok := run.Output(i)
				if ok != (w.state == "value") || ok && v != w.v {
					t.Fatalf("%s: got %v %v, want %+v", name, v, ok, w)
				}
			}
			for _, m := range run.Missing() {
				if string(m.Outcome) != want[m.Output].state {
					t.Fatalf("%s is %s, want %s", m.Output, m.Outcome, want[m.Output].state)
				}
			}
			if k == 0 {
				first = got
			} else if got != first {
				t.Fatalf("another order of answers, another run:\n%s\nfirst:\n%s", got, first)
			}
		}
	})
}

// playOracle runs a plan with answers that come at once or late by chance.
// What it returns may not depend on the draw.
func playOracle(t *rapid.T, plan *workflow.Plan, run *workflow.Run, d protocol.Draw) string {
	if err := run.Start(plan, nil, workflow.Env{Trace: true}); err != nil {
		t.Fatal(err)
	}
	waiting := map[int]workflow.Answer{}
	var asks []string
	host := workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
		sum := q.Call.Params["sum"].(int64)
		asks = append(asks, describe(q))
		v, err := oracle(q.Node, sum, q.Attempt)
		a := workflow.Answer{Err: err, Latency: time.Duration(sum+1) * time.Millisecond}
		if err == nil {
			a.Result = protocol.CallResult{Status: protocol.CallOK, Output: v}
		}
		if d.IntN(2) == 0 {
			return a, true
		}
		waiting[q.ID] = a
		return workflow.Answer{}, false
	})
	for !run.Advance(host) {
		ids := slices.Sorted(maps.Keys(waiting))
		if len(ids) == 0 {
			t.Fatal("the run waits for nothing")
		}
		for range 1 + d.IntN(len(ids)) { // several answers between two Advances
			ids = slices.Sorted(maps.Keys(waiting))
			id := ids[d.IntN(len(ids))]
			if err := run.Answer(id, waiting[id]); err != nil {
				t.Fatal(err)
			}
			delete(waiting, id)
		}
	}
	return report(run, asks)
}
