package workflow_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

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
