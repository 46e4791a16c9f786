package shadows

import (
	"testing"

	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/scenes/load/setup"
)

// Only a request that may take something of an endpoint with a budget a day of its own does not leave ahead.
func TestWalled(t *testing.T) {
	d := &Driver{scene: &setup.Scene{Budgets: &budget.Config{Endpoints: map[string]*budget.Limits{"far": {Wall: budget.Amount{Calls: 1}}, "near": {Amount: budget.Amount{Calls: 1}}}}}}
	to := func(names ...string) *llm.Bound {
		b := &llm.Bound{}
		for _, name := range names {
			b.Parts = append(b.Parts, llm.Part{Endpoint: name})
		}
		return b
	}
	recorded, saved := to("far"), to("far")
	recorded.Recorded, saved.Saved = true, true
	for name, c := range map[string]struct {
		bound *llm.Bound
		want  bool
	}{
		"under no budget": {nil, false}, "to no endpoint": {to(), false}, "to another endpoint": {to("near", "other"), false}, "to it": {to("far"), true}, "to it after a failure": {to("near", "far"), true},
		"of a replay": {recorded, false}, "with a recorded answer": {saved, false},
	} {
		if got := d.walled(c.bound); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
