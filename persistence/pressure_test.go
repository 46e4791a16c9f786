package persistence_test

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
)

// waits adds up what a journal tells of backpressure.
type waits struct {
	persistence.Observer
	spent atomic.Int64
}

func (w *waits) Waited(_ string, d time.Duration)                              { w.spent.Add(int64(d)) }
func (*waits) BlockStored(string, int, int, int)                               {}
func (*waits) WaveKept(string, persistence.Wave, time.Duration, time.Duration) {}
func (*waits) SnapshotSaved(string, int64, time.Duration, error)               {}

// Promise 7. A disk that falls behind holds up whoever writes: never more than the bounds
// say is on its way, memory stays where it was, and the time waited is told. Where the
// machine is too busy to outrun the disk, a slower disk shows it.
func TestBackpressure(t *testing.T) {
	const waves = 300
	for disk := time.Millisecond; ; disk *= 10 {
		waited := pressed(t, disk, waves)
		if waited >= waves*disk/6 {
			return
		}
		if t.Logf("%d waves on a disk that takes %v for a sync were waited for %v", waves, disk, waited); disk == 100*time.Millisecond {
			t.Fatal("nobody waits for the disk, or nobody says so")
		}
	}
}

// pressed writes waves as fast as it can, and gives the time for which the journal held
// the writer up.
func pressed(t *testing.T, disk time.Duration, waves int) time.Duration {
	t.Helper()
	const batch, wave, open, staged = 20, 100, 3, 2
	seen := &waits{}
	s, err := persistence.Open("run", persistence.Options{
		Durability: persistence.Power, FS: persistencetest.SlowDisk(disk), BatchFacts: batch, OpenWaves: open,
		StagedBlocks: staged, MemTableSize: 256 << 10, Observer: seen,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	j, err := s.Journal("slow")
	if err != nil {
		t.Fatal(err)
	}
	data, most := make([]byte, 1000), uint64(0)
	before := heap()
	for n := range waves * wave {
		if _, err := j.Append(protocol.Time(n), "a", "k", data); err != nil {
			t.Fatal(err)
		}
		most = max(most, j.Pending())
		if n%wave < wave-1 {
			continue
		}
		if _, err := j.CloseWave(nil); err != nil {
			t.Fatal(err)
		}
	}
	grown := int64(heap()) - int64(before)
	if _, err := j.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	// Open waves, the one that is being filled, and the one that is being answered.
	if bound := uint64((open + 2) * wave); most > bound || most < wave {
		t.Errorf("up to %d facts were on their way; the bound is %d", most, bound)
	}
	if j.Pending() != 0 {
		t.Errorf("%d facts pending after Sync", j.Pending())
	}
	// 30 MB were written; the file system in memory holds them compressed.
	if grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	return time.Duration(seen.spent.Load())
}

// heap is what the process holds after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peak is the most that the heap held beyond before while walk ran, looked at
// every thousandth fact.
func peak(walk func(look func()) error) (grown int64, err error) {
	before, most, n := heap(), uint64(0), 0
	err = walk(func() {
		if n++; n%5000 == 1 {
			most = max(most, heap())
		}
	})
	return int64(most) - int64(before), err
}

// Reading and verifying need as much memory for a long journal as for a short
// one.
func TestReadingNeedsNoMoreForLongJournals(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures, which says nothing under the race detector")
	}
	walks := map[string]func(j *persistence.Journal, look func()) error{
		"read": func(j *persistence.Journal, look func()) error {
			return j.Read(0, func(protocol.Record) error { look(); return nil })
		},
		"scan": func(j *persistence.Journal, look func()) error {
			return j.Scan(persistence.Query{Actor: "trader-007"}, func(protocol.Record) error { look(); return nil })
		},
		"verify": func(j *persistence.Journal, look func()) error {
			_, err := j.Verify(context.Background(), func(w persistence.Wave) { look() })
			return err
		},
	}
	w := Workload{Seed: 51, MaxWave: 400, Size: 300}
	grown := map[string][2]int64{}
	for i, waves := range []uint64{50, 400} {
		_, j := openIn(t, t.TempDir(), persistence.Options{MemTableSize: 1 << 20})
		sync, err := writeAll(w, j, waves)
		if err != nil || sync.Number != waves {
			t.Fatal(err)
		}
		for name, walk := range walks {
			least := int64(math.MaxInt64)
			for range 3 { // the store may still be moving what was written
				n, err := peak(func(look func()) error { return walk(j, look) })
				if err != nil {
					t.Fatal(err)
				}
				least = min(least, n)
			}
			g := grown[name]
			g[i] = least
			grown[name] = g
		}
	}
	for name, g := range grown {
		t.Logf("%s: %d bytes more for the short one, %d for one eight times as long", name, g[0], g[1])
		if g[1] > max(g[0], 0)+6<<20 {
			t.Errorf("%s: %d bytes for the short journal, %d for the long one", name, g[0], g[1])
		}
	}
}

func writeAll(w Workload, j *persistence.Journal, waves uint64) (persistence.Wave, error) {
	if err := w.Write(j, j.Durable(), waves, nil); err != nil {
		return persistence.Wave{}, err
	}
	return j.Sync(context.Background())
}
