package workflow_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

func compile(t testing.TB, text string) *workflow.Plan {
	t.Helper()
	plan, faults := workflow.Compile(decode(t, []byte(text)), workflow.Options{Kinds: testKinds()})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return plan
}

const twoCalls = `{"id": "w", "interfaceOutputs": {"a": {"required": true}, "b": {}, "c": {}}, "nodes": [
	{"id": "a", "type": "CallTool", "configValues": {"tool": "t"}},
	{"id": "b", "type": "CallTool", "configValues": {"tool": "t"}},
	{"id": "c", "type": "Constant", "configValues": {"value": 1}},
	{"id": "next", "type": "CallTool", "configValues": {"tool": "t"}},
	{"id": "out", "type": "GroupOutput"}], "edges": [
	{"source": "a", "sourceHandle": "result", "target": "out", "targetHandle": "a"},
	{"source": "b", "sourceHandle": "result", "target": "next", "targetHandle": "x"},
	{"source": "next", "sourceHandle": "result", "target": "out", "targetHandle": "b"},
	{"source": "c", "sourceHandle": "value", "target": "out", "targetHandle": "c"}]}`

// later puts every request off.
type later struct{ asked []string }

func (l *later) Request(q *workflow.Request) (workflow.Answer, bool) {
	l.asked = append(l.asked, q.Node)
	return workflow.Answer{}, false
}

// Promise 3: requests of independent branches are made before any answer.
func TestIndependentBranchesAreOutTogether(t *testing.T) {
	var run workflow.Run
	host := &later{}
	if err := run.Start(compile(t, twoCalls), nil, workflow.Env{}); err != nil {
		t.Fatal(err)
	}
	if run.Advance(host) || !slices.Equal(host.asked, []string{"a", "b"}) || run.Waiting() != 2 {
		t.Errorf("asked %v, %d wait; want a and b before any answer", host.asked, run.Waiting())
	}
}

func TestCancelStopsBetweenNodes(t *testing.T) {
	var run workflow.Run
	host := &later{}
	if err := run.Start(compile(t, twoCalls), nil, workflow.Env{}); err != nil {
		t.Fatal(err)
	}
	run.Advance(host)
	if err := run.Answer(2, workflow.Answer{}); err != nil { // b: next is ready now
		t.Fatal(err)
	}
	run.Cancel("the scene pauses")
	if !run.Advance(host) || len(host.asked) != 2 {
		t.Errorf("a node ran after Cancel: %v", host.asked)
	}
	if !slices.Equal(run.Open(), []int{1}) || run.Waiting() != 0 || run.Complete() {
		t.Errorf("open %v, waiting %d, complete %v; want request 1 to call off", run.Open(), run.Waiting(), run.Complete())
	}
	if protocol.KindOf(run.Err()) != protocol.KindCancelled || !strings.Contains(run.Err().Error(), "the scene pauses") {
		t.Errorf("error %v", run.Err())
	}
	for _, m := range run.Missing() {
		if m.Outcome != workflow.Cancelled {
			t.Errorf("%s is missing because %s", m.Output, m.Outcome)
		}
	}
	if v, ok := run.Output(2); !ok || v != int64(1) {
		t.Errorf("the output that had arrived is gone: %v %v", v, ok)
	}
	if err := run.Answer(1, workflow.Answer{}); err == nil {
		t.Error("an answer after the end was taken")
	}
	run.Cancel("again")
	if !strings.Contains(run.Err().Error(), "the scene pauses") {
		t.Error("a second Cancel changed the reason")
	}
}

// Promise 5: a request takes one answer; no other number takes any.
func TestAnswersThatAreNotOpen(t *testing.T) {
	var run workflow.Run
	if err := run.Answer(1, workflow.Answer{}); err == nil {
		t.Error("a run that was never started took an answer")
	}
	if err := run.Start(compile(t, twoCalls), nil, workflow.Env{}); err != nil {
		t.Fatal(err)
	}
	run.Advance(&later{})
	for _, id := range []int{-1, 0, 3} {
		if err := run.Answer(id, workflow.Answer{}); protocol.KindOf(err) != protocol.KindNotFound {
			t.Errorf("request %d: %v", id, err)
		}
	}
	for i, output := range []any{"first", "second"} {
		err := run.Answer(1, workflow.Answer{Result: protocol.CallResult{Status: protocol.CallOK, Output: output}})
		if (err == nil) != (i == 0) || i > 0 && protocol.KindOf(err) != protocol.KindNotFound {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	run.Cancel("enough")
	if run.Advance(&later{}); !run.Done() {
		t.Error("it is not done")
	}
	if v, _ := run.Output(0); v != "first" {
		t.Errorf("the output is %v", v)
	}
}

// Promise 8: a neighbour changes nothing of a node's chance, and has chance of its own.
func TestChanceIsOfThePlace(t *testing.T) {
	draws := func(nodes string) map[string]protocol.Draw {
		var run workflow.Run
		got := map[string]protocol.Draw{}
		if err := run.Start(compile(t, `{"id": "w", "nodes": [`+nodes+`]}`), nil, workflow.Env{Draw: protocol.NewDraw(3)}); err != nil {
			t.Fatal(err)
		}
		run.Advance(workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
			got[q.Node] = q.Model.Draw
			return workflow.Answer{}, true
		}))
		return got
	}
	node := func(id string) string {
		return `{"id": "` + id + `", "type": "LLMCompletion", "inputValues": {"prompt": "p"}}`
	}
	alone, beside := draws(node("m")), draws(node("a")+","+node("m")+","+node("z"))
	if len(alone) != 1 || len(beside) != 3 || alone["m"] != beside["m"] || beside["a"] == beside["m"] {
		t.Errorf("alone %v, beside others %v", alone, beside)
	}
}

func TestStartRefusesAllBadArgumentsAtOnce(t *testing.T) {
	plan := compile(t, `{"id": "w", "interfaceInputs": {
		"a": {"dataFlowType": "STRING", "required": true},
		"b": {"dataFlowType": "INTEGER"},
		"c": {"dataFlowType": "OBJECT", "required": true, "default": {}}}, "nodes": []}`)
	var run workflow.Run
	err := run.Start(plan, []any{nil, "x"}, workflow.Env{})
	if err == nil || !strings.Contains(err.Error(), `"a": is required`) || !strings.Contains(err.Error(), `"b": want INTEGER`) || strings.Contains(err.Error(), `"c"`) {
		t.Errorf("got %v", err)
	}
	if run.Done() || run.Complete() || run.Elapsed() != 0 || run.Failures() != nil {
		t.Error("a refused Start left something behind")
	}
	if err := run.Start(plan, make([]any, 4), workflow.Env{}); err == nil {
		t.Error("four arguments for three inputs were taken")
	}
	if _, err := plan.Args(map[string]any{"aa": 1}); err == nil || !strings.Contains(err.Error(), `did you mean "a"?`) {
		t.Errorf("unknown input: %v", err)
	}
	if err := run.Start(plan, []any{"x"}, workflow.Env{}); err != nil || !run.Done() || !run.Complete() {
		t.Errorf("an empty workflow: %v, done %v", err, run.Done())
	}
}

// Promise 7: time is that of the longest chain of answers.
func TestElapsedIsTheCriticalPath(t *testing.T) {
	var run workflow.Run
	if err := run.Start(compile(t, twoCalls), nil, workflow.Env{}); err != nil {
		t.Fatal(err)
	}
	took := map[string]time.Duration{"a": 5 * time.Second, "b": 2 * time.Second, "next": 4 * time.Second}
	run.Advance(workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
		return workflow.Answer{Latency: took[q.Node]}, true
	}))
	if run.Elapsed() != 6*time.Second {
		t.Errorf("elapsed %v, want 6s: b and next after each other beside a", run.Elapsed())
	}
}

func TestModelRequestCarriesTheRun(t *testing.T) {
	plan := compile(t, `{"id": "w", "nodes": [{"id": "m", "type": "LLMCompletion", "timeout": "4s",
		"configValues": {"model": "small", "temperature": 0.5, "maxTokens": 9, "stop": ["x"]},
		"inputValues": {"prompt": "p", "system": "s", "variables": {"v": 1}, "tools": [{"name": "t", "parameters": {}}],
			"messages": [{"role": "assistant", "text": "a", "calls": [{"tool": "t", "params": {"k": 1}}]}, {"role": "tool", "content": "r", "callId": "c1"}]}}]}`)
	var run workflow.Run
	env := workflow.Env{Now: 77, Draw: protocol.NewDraw(3)}
	var got protocol.ModelRequest
	host := workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) { got = q.Model; return workflow.Answer{}, true })
	if err := run.Start(plan, nil, env); err != nil {
		t.Fatal(err)
	}
	run.Advance(host)
	half := 0.5
	want := protocol.ModelRequest{Model: "small", MaxTokens: 9, Temperature: &half, Stop: []string{"x"}, Timeout: 4 * time.Second, Now: 77,
		Variables: map[string]any{"v": int64(1)},
		Messages: []protocol.ModelMessage{{Role: protocol.RoleSystem, Text: "s"},
			{Role: protocol.RoleAssistant, Text: "a", Calls: []protocol.Call{{Tool: "t", Params: map[string]any{"k": int64(1)}}}},
			{Role: protocol.RoleTool, Text: "r", CallID: "c1"}, {Role: protocol.RoleUser, Text: "p"}},
		Tools: []protocol.ToolSpec{{Name: "t", Parameters: map[string]any{}}}, Draw: got.Draw}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
	if got.Draw == (protocol.Draw{}) || got.Draw == env.Draw {
		t.Error("the request has no chance of its own")
	}
}

func TestTraceCostsNothingWhenOff(t *testing.T) {
	plan, args := deliberation(t)
	var run workflow.Run
	for _, trace := range []bool{true, false} {
		if err := run.Start(plan, args, workflow.Env{Trace: trace}); err != nil {
			t.Fatal(err)
		}
		run.Advance(instant{})
		if (len(run.Trace()) > 0) != trace {
			t.Errorf("trace %v: %v", trace, run.Trace())
		}
	}
}

// TestAllocations holds a deliberation to what its values need: prompt, message
// list, two parameter objects and the boxes of texts.
func TestAllocations(t *testing.T) {
	plan, args := deliberation(t)
	var run workflow.Run
	got := testing.AllocsPerRun(100, func() {
		if run.Start(plan, args, workflow.Env{}) != nil || !run.Advance(instant{}) {
			t.Fatal("did not run")
		}
		run.Reset()
	})
	if got > 16 {
		t.Errorf("%v allocations, want at most 16", got)
	}
}

func TestPanickingOrderOfUse(t *testing.T) {
	var run workflow.Run
	run.Reset()
	run.Cancel("nothing runs")
	if run.Done() || run.Err() != nil || len(run.Open()) != 0 || len(run.Missing()) != 0 || len(run.Outputs(map[string]any{})) != 0 {
		t.Error("the zero Run is not quiet")
	}
	if run.Advance(instant{}) {
		t.Error("a run without a plan is done")
	}
	if _, ok := run.Output(0); ok {
		t.Error("a run without a plan has an output")
	}
}

// TestResetLetsGo: a run that was stopped in the middle of nested work can be
// used again.
func TestResetLetsGo(t *testing.T) {
	inner := decode(t, []byte(`{"id": "inner", "interfaceInputs": {"item": {}}, "interfaceOutputs": {"r": {}}, "nodes": [
		{"id": "in", "type": "GroupInput"}, {"id": "t", "type": "CallTool", "configValues": {"tool": "t"}}, {"id": "out", "type": "GroupOutput"}],
		"edges": [{"source": "in", "sourceHandle": "item", "target": "t", "targetHandle": "item"},
		{"source": "t", "sourceHandle": "result", "target": "out", "targetHandle": "r"}]}`))
	outer := decode(t, []byte(`{"id": "outer", "interfaceOutputs": {"r": {}}, "nodes": [
		{"id": "l", "type": "Loop", "configValues": {"workflow": "inner", "order": "parallel"}, "inputValues": {"list": [1, 2, 3]}}, {"id": "out", "type": "GroupOutput"}],
		"edges": [{"source": "l", "sourceHandle": "r", "target": "out", "targetHandle": "r"}]}`))
	plan, faults := workflow.Compile(outer, workflow.Options{Kinds: testKinds(), Lookup: func(string) (*workflow.Definition, bool) { return inner, true }})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	echo := workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
		return workflow.Answer{Result: protocol.CallResult{Status: protocol.CallOK, Output: q.Call.Params["item"]}}, true
	})
	var run workflow.Run
	for k := range 4 {
		if err := run.Start(plan, nil, workflow.Env{}); err != nil {
			t.Fatal(err)
		}
		if k%2 == 0 {
			run.Advance(&later{})
			if k == 2 {
				run.Cancel("enough")
			}
			if err := run.Answer(2, workflow.Answer{}); (err == nil) != (k == 0) {
				t.Fatal(err)
			}
			continue
		}
		run.Advance(echo)
		v, ok := run.Output(0)
		if want := []any{int64(1), int64(2), int64(3)}; !ok || !protocol.Equal(v, want) {
			t.Errorf("round %d: %v, want %v", k, v, want)
		}
	}
}

// A parallel Loop over more items than steps are left stops the run once: what that takes does not grow with the items.
func TestStepsEndAParallelLoop(t *testing.T) {
	inner := decode(t, []byte(`{"id": "inner", "interfaceInputs": {"item": {}}, "nodes": [{"id": "in", "type": "GroupInput"}, {"id": "out", "type": "GroupOutput"}]}`))
	outer := decode(t, []byte(`{"id": "outer", "interfaceOutputs": {"r": {}}, "nodes": [
		{"id": "l", "type": "Loop", "configValues": {"workflow": "inner", "order": "parallel", "maxItems": 10000}, "inputValues": {"times": 10000}}, {"id": "out", "type": "GroupOutput"}],
		"edges": [{"source": "l", "sourceHandle": "count", "target": "out", "targetHandle": "r"}]}`))
	plan, faults := workflow.Compile(outer, workflow.Options{Kinds: testKinds(), MaxSteps: 10, Lookup: func(string) (*workflow.Definition, bool) { return inner, true }})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var run workflow.Run
	made := testing.AllocsPerRun(3, func() {
		if err := run.Start(plan, nil, workflow.Env{}); err != nil {
			t.Fatal(err)
		}
		if !run.Advance(instant{}) || protocol.KindOf(run.Err()) != protocol.KindLimit {
			t.Errorf("%v", run.Err())
		}
	})
	if made > 1000 {
		t.Errorf("%v allocations", made)
	}
}

// Promise 9: arguments and answers are the same bytes after any use of them.
func TestValuesAreNotWritten(t *testing.T) {
	plan, args := deliberation(t)
	answer := map[string]any{"list": []any{int64(1), map[string]any{"k": "v"}}}
	before := string(protocol.Encode([]any{args, answer}))
	var run workflow.Run
	for range 2 {
		if err := run.Start(plan, args, workflow.Env{}); err != nil {
			t.Fatal(err)
		}
		run.Advance(workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
			return workflow.Answer{Model: protocol.ModelAnswer{Text: "hello"}, Result: protocol.CallResult{Status: protocol.CallOK, Output: answer}}, true
		}))
		run.Outputs(map[string]any{})
		run.Reset()
	}
	if string(protocol.Encode([]any{args, answer})) != before {
		t.Error("a value was written")
	}
}

// Promise 9. TestPlanServesManyRunsAtOnce is for the race detector: plans and bodies
// are never written.
func TestPlanServesManyRunsAtOnce(t *testing.T) {
	plan, args := deliberation(t)
	done := make(chan string)
	for range 4 {
		go func() {
			var run workflow.Run
			for range 50 {
				if run.Start(plan, args, workflow.Env{}) != nil || !run.Advance(instant{}) || !run.Complete() {
					done <- "not complete"
					return
				}
			}
			done <- ""
		}()
	}
	for range 4 {
		if bad := <-done; bad != "" {
			t.Error(bad)
		}
	}
}
