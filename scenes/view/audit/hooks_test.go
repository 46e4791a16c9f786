package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/audit"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools"
	"tavernsim/tools/toolstest"
)

// What hooks made of calls, and of what calls answered, has what was there before, also if the call was a task, and
// wherever the part of the history begins that is looked at.
func TestHooksOfCalls(t *testing.T) {
	box := toolstest.Sandbox(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	lab := tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
		return tools.Output(fmt.Sprint("saw ", c.Params["q"]))
	})
	s := runOf(t, "testdata/hooks.txtar", "", runner.Options{Tools: tooling.Live, Sandbox: box, Services: map[string]tools.Executor{"lab": lab}})
	call := []string{
		`hook ada 1 1.1 look tool:before-call applied {"password":"[redacted]","q":"one"} -> {"password":"[redacted]","q":"two"}`,
		`hook ada 1 1.1 look tool:after-call applied "saw two" -> "a copy"`,
		`hook ada 1 1.2 look tool:after-call denied null -> null not to be seen`,
	}
	task := []string{
		`hook ada 1 ada/1.1 paint tool:before-call applied {"file":"data:,hello","password":"[redacted]","q":"one"} -> {"file":"data:,hello","password":"[redacted]","q":"two"}`,
		`hook ada 1 ada/1.1 paint tool:after-call applied "saw two" -> "a copy"`,
		`hook ada 1 ada/1.2 paint tool:after-call denied null -> null not to be seen`,
	}
	text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	for _, c := range []struct {
		q    audit.Query
		want []string
	}{
		{audit.Query{What: []string{inspect.WhatHook}}, slices.Concat(call, task)},
		{audit.Query{Agent: "ada"}, slices.Concat(call, task)},
		{audit.Query{Tool: "paint"}, task},
		{audit.Query{Tool: "paint", Span: inspect.Span{Since: "1s"}}, task},
		{audit.Query{Agent: "ada", Span: inspect.Span{Since: "1s"}}, task},
	} {
		var got []string
		for _, x := range list(t, s, c.q) {
			if x.What == inspect.WhatHook {
				got = append(got, strings.TrimSpace(fmt.Sprint(x.What, " ", x.By, " ", x.Turn, " ", x.Through, " ", x.Tool, " ", x.Op, " ", x.Status, " ", text(x.Before), " -> ", text(x.After), " ", x.Reason)))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v gave\n%s\nwant\n%s", c.q, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
