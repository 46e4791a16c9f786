package bench

import (
	"path/filepath"
	"runtime"
	"testing"

	"tavernsim/persistence"
	"tavernsim/scenes/run/rundir"
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

// recorded is a run of the bench project.
type recorded struct {
	dir   string
	facts int64 // bytes
}

func record(t *testing.T, ticks int64) recorded {
	t.Helper()
	dir := t.TempDir()
	d, err := RunDeliberation(DeliberationOptions{Agents: 30, Ticks: ticks, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return recorded{dir + "/run", int64(d.BytesPer * float64(d.Deliberations))}
}

// opened is what the heap holds while the journal is open: with the race detector
// also what the store allocates otherwise, as the table that its log is read into.
func (r recorded) opened(t *testing.T) uint64 {
	t.Helper()
	store, err := persistence.Open(filepath.Join(r.dir, rundir.JournalDir), persistence.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC() // twice, for what pools still hold of what was before
	runtime.GC()
	held := memStats().HeapAlloc
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return held
}

// peak is the most that the heap held while the run was replayed, beyond what an
// open journal needs.
func (r recorded) peak(t *testing.T, verify bool) int64 {
	t.Helper()
	opened := r.opened(t)
	runtime.GC()
	h := &heapWatch{}
	if _, err := rundir.Replay(t.Context(), r.dir, rundir.ReplayOptions{Verify: verify, Progress: h.look}); err != nil {
		t.Fatal(err)
	}
	if h.looks < heapLooks || h.doing == "checking digests" {
		t.Fatalf("the heap was looked at %d times, the last time while %s", h.looks, h.doing)
	}
	return int64(h.most) - int64(opened)
}

// The memory of a replay does not grow with the length of the run: four times
// the waves of the same agents need no tenth of what their facts take.
func TestReplayNeedsNoMoreForLongRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures, which says nothing under the race detector")
	}
	short, long := record(t, 250), record(t, 1000)
	for name, verify := range map[string]bool{"replay": false, "replay --verify": true} {
		t.Run(name, func(t *testing.T) {
			few, many := short.peak(t, verify), long.peak(t, verify)
			t.Logf("%d bytes for %d bytes of facts, %d for %d", few, short.facts, many, long.facts)
			if grown, bound := many-few, (long.facts-short.facts)/10; grown > bound {
				t.Errorf("%d bytes more for a run four times as long; the bound is %d", grown, bound)
			}
		})
	}
}
