package bench

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// The peak of a run is its own, also behind a larger one of the same process.
func TestPeakIsOfTheRun(t *testing.T) {
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		t.Skip("this system does not forget the peak of a process")
	}
	grow := func(bytes int) float64 {
		before := startPeak()
		held := make([]byte, bytes)
		for i := 0; i < len(held); i += 1 << 10 {
			held[i] = 1
		}
		runtime.KeepAlive(held)
		return before.growth(1)
	}
	const large, small = 64 << 20, 4 << 20
	before := grow(large) // the race detector takes several times as much
	if before < large*.9 {
		t.Errorf("grown by %.0f; want at least %d", before, large)
	}
	if got := grow(small); got > before/2 {
		t.Errorf("grown by %.0f behind a larger peak of %.0f; want about %d", got, before, small)
	}
}

// A peak that is no larger than one before says nothing where that one is not forgotten.
func TestAnOlderPeakIsNotKnown(t *testing.T) {
	if got := (peak{resident: 1, most: 1 << 60}).growth(1); got != 0 {
		t.Errorf("grown by %.0f; want 0, not known", got)
	}
}

// Limits are CPU time, as the deliberation that they are compared with: what waits costs nothing.
func TestLimitsAreCPUTime(t *testing.T) {
	if cpuTime() == 0 {
		t.Skip("CPU time is not known here")
	}
	const waits = 500 * time.Millisecond
	if got := timed(1, func() { <-time.After(waits) }); got > float64(waits)/2 {
		t.Errorf("%.0f ns for waiting", got)
	}
}

// A wave has every agent once, and as many rounds of requests as it takes to have them all.
func TestRoundsOfLatency(t *testing.T) {
	for _, c := range []struct {
		agents, atOnce int
		ticks, want    int64
	}{{100, 256, 3, 3}, {256, 256, 3, 3}, {257, 256, 10, 20}, {300, 256, 10, 20}, {9000, 10_000, 3, 3}, {1000, 1, 2, 2000}} {
		if got := rounds(c.agents, c.atOnce, c.ticks); got != c.want {
			t.Errorf("%d agents, %d at once, %d ticks: %d rounds; want %d", c.agents, c.atOnce, c.ticks, got, c.want)
		}
	}
}
