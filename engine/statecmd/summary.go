package statecmd

import (
	"strings"

	"tavernsim/engine/statecmd/command"
)

// Summary tells a model what became of its commands, for its next prompt (C33):
// what was carried out in one line, then each entry that was not.
func Summary(results []Result, warnings []command.Warning) string {
	var b strings.Builder
	counts := map[Status]int{}
	for _, r := range results {
		counts[r.Status]++
	}
	b.WriteString(textf("state commands: %d applied, %d skipped, %d rejected, %d rolled back", counts[Applied], counts[Skipped], counts[Rejected], counts[StatusUndone]))
	for _, r := range results {
		if r.Status != Applied && r.Status != Ignored {
			b.WriteString(textf("\n- #%d %s %s: %s (%s) %s", r.Index, r.Action, r.Key, r.Status, r.Code, r.Message))
		}
	}
	for _, w := range warnings {
		b.WriteString(textf("\n- warning #%d %s: %s", w.Index, w.Code, w.Message))
	}
	return b.String()
}

// Outcome reads from the fact of a batch what was answered to it. It needs the
// audit: without one there are no results.
func (c *Committed) Outcome() ([]Result, []command.Warning) {
	results := make([]Result, 0, len(c.Audit)+len(c.Debug))
	warnings := append([]command.Warning{}, c.Warnings...)
	for i := range c.Audit {
		a := &c.Audit[i]
		results = append(results, Result{Index: a.Index, Action: a.Action, Key: a.Key, Status: a.Status, Code: a.Code,
			Changed: a.Changed, Message: a.Message, OpID: a.OpID, Version: a.Counter})
		warnings = append(warnings, a.Warnings...)
	}
	for i := range c.Debug {
		results = append(results, inspected(len(c.Audit)+i, c.Debug[i].Key))
	}
	return results, warnings
}

// Failed reports whether an entry was rejected or undone.
func (c *Committed) Failed() bool {
	for i := range c.Audit {
		if s := c.Audit[i].Status; s == Rejected || s == StatusUndone {
			return true
		}
	}
	return false
}

func inspected(index int, key string) Result {
	return Result{Index: index, Key: key, Status: Ignored, Code: command.Inspected, Message: "shown under debug"}
}

// OutcomeValue is an outcome as a value: {results, summary} and, where there are
// any, warnings and debug.
func OutcomeValue(results []Result, warnings []command.Warning, debug []Inspected) map[string]any {
	out := map[string]any{"results": valuesOf(results, Result.value), "summary": Summary(results, warnings)}
	if len(warnings) > 0 {
		out["warnings"] = valuesOf(warnings, func(w command.Warning) any {
			return map[string]any{"index": int64(w.Index), "code": string(w.Code), "message": w.Message}
		})
	}
	if len(debug) > 0 {
		out["debug"] = valuesOf(debug, func(d Inspected) any {
			return map[string]any{"key": d.Key, "exists": d.Exists, "value": d.Value, "error": d.Error}
		})
	}
	return out
}

func valuesOf[T any](list []T, value func(T) any) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = value(list[i])
	}
	return out
}

func (r Result) value() any {
	v := map[string]any{"index": int64(r.Index), "action": string(r.Action), "key": r.Key, "status": string(r.Status), "code": string(r.Code),
		"changed": r.Changed, "message": r.Message}
	if r.Version != nil {
		v["version"] = *r.Version
	}
	return v
}
