package block

import (
	"fmt"
	"testing"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/tam/bind"
)

// Promise 4: results are kept in the order of the block, whatever order they come in.
func TestBatch(t *testing.T) {
	steps := []Step{{Index: 1}, {Index: 2, After: None}, {Index: 3, After: "1, 2"}, {Index: 4, After: "2"}}
	b := NewBatch(5, 1, steps, time.Second, Spent{Calls: 1})
	start := func(want int) (stopped, held bool) {
		t.Helper()
		if at := b.Ready(); at != want {
			t.Fatalf("%d is ready; want %d", at, want)
		}
		stopped, held, _ = b.Start(want)
		return stopped, held
	}
	start(5)
	start(6)
	if b.Ready() >= 0 {
		t.Error("a step runs beside one for which it waits")
	}
	c := &protocol.Call{}
	b.Note(6, nil)
	b.Spend(6, Spent{Calls: 1, Bytes: 8})
	b.Settle(6, c, protocol.CallResult{Status: protocol.CallOK}, 3*time.Second)
	if b.Next(false) != nil {
		t.Error("kept before the first")
	}
	start(8)
	if got := b.Spent(); got != (Spent{Calls: 2, Bytes: 8}) {
		t.Error(got)
	}
	b.Hold(8)
	b.Settle(5, c, protocol.CallResult{Status: protocol.CallFailed}, time.Second)
	if stopped, held := start(7); !stopped || held {
		t.Error(stopped, held)
	}
	b.Settle(7, c, protocol.CallResult{Status: protocol.CallNotRun}, 0)
	b.Settle(8, c, protocol.CallResult{Status: protocol.CallRequested}, 5*time.Second)
	var facts string
	for m := b.Next(false); m != nil; m = b.Next(false) {
		facts += fmt.Sprint(len(m.Facts))
	}
	if elapsed, done := b.Done(); facts != "0100" || elapsed != 9*time.Second || !done || b.End() != 9 {
		t.Error(facts, elapsed, done)
	}
}

// Promises 1 and 2, through the schema of a tool.
func TestBindReferences(t *testing.T) {
	schema, err := bind.SchemaOf(tool.Spec("", "", tool.Optional("n", "integer", ""), tool.Optional("s", "string", "")).Parameters)
	if err != nil {
		t.Fatal(err)
	}
	r := Results{Named: true}
	c := protocol.Call{Block: 1, Index: 1, Origin: protocol.OriginTAM, Common: map[string]string{"where": "inn"}}
	r.Keep(&c, &protocol.CallResult{Status: protocol.CallOK, Output: map[string]any{"list": []any{int64(7)}}}, tool.Artifact{ID: "x"})
	r.Keep(&c, &protocol.CallResult{Status: protocol.CallFailed})
	r.Keep(&protocol.Call{Block: 1, Index: 2}, &protocol.CallResult{}) // no step of a text
	for text, want := range map[string]string{
		"@{step_1.output.list.0} @{step_1.status} @{common_where}": "7 ok inn []",
		"@{step_1.artifact} @{other}":                              "artifact:x known []",
		"@{step_2.status} @{common_what} @{nobody}":                "@{step_2.status} @{common_what} @{nobody} [step_2.status common_what nobody]",
	} {
		c.Params = map[string]any{"n": "@{step_1.output.list.0}", "s": text}
		params, unknown, err := Bind(&c, &schema, r.Values(&c, func(name string) (any, bool) { return "known", name == "other" }))
		if got := fmt.Sprint(params["s"], " ", unknown); err != nil || got != want || params["n"] != int64(7) || !HasReferences(&c) {
			t.Errorf("%s: %s, %v, %v", text, got, params["n"], err)
		}
	}
	// What a URI puts in is not read again, and what stays of it is told once.
	schema.References = true
	c.Params, c.URIs = map[string]any{"n": "1"}, map[string]string{"s": "fam://agent/@{evil}@{nobody}"}
	params, unknown, err := Bind(&c, &schema, func(name string) (any, bool) { return "@{step_1.status}", name == "evil" })
	if err != nil || params["s"] != "fam://agent/@{step_1.status}@{nobody}" || fmt.Sprint(unknown) != "[nobody]" {
		t.Error(params, unknown, err)
	}
	if r.Forget(); len(r.List()) > 0 || !r.Named {
		t.Error(r)
	}
}
