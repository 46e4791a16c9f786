package series

import (
	"fmt"
	"math"
	"testing"

	"tavernsim/engine/world"
)

// A path that appears late keeps its times and has a gap before, also when the
// series is thinned.
func TestSeriesKeepTheirTimes(t *testing.T) {
	s := New([]string{"a", "late", "never"})
	for i := range 3 * maxSamples {
		value := map[string]any{"a": int64(i), "never": "text"}
		if i >= 1000 {
			value["late"] = int64(i)
		}
		doc, err := world.FromValue(value, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.Sample(doc, float64(2*i))
	}
	for _, name := range []string{"a", "late"} {
		seconds, values := s.Values(name)
		if len(values) != len(seconds) || len(values) < maxSamples/2 || len(values) >= maxSamples {
			t.Fatalf("%s: %d values at %d times", name, len(values), len(seconds))
		}
		for i, v := range values {
			if gap := name == "late" && seconds[i] < 2000; gap != math.IsNaN(v) || !gap && v != seconds[i]/2 {
				t.Fatalf("%s is %v at %gs", name, v, seconds[i])
			}
		}
	}
	if seconds, values := s.Values("never"); seconds != nil || values != nil {
		t.Error(fmt.Sprint(seconds, values))
	}
}
