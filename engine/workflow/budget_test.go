package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// chain is a workflow of n nodes n0, n1, …, each a copy of node with ID and the
// two edges or more from the one before. The last one is the output.
func chain(n int, first, node, from string, handles ...string) string {
	var nodes, edges strings.Builder
	nodes.WriteString(first)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&nodes, ", "+node, i)
		for _, h := range handles {
			fmt.Fprintf(&edges, `{"source": "n%d", "sourceHandle": %q, "target": "n%d", "targetHandle": %q}, `, i-1, from, i, h)
		}
	}
	return fmt.Sprintf(`{"id": "w", "interfaceOutputs": {"r": {"required": true}}, "nodes": [%s, {"id": "out", "type": "GroupOutput"}],
		"edges": [%s{"source": "n%d", "sourceHandle": %q, "target": "out", "targetHandle": "r"}]}`, nodes.String(), edges.String(), n, from)
}

func doublings() map[string]string {
	list := `{"id": "n0", "type": "MakeList", "inputValues": {"items": ["a text of some length"]}}`
	object := `{"id": "n0", "type": "MakeObject", "inputValues": {"a": "a text of some length"}}`
	value := `{"id": "n0", "type": "Expression", "configValues": {"expression": "['a text of some length']"}}`
	return map[string]string{
		"lists":       chain(40, list, `{"id": "n%d", "type": "MakeList"}`, "list", "items", "items"),
		"objects":     chain(40, object, `{"id": "n%d", "type": "MakeObject"}`, "object", "a", "b"),
		"expressions": chain(40, value, `{"id": "n%d", "type": "Expression", "configValues": {"expression": "[a, a]"}}`, "value", "a"),
		"shared text": chain(40, value, `{"id": "n%d", "type": "Expression", "configValues": {"expression": "{x: a, y: a}"}}`, "value", "a"),
		"text": chain(40, `{"id": "n0", "type": "TextTemplate", "configValues": {"template": "a text of some length"}}`,
			`{"id": "n%d", "type": "TextTemplate", "configValues": {"template": "{{.a}}{{.a}}"}}`, "text", "a"),
		"variables": chain(40, `{"id": "n0", "type": "TextTemplate", "configValues": {"template": "x"}}`,
			`{"id": "n%d", "type": "TextTemplate", "configValues": {"template": "x"}}`, "variables", "a", "b"),
		"merged": chain(40, `{"id": "n0", "type": "TextTemplate", "configValues": {"template": "a text of some length"}}`,
			`{"id": "n%d", "type": "TextMerge"}`, "text", "texts", "texts"),
	}
}

// Promise 6. TestDoublingEnds: a value that doubles with every node fails a node, by name,
// long before the memory is gone.
func TestDoublingEnds(t *testing.T) {
	for name, text := range doublings() {
		t.Run(name, func(t *testing.T) {
			var run workflow.Run
			budget := &workflow.Budget{Max: 1 << 20, Setting: "the.setting"}
			if err := run.Start(compile(t, text), nil, workflow.Env{Budget: budget}); err != nil {
				t.Fatal(err)
			}
			run.Advance(instant{})
			f := run.Failures()
			if len(f) != 1 || protocol.KindOf(f[0].Err) != protocol.KindLimit {
				t.Fatalf("failures %v, want one limit", f)
			}
			if !strings.HasPrefix(f[0].Node, "n") || !strings.Contains(f[0].Err.Error(), "1048576 bytes") || !strings.Contains(f[0].Err.Error(), "the.setting") {
				t.Errorf("%s: %v", f[0].Node, f[0].Err)
			}
		})
	}
}

// TestManyTextsEnd: what every node makes counts together, under the budget that
// a run has when it is given none.
func TestManyTextsEnd(t *testing.T) {
	text := chain(1500, `{"id": "n0", "type": "TextTemplate", "configValues": {"template": "x"}}`,
		`{"id": "n%d", "type": "TextTemplate", "configValues": {"template": "{{repeat 1000000 \"x\"}}"}, "after": ["n0"]}`, "text", "after")
	text = strings.ReplaceAll(text, `, "after": ["n0"]`, "")
	var run workflow.Run
	if err := run.Start(compile(t, text), nil, workflow.Env{}); err != nil {
		t.Fatal(err)
	}
	run.Advance(instant{})
	f := run.Failures()
	if len(f) != 1 || f[0].Node != "n68" || protocol.KindOf(f[0].Err) != protocol.KindLimit {
		t.Errorf("failures %v, want a limit at n68: 67 MB are 64 MiB", f)
	}
}

func nested(t *testing.T, outer, inner string) *workflow.Plan {
	t.Helper()
	def := decode(t, []byte(inner))
	plan, faults := workflow.Compile(decode(t, []byte(outer)), workflow.Options{Kinds: testKinds(), Lookup: func(string) (*workflow.Definition, bool) { return def, true }})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return plan
}

const doubler = `{"id": "inner", "interfaceInputs": {"accumulator": {}}, "interfaceOutputs": {"accumulator": {}}, "nodes": [
	{"id": "in", "type": "GroupInput"}, {"id": "twice", "type": "MakeList"}, {"id": "out", "type": "GroupOutput"}], "edges": [
	{"source": "in", "sourceHandle": "accumulator", "target": "twice", "targetHandle": "items"},
	{"source": "in", "sourceHandle": "accumulator", "target": "twice", "targetHandle": "items"},
	{"source": "twice", "sourceHandle": "list", "target": "out", "targetHandle": "accumulator"}]}`

func TestNestedDoublingEnds(t *testing.T) {
	plans := map[string]*workflow.Plan{
		"loop#": nested(t, `{"id": "outer", "interfaceOutputs": {"r": {}}, "nodes": [
			{"id": "loop", "type": "Loop", "configValues": {"workflow": "inner"}, "inputValues": {"times": 60, "accumulator": "a"}}, {"id": "out", "type": "GroupOutput"}],
			"edges": [{"source": "loop", "sourceHandle": "accumulator", "target": "out", "targetHandle": "r"}]}`, doubler),
		"n": nested(t, chain(40, `{"id": "n0", "type": "SubWorkflow", "configValues": {"workflow": "inner"}, "inputValues": {"accumulator": "a"}}`,
			`{"id": "n%d", "type": "SubWorkflow", "configValues": {"workflow": "inner"}}`, "accumulator", "accumulator"), doubler),
	}
	for at, plan := range plans {
		var run workflow.Run
		if err := run.Start(plan, nil, workflow.Env{Budget: &workflow.Budget{Max: 1 << 20}}); err != nil {
			t.Fatal(err)
		}
		run.Advance(instant{})
		f := run.Failures()
		if len(f) == 0 || !strings.HasPrefix(f[0].Node, at) || !strings.HasSuffix(f[0].Node, "/twice") || protocol.KindOf(f[0].Err) != protocol.KindLimit {
			t.Errorf("%s: failures %v, want a limit at the inner node", at, f)
		}
	}
}

// TestOutputsTogether: outputs that share a value are as large as their copies.
func TestOutputsTogether(t *testing.T) {
	outs, edges := `"a": {}`, `{"source": "n", "sourceHandle": "text", "target": "out", "targetHandle": "a"}`
	for _, name := range []string{"b", "c", "d"} {
		outs += fmt.Sprintf(`, %q: {}`, name)
		edges += strings.Replace(", "+`{"source": "n", "sourceHandle": "text", "target": "out", "targetHandle": "a"}`, `"a"`, `"`+name+`"`, 1)
	}
	plan := compile(t, `{"id": "w", "interfaceOutputs": {`+outs+`}, "nodes": [
		{"id": "n", "type": "TextTemplate", "configValues": {"template": "{{repeat 400 \"x\"}}"}}, {"id": "out", "type": "GroupOutput"}], "edges": [`+edges+`]}`)
	for limit, ok := range map[int]bool{2000: true, 1000: false} {
		var run workflow.Run
		if err := run.Start(plan, nil, workflow.Env{Budget: &workflow.Budget{Max: limit}}); err != nil {
			t.Fatal(err)
		}
		run.Advance(instant{})
		if run.Complete() != ok || ok != (run.Err() == nil) || ok != (len(run.Outputs(map[string]any{})) == 4) {
			t.Errorf("%d bytes: complete %v, %v, %d outputs", limit, run.Complete(), run.Err(), len(run.Outputs(map[string]any{})))
		}
	}
}

// TestConversionsCount: a structure that an edge turns into text is new text.
func TestConversionsCount(t *testing.T) {
	plan := compile(t, `{"id": "w", "interfaceInputs": {"v": {"dataFlowType": "CONVERTIBLE_ANY"}}, "interfaceOutputs": {"r": {"dataFlowType": "STRING"}}, "nodes": [
		{"id": "in", "type": "GroupInput"}, {"id": "m", "type": "TextMerge"}, {"id": "out", "type": "GroupOutput"}], "edges": [
		{"source": "in", "sourceHandle": "v", "target": "m", "targetHandle": "texts"},
		{"source": "m", "sourceHandle": "text", "target": "out", "targetHandle": "r"}]}`)
	var run workflow.Run
	if err := run.Start(plan, []any{[]any{strings.Repeat("x", 600)}}, workflow.Env{Budget: &workflow.Budget{Max: 1000}}); err != nil {
		t.Fatal(err)
	}
	run.Advance(instant{})
	if f := run.Failures(); len(f) != 1 || f[0].Node != "m" || protocol.KindOf(f[0].Err) != protocol.KindLimit {
		t.Errorf("failures %v, want a limit at m: 600 bytes of JSON and the same again", f)
	}
}

// TestOpenFramesCount: nested workflows that wait at the same time take memory,
// too.
func TestOpenFramesCount(t *testing.T) {
	inner := `{"id": "inner", "interfaceInputs": {"item": {}}, "interfaceOutputs": {"r": {}}, "nodes": [
		{"id": "in", "type": "GroupInput"}, {"id": "t", "type": "CallTool", "configValues": {"tool": "t"}}, {"id": "out", "type": "GroupOutput"}],
		"edges": [{"source": "in", "sourceHandle": "item", "target": "t", "targetHandle": "item"},
		{"source": "t", "sourceHandle": "result", "target": "out", "targetHandle": "r"}]}`
	outer := `{"id": "outer", "interfaceOutputs": {"r": {}}, "nodes": [
		{"id": "l", "type": "Loop", "configValues": {"workflow": "inner", "order": "parallel", "maxItems": 1000}, "inputValues": {"times": 900}}, {"id": "out", "type": "GroupOutput"}],
		"edges": [{"source": "l", "sourceHandle": "r", "target": "out", "targetHandle": "r"}]}`
	plan := nested(t, outer, inner)
	for limit, kind := range map[int]protocol.ErrorKind{1 << 20: "", 100_000: protocol.KindLimit} {
		var run workflow.Run
		if err := run.Start(plan, nil, workflow.Env{Budget: &workflow.Budget{Max: limit}}); err != nil {
			t.Fatal(err)
		}
		run.Advance(&later{})
		if kind != "" && protocol.KindOf(run.Err()) != kind || kind == "" && run.Err() != nil {
			t.Errorf("%d bytes: %v, want %q", limit, run.Err(), kind)
		}
	}
}

// Promise 6. TestAnAnswerCountsNothingTwice: what an edge converted for a question is not counted
// again for its answer, for which there may be no room left.
func TestAnAnswerCountsNothingTwice(t *testing.T) {
	plan := compile(t, `{"id": "w", "interfaceInputs": {"v": {"dataFlowType": "CONVERTIBLE_ANY"}}, "interfaceOutputs": {"r": {"dataFlowType": "STRING"}}, "nodes": [
		{"id": "in", "type": "GroupInput"}, {"id": "m", "type": "LLMCompletion", "inputValues": {"prompt": "x"}}, {"id": "out", "type": "GroupOutput"}], "edges": [
		{"source": "in", "sourceHandle": "v", "target": "m", "targetHandle": "variables"},
		{"source": "m", "sourceHandle": "text", "target": "out", "targetHandle": "r"}]}`)
	var run workflow.Run
	if err := run.Start(plan, []any{`{"a": "` + strings.Repeat("x", 1000) + `"}`}, workflow.Env{Budget: &workflow.Budget{Max: 1800}}); err != nil {
		t.Fatal(err)
	}
	if run.Advance(&later{}) || run.Waiting() != 1 {
		t.Fatalf("%d wait, %v, %v; want the question", run.Waiting(), run.Failures(), run.Err())
	}
	if err := run.Answer(1, workflow.Answer{Model: protocol.ModelAnswer{Text: "hi"}}); err != nil {
		t.Fatal(err)
	}
	done := run.Advance(&later{})
	if got := run.Outputs(map[string]any{})["r"]; !done || got != "hi" {
		t.Errorf("%v, %v: %v; want the answer", run.Failures(), run.Err(), got)
	}
}

// Promise 6. TestCallsCountOnceTheyAreRead: native calls count as values for the first node that reads them, and their failure is a node's.
func TestCallsCountOnceTheyAreRead(t *testing.T) {
	read := `{"id": "a", "type": "MakeList"}, {"id": "b", "type": "MakeList"}, `
	edges := `, {"source": "m", "sourceHandle": "calls", "target": "a", "targetHandle": "items"}, {"source": "m", "sourceHandle": "calls", "target": "b", "targetHandle": "items"}`
	numbers := make([]any, 1000) // of 16 bytes each
	for i := range numbers {
		numbers[i] = int64(1)
	}
	for _, c := range []struct {
		nodes, edges string
		max, failed  int
	}{
		{"", "", 1000, 0},
		{read, edges, 10_000, 2},
		{read, edges, 20_000, 0},
	} {
		plan := compile(t, `{"id": "w", "interfaceOutputs": {"r": {}}, "nodes": [{"id": "m", "type": "LLMCompletion", "inputValues": {"prompt": "x"}}, `+c.nodes+`{"id": "out", "type": "GroupOutput"}],
			"edges": [{"source": "m", "sourceHandle": "calls", "target": "out", "targetHandle": "r"}`+c.edges+`]}`)
		var run workflow.Run
		if err := run.Start(plan, nil, workflow.Env{Unread: true, Budget: &workflow.Budget{Max: c.max}}); err != nil {
			t.Fatal(err)
		}
		run.Advance(&later{})
		if err := run.Answer(1, workflow.Answer{Model: protocol.ModelAnswer{Calls: []protocol.Call{{Tool: "t", Params: map[string]any{"list": numbers}}}}}); err != nil {
			t.Fatal(err)
		}
		run.Advance(&later{})
		if got := run.Failures(); len(got) != c.failed {
			t.Errorf("%d bytes, nodes %q: failures %v", c.max, c.nodes, got)
		}
		for _, f := range run.Failures() {
			if protocol.KindOf(f.Err) != protocol.KindLimit {
				t.Error(f.Err)
			}
		}
	}
}

// Promise 6. TestRowsOfLoopsCount: results of a loop take memory, those of items that begin together before one has ended.
func TestRowsOfLoopsCount(t *testing.T) {
	inner := `{"id": "inner", "interfaceInputs": {"index": {}}, "interfaceOutputs": {"r": {}, "OUT": {"dataFlowType": "BOOLEAN"}}, "nodes": [{"id": "in", "type": "GroupInput"},
		{"id": "third", "type": "Expression", "configValues": {"expression": "index == 2"}}, {"id": "out", "type": "GroupOutput"}], "edges": [
		{"source": "in", "sourceHandle": "index", "target": "out", "targetHandle": "r"}, {"source": "in", "sourceHandle": "index", "target": "third", "targetHandle": "index"},
		{"source": "third", "sourceHandle": "value", "target": "out", "targetHandle": "OUT"}]}`
	outer := `{"id": "outer", "interfaceOutputs": {"n": {}}, "nodes": [
		{"id": "l", "type": "Loop", "configValues": {"workflow": "inner", "maxItems": 100000, "order": %q}, "inputValues": {"times": 100000}}, {"id": "out", "type": "GroupOutput"}],
		"edges": [{"source": "l", "sourceHandle": "count", "target": "out", "targetHandle": "n"}]}`
	for _, c := range []struct {
		order string
		out   string // the inner workflow's second output
		kind  protocol.ErrorKind
		n     any
		steps int
	}{
		{"parallel", "done", protocol.KindLimit, nil, 100},
		{"sequential", "break", "", int64(3), 100}, // of 100,000 items three begin
	} {
		var run workflow.Run
		if err := run.Start(nested(t, fmt.Sprintf(outer, c.order), strings.ReplaceAll(inner, "OUT", c.out)), nil, workflow.Env{Budget: &workflow.Budget{Max: 1 << 20}}); err != nil {
			t.Fatal(err)
		}
		run.Advance(&later{})
		if err, n := run.Err(), run.Outputs(map[string]any{})["n"]; err == nil != (c.kind == "") || err != nil && protocol.KindOf(err) != c.kind || n != c.n || run.Steps() > c.steps {
			t.Errorf("%s: %v, %v items, %d steps", c.order, err, n, run.Steps())
		}
	}
}

// TestCallsOfNestedWorkflows: a workflow that many nodes hold is looked at once.
func TestCallsOfNestedWorkflows(t *testing.T) {
	const depth, width = 14, 10
	defs := map[string]*workflow.Definition{}
	for i := range depth {
		d := &workflow.Definition{ID: fmt.Sprintf("w%d", i)}
		for k := range width {
			n := workflow.Node{ID: fmt.Sprintf("n%d", k), Type: "SubWorkflow", ConfigValues: map[string]any{"workflow": fmt.Sprintf("w%d", i+1)}}
			if i == depth-1 {
				n.Type, n.ConfigValues = "CallTool", map[string]any{"tool": fmt.Sprintf("t%d", k%2)}
			}
			d.Nodes = append(d.Nodes, n)
		}
		defs[d.ID] = d
	}
	plan, faults := workflow.Compile(defs["w0"], workflow.Options{Kinds: testKinds(), Lookup: func(id string) (*workflow.Definition, bool) { return defs[id], defs[id] != nil }})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got := fmt.Sprint(plan.Calls()); got != "[t0 t1]" {
		t.Errorf("calls %s", got)
	}
}
