package metrics

import (
	"strings"
	"testing"
)

// TestEveryMetricMoves: exercise changes each metric, so none is there that nobody counts.
func TestEveryMetricMoves(t *testing.T) {
	still := map[string]string{
		"simd_metrics_label_overflow_total": "TestCardinalityCap has too many values",
		"simd_stuck_actors":                 "an actor has to be at one message for 30 seconds",
		"simd_llm_circuit_open":             "the circuit of its gate is closed",
		"simd_budget_left_calls":            "its budget is used up",
		"simd_llm_prompt_prefix_ratio":      "package prompts compares prompts",
	}
	s := New()
	exercise(t, s)
	moved := map[string]bool{}
	for name, v := range gathered(t, s.Registry) {
		if family, _, _ := strings.Cut(name, "{"); v != 0 {
			moved[family], moved[strings.TrimSuffix(family, "_count")] = true, true
		}
	}
	for _, d := range s.catalog {
		if moved[d.name] == (still[d.name] != "") {
			t.Errorf("%s: exercise (fakes_test.go) calls what counts it (%v), or a line of still says why not (%q), and not both", d.name, moved[d.name], still[d.name])
		}
	}
}
