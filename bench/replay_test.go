package bench

import (
	"runtime"
	"testing"

	"tavernsim/scenes/runner"
)

// heapLooks is about how often a walk's memory is looked at: each time costs a
// collection.
const heapLooks = 12

// heapWatch remembers the most that the heap held while a walk told of its
// progress.
type heapWatch struct {
	doing string // in one walk after the other
	next  uint64
	looks int
	most  uint64
}

func (h *heapWatch) look(_, doing string, done, total uint64) {
	if doing != h.doing {
		h.doing, h.next = doing, 0
	}
	if done < h.next {
		return
	}
	runtime.GC()
	h.most, h.looks, h.next = max(h.most, memStats().HeapAlloc), h.looks+1, done+total/heapLooks
}

// replayPeak runs the bench project and replays it.
func replayPeak(t *testing.T, ticks int64, verify bool) (peak uint64, facts int64) {
	t.Helper()
	dir := t.TempDir()
	d, err := RunDeliberation(DeliberationOptions{Agents: 30, Ticks: ticks, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC() // twice, for what pools still hold of the run
	runtime.GC()
	h := &heapWatch{}
	if _, err := runner.Replay(t.Context(), dir+"/run", runner.ReplayOptions{Verify: verify, Progress: h.look}); err != nil {
		t.Fatal(err)
	}
	if h.looks < heapLooks || h.doing == "checking digests" {
		t.Fatalf("the heap was looked at %d times, the last time while %s", h.looks, h.doing)
	}
	return h.most, int64(d.BytesPer * float64(d.Deliberations))
}

// The memory of a replay does not grow with the length of the run: four times
// the waves of the same agents need no tenth of what their facts take.
func TestReplayNeedsNoMoreForLongRuns(t *testing.T) {
	for name, verify := range map[string]bool{"replay": false, "replay --verify": true} {
		t.Run(name, func(t *testing.T) {
			short, few := replayPeak(t, 250, verify)
			long, many := replayPeak(t, 1000, verify)
			t.Logf("%d bytes for %d bytes of facts, %d for %d", short, few, long, many)
			if grown, bound := int64(long)-int64(short), (many-few)/10; grown > bound {
				t.Errorf("%d bytes more for a run four times as long; the bound is %d", grown, bound)
			}
		})
	}
}
