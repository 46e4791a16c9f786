package agent

import (
	"testing"

	"tavernsim/engine/agent/tool"
)

// A whole number is within its bounds, also where these are no whole numbers; none is made up
// where there is none.
func TestRandomWholeNumbers(t *testing.T) {
	m := machine(t, echo())
	m.space = NewSpace()
	turn := begin(m, wake(t, 1), m.space)
	for _, c := range []struct {
		params    tool.Params
		low, high int64
		none      bool
	}{
		{tool.Params{"min": int64(1), "max": int64(6)}, 1, 6, false},
		{tool.Params{"min": 0.5, "max": 2.5}, 1, 2, false},
		{tool.Params{"min": -1.5, "max": 1.0}, -1, 1, false},
		{tool.Params{"min": -2.5, "max": -1.5}, -2, -2, false},
		{tool.Params{"min": 0.2, "max": 0.4}, 0, 0, true},
		{tool.Params{"min": int64(0), "max": 1e19}, 0, 0, true},
		{tool.Params{"min": -1e19, "max": int64(0)}, 0, 0, true},
	} {
		c.params["integer"] = true
		seen := map[int64]bool{}
		for range 300 {
			v, err := turn.rolled.random(c.params, turn.end.Calls, turn.draw)
			if (err != nil) != c.none {
				t.Fatalf("%v: %v, %v", c.params, v, err)
			}
			if n, ok := v.(int64); ok {
				seen[n] = true
			}
		}
		for n := range seen {
			if n < c.low || n > c.high {
				t.Errorf("%v: %d", c.params, n)
			}
		}
		if !c.none && int64(len(seen)) != c.high-c.low+1 {
			t.Errorf("%v: only %v", c.params, seen)
		}
	}
}
