package budget_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/budget"
	"tavernsim/protocol"
)

func TestMeter(t *testing.T) {
	hour := func(h float64) protocol.Time { return protocol.Time(h * float64(time.Hour)) }
	m := budget.Meter{}
	for _, c := range []struct {
		at    float64
		take  int64
		used  int64
		opens float64 // 0 = something is left
	}{
		{10, 40, 40, 0}, {10.5, 59, 99, 0}, {10.9, 1, 100, 11}, {11, 0, 0, 0}, {11, 350, 350, 14},
		{12.5, 0, 250, 14}, {13.9, 0, 150, 14}, {14, 0, 50, 0}, {13, 60, 110, 15}, {200, 5, 5, 0},
	} {
		m = m.Take(c.take, hour(c.at), time.Hour, 100)
		if got := m.Opens(hour(c.at), time.Hour, 100); m.Used != c.used || got != hour(c.opens) {
			t.Errorf("at %v after %d more: %d used and open at %s, want %d and %s", c.at, c.take, m.Used, got, c.used, hour(c.opens))
		}
	}
	last := int64(protocol.LastTime) / int64(time.Hour)
	for ahead, want := range map[int64]protocol.Time{last - 1: protocol.Time((last - 1) * int64(time.Hour)), last: protocol.Time(last * int64(time.Hour)), last + 1: protocol.LastTime, math.MaxInt64: protocol.LastTime} {
		if got := (budget.Meter{Used: ahead}).Opens(0, time.Hour, 1); got != want {
			t.Errorf("it opens at %d after %d windows, want %d", got, ahead, want)
		}
	}
	if full := (budget.Meter{}).Take(1<<60, 0, time.Hour, 1); full.Opens(0, time.Hour, 1) > protocol.LastTime {
		t.Error("it opens after the end of time")
	}
}

// Who takes only while something is left takes no more than the limit of each window, and once what one taking takes.
func TestMeterKeepsTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 50).Draw(t, "limit")
		m, at, sum, largest := budget.Meter{}, protocol.Time(0), int64(0), int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "takings") {
			at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, 7 * time.Hour}).Draw(t, "later"))
			if opens := m.Opens(at, time.Hour, limit); opens != 0 {
				if opens <= at || int64(opens)%int64(time.Hour) != 0 {
					t.Fatalf("at %s it opens at %s", at, opens)
				}
				at = opens
			}
			if m.Opens(at, time.Hour, limit) != 0 {
				t.Fatalf("it does not open at %s", at)
			}
			n := rapid.Int64Range(0, 200).Draw(t, "n")
			m, sum, largest = m.Take(n, at, time.Hour, limit), sum+n, max(largest, n)
			if windows := int64(at)/int64(time.Hour) + 1; sum > windows*limit+largest {
				t.Fatalf("%d taken in %d windows of %d", sum, windows, limit)
			}
		}
	})
}
