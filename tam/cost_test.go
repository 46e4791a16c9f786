package tam

import (
	"maps"
	"slices"
	"testing"
	"time"
)

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// TestCost_HostileTextsAreLinear compares 16 KiB with 1 MiB of texts made to
// hurt. Quadratic time would show as a factor of 64; the bound leaves room for a
// busy machine, and what exceeds it is measured again: the least counts. The
// benchmark has the exact figures.
func TestCost_HostileTextsAreLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	small, large := hostileTexts(16*kib), hostileTexts(1024*kib)
	for _, name := range sortedNames(small) {
		a, b := perByte(small[name]), perByte(large[name])
		for n := 0; n < 15 && b > 16*a+40; n++ {
			b = min(b, perByte(large[name]))
		}
		t.Logf("%s: %.1f ns per byte at 16 KiB, %.1f at 1 MiB", name, a, b)
		if b > 16*a+40 {
			t.Errorf("%s: %.1f ns per byte at 16 KiB, %.1f at 1 MiB", name, a, b)
		}
	}
}

// perByte is the time of one parse, in nanoseconds.
func perByte(text string) float64 {
	start := time.Now()
	Parse(text)
	return float64(time.Since(start).Nanoseconds()) / float64(len(text))
}
