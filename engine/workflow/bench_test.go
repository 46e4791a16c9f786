package workflow_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/workflow"
	"tavernsim/protocol"
)

// instant answers every request at once, as the scripted model does.
type instant struct{}

func (instant) Request(q *workflow.Request) (workflow.Answer, bool) {
	if q.Ask == workflow.AskModel {
		return workflow.Answer{Model: protocol.ModelAnswer{Text: "hello there"}}, true
	}
	return workflow.Answer{Result: protocol.CallResult{Status: protocol.CallOK}}, true
}

func deliberation(t testing.TB) (*workflow.Plan, []any) {
	data, err := os.ReadFile("testdata/deliberation.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := readScript(t, txtar.Parse(data))
	plan, faults := workflow.Compile(s.main, s.options())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	args, err := plan.Args(s.input)
	if err != nil {
		t.Fatal(err)
	}
	return plan, args
}

// BenchmarkDeliberation runs the eight nodes of testdata/deliberation.txt with a
// host that answers at once; twin=go is the same work as one Go function.
func BenchmarkDeliberation(b *testing.B) {
	plan, args := deliberation(b)
	b.Run("engine=workflow", func(b *testing.B) {
		var run workflow.Run
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := run.Start(plan, args, workflow.Env{Now: protocol.Time(i), Draw: protocol.NewDraw(1, uint64(i))}); err != nil {
				b.Fatal(err)
			}
			if !run.Advance(instant{}) || !run.Complete() {
				b.Fatal("not complete", run.Failures())
			}
		}
	})
	b.Run("engine=twin", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if twin(args[0].(map[string]any), args[1].(map[string]any), instant{}) == "" {
				b.Fatal("nothing said")
			}
		}
	})
}

// twin is testdata/deliberation.txt by hand.
func twin(private, world map[string]any, h workflow.Host) string {
	mood, _ := private["mood"].(string)
	time, _ := world["time"].(string)
	weather, _ := world["weather"].(string)
	prompt := "You feel " + mood + ". It is " + time + " and " + weather + ". What do you do?"
	q := &workflow.Request{Ask: workflow.AskModel, Model: protocol.ModelRequest{Messages: []protocol.ModelMessage{
		{Role: protocol.RoleSystem, Text: "You are a herbalist."}, {Role: protocol.RoleUser, Text: prompt}}}}
	a, _ := h.Request(q)
	if strings.Contains(a.Model.Text, "hello") {
		h.Request(&workflow.Request{Ask: workflow.AskTool, Call: protocol.Call{Tool: "UpdatePrivateStateTool",
			Params: map[string]any{"path": "mood", "op": "set", "value": "friendly"}}})
		h.Request(&workflow.Request{Ask: workflow.AskTool, Call: protocol.Call{Tool: "PublishEventTool",
			Params: map[string]any{"type": "npc.greeted", "payload": a.Model.Text}}})
	}
	return a.Model.Text
}

// BenchmarkNested runs ten items of a nested workflow with one node, and the
// same node once without nesting.
func BenchmarkNested(b *testing.B) {
	inner := decode(b, []byte(`{"id": "inner", "interfaceInputs": {"item": {}}, "interfaceOutputs": {"r": {}}, "nodes": [
		{"id": "in", "type": "GroupInput"}, {"id": "s", "type": "Select"}, {"id": "out", "type": "GroupOutput"}], "edges": [
		{"source": "in", "sourceHandle": "item", "target": "s", "targetHandle": "candidates"},
		{"source": "s", "sourceHandle": "value", "target": "out", "targetHandle": "r"}]}`))
	loop := decode(b, []byte(`{"id": "loop", "interfaceInputs": {"item": {}}, "interfaceOutputs": {"r": {}}, "nodes": [
		{"id": "l", "type": "Loop", "configValues": {"workflow": "inner"}, "inputValues": {"list": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}},
		{"id": "out", "type": "GroupOutput"}], "edges": [{"source": "l", "sourceHandle": "r", "target": "out", "targetHandle": "r"}]}`))
	opts := workflow.Options{Kinds: testKinds(), Lookup: func(string) (*workflow.Definition, bool) { return inner, true }}
	for name, def := range map[string]*workflow.Definition{"nodes=1": inner, "items=10": loop} {
		plan, faults := workflow.Compile(def, opts)
		if len(faults) > 0 {
			b.Fatal(faults)
		}
		b.Run(name, func(b *testing.B) {
			args := []any{int64(1)}
			var run workflow.Run
			b.ReportAllocs()
			for b.Loop() {
				if run.Start(plan, args, workflow.Env{}) != nil || !run.Advance(instant{}) || !run.Complete() {
					b.Fatal("not complete")
				}
			}
		})
	}
}

// BenchmarkLateAnswers runs the deliberation with every answer put off.
func BenchmarkLateAnswers(b *testing.B) {
	plan, args := deliberation(b)
	var run workflow.Run
	var open []int
	host := workflow.HostFunc(func(q *workflow.Request) (workflow.Answer, bool) {
		open = append(open, q.ID)
		return workflow.Answer{}, false
	})
	answer := workflow.Answer{Model: protocol.ModelAnswer{Text: "hello there"}, Result: protocol.CallResult{Status: protocol.CallOK}}
	b.ReportAllocs()
	for b.Loop() {
		if err := run.Start(plan, args, workflow.Env{}); err != nil {
			b.Fatal(err)
		}
		for !run.Advance(host) {
			for _, id := range open {
				if err := run.Answer(id, answer); err != nil {
					b.Fatal(err)
				}
			}
			open = open[:0]
		}
	}
}

// BenchmarkCompile makes the plan of the deliberation.
func BenchmarkCompile(b *testing.B) {
	data, err := os.ReadFile("testdata/deliberation.txt")
	if err != nil {
		b.Fatal(err)
	}
	s := readScript(b, txtar.Parse(data))
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := workflow.Compile(s.main, s.options()); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}
