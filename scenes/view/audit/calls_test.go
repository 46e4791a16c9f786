package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/view/artifacts"
	"tavernsim/scenes/view/audit"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools"
	outer "tavernsim/tools/audit"
)

// shop runs a painter who edits a file and opens tasks.
func shop(t *testing.T) *inspect.Scene {
	t.Helper()
	paint := func(_ context.Context, c *tools.Call) tools.Result {
		if c.Params["what"] == "cat" {
			return tools.Fail(tools.KindTool, "no cats")
		}
		return tools.Output(map[string]any{"picture": c.Params["what"]})
	}
	return runOf(t, "testdata/shop.txtar", "", runner.Options{Services: map[string]tools.Executor{"paint": tools.Func(paint)}})
}

// lines are changes without hashes and times.
func lines(list []inspect.Change) (out []string) {
	for _, c := range list {
		text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
		out = append(out, strings.Join(strings.Fields(fmt.Sprint(c.What, " ", c.By, " ", c.Turn, " ", c.Through, " ", c.Tool, " ", c.Op, " ", c.Status, " ", text(c.Value), " ", text(c.After), " ", c.Code, " ", c.Reason, " ", c.Error)), " "))
	}
	return out
}

// Tasks are shown from their opening to their end, with masked parameters and what came of them.
func TestTasks(t *testing.T) {
	s := shop(t)
	got := list(t, s, audit.Query{What: []string{inspect.WhatTask}})
	want := []string{
		`task ada 2 ada/2.1 paint open opened {"password":"[redacted]","what":"owl"} null`, `task ada 0 ada/2.1 paint send sent null null`,
		`task ada 2 ada/2.2 paint open opened {"what":"cat"} null`, `task ada 0 ada/2.2 paint send sent null null`,
		`task ada 2 ada/2.3 paint open opened {"what":"dog"} null`, `task ada 0 ada/2.3 paint send sent null null`,
		`task ada 0 ada/2.3 paint cancel cancelled null null unknown requested`,
		`task ada 0 ada/2.1 paint end ok null {"picture":"owl"}`, `task ada 0 ada/2.2 paint end error null null tool tool: no cats`,
	}
	have := lines(got)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range got {
		if c.Op == "end" && (c.Took == "" || len(c.Result) != 64) {
			t.Errorf("%+v", c)
		}
	}
	for _, q := range []audit.Query{{Tool: "paint", What: []string{inspect.WhatTask}}, {Agent: "ada", What: []string{inspect.WhatTask}}} {
		if n := len(list(t, s, q)); n != len(want) {
			t.Errorf("%+v gave %d", q, n)
		}
	}
	if list := list(t, s, audit.Query{}); !slices.ContainsFunc(list, func(c inspect.Change) bool { return c.What == inspect.WhatTask }) {
		t.Error("the whole audit has no task")
	}
}

// Edits are those of simd files log, with the call that made them; the call has its result.
func TestEdits(t *testing.T) {
	s := shop(t)
	var log []artifacts.Change
	if err := artifacts.History(s, "ada", func(c artifacts.Change) error { log = append(log, c); return nil }); err != nil || len(log) != 2 {
		t.Fatalf("%+v, %v", log, err)
	}
	edits := list(t, s, audit.Query{What: []string{inspect.WhatEdit}, Path: "fam://agent/notes.md"})
	if len(edits) != 2 {
		t.Fatalf("%+v", edits)
	}
	for i, c := range edits {
		before, op := any(nil), "make"
		if log[i].Before != "" {
			before, op = json.RawMessage(fmt.Sprintf("%q", log[i].Before)), "change"
		}
		if c.Seq != log[i].Seq || c.By != "ada" || c.Path != log[i].File || c.Op != op || fmt.Sprintf("%s", c.Before) != fmt.Sprintf("%s", before) ||
			fmt.Sprintf("%s", c.After) != fmt.Sprintf("%q", log[i].After) || c.Through != fmt.Sprintf("%d.1", i+1) || c.Turn != uint64(i+1) {
			t.Errorf("%+v, want %+v", c, log[i])
		}
	}
	calls := list(t, s, audit.Query{What: []string{inspect.WhatCall}})
	b, err := json.Marshal([]any{calls[0].Status, calls[0].After, calls[0].Error, []string{log[0].After}})
	if err != nil || calls[0].Tool != "edit" || calls[0].Result != outer.Hash(b) || calls[0].Took == "" {
		t.Errorf("%+v, %s", calls[0], b)
	}
}
