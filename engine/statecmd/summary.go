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
