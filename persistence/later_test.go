package persistence_test

import (
	"context"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
)

// closeWaves keeps waves of facts facts, each closed by end.
func closeWaves(t *testing.T, j *persistence.Journal, waves, facts int, end func(func(persistence.Wave, error)) (uint64, error), done func(persistence.Wave, error)) {
	t.Helper()
	for n := range waves {
		for range facts {
			if _, err := j.Append(protocol.Time(n), "a", "k", []byte("data")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := end(done); err != nil {
			t.Fatal(err)
		}
	}
}

// Waves that nobody waits for share syncs: a thousand facts each, however few
// are in a wave and however fast the disk is.
func TestSmallWavesShareSyncs(t *testing.T) {
	const waves, facts = 2000, 20
	s, j := openIn(t, "run", persistence.Options{Durability: persistence.Power, FS: persistencetest.SlowDisk(100 * time.Microsecond)})
	before := s.Metrics().WALSyncs
	answered := uint64(0)
	start := time.Now()
	closeWaves(t, j, waves, facts, j.CloseWaveLater, func(w persistence.Wave, err error) {
		if answered++; err != nil || w.Number != answered {
			t.Errorf("answer %d: wave %d, %v", answered, w.Number, err)
		}
	})
	if _, err := j.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	byTime := int64(time.Since(start)/(20*time.Millisecond)) + 2
	syncs := s.Metrics().WALSyncs - before
	// Half as many again: a bound that is reached makes a sync too.
	if most := waves*facts*3/2/1024 + byTime; syncs > most || answered != waves {
		t.Errorf("%d waves were answered after %d syncs; want at most %d", answered, syncs, most)
	}
}

// A wave that nobody waits for is durable soon all the same, alone or because
// somebody waits for a later one.
func TestLaterIsSoon(t *testing.T) {
	disk := vfs.NewCrashableMem()
	_, j := openIn(t, "run", persistence.Options{Durability: persistence.Power, FS: disk})
	answered := make(chan persistence.Wave, 10)
	done := func(w persistence.Wave, err error) {
		if err != nil {
			t.Error(err)
		}
		answered <- w
	}
	closeWaves(t, j, 1, 1, j.CloseWaveLater, done)
	if w := <-answered; w.Number != 1 || j.Durable().Number != 1 {
		t.Errorf("answered wave %d, durable %d", w.Number, j.Durable().Number)
	}
	_, lost := openIn(t, "run", persistence.Options{FS: disk.CrashClone(vfs.CrashCloneCfg{})})
	if n := lost.Durable().Number; n != 1 {
		t.Errorf("after a loss of power %d waves are left of the one that was answered", n)
	}
	closeWaves(t, j, 5, 1, j.CloseWaveLater, done)
	if w, err := j.Sync(context.Background()); err != nil || w.Number != 6 || len(answered) != 5 {
		t.Errorf("Sync answered wave %d, %v, after %d of 5", w.Number, err, len(answered))
	}
}

// Promise 7. The bound of open waves holds for waves that nobody waits for, and none of
// them waits for ever.
func TestLaterIsBounded(t *testing.T) {
	for name, o := range map[string]persistence.Options{
		"count": {OpenWaves: 3}, "facts": {OpenWaves: 2, OpenFacts: 50}, "default": {},
	} {
		t.Run(name, func(t *testing.T) {
			o.Durability, o.FS = persistence.Power, persistencetest.SlowDisk(time.Millisecond)
			_, j := openIn(t, "run", o)
			most := uint64(0)
			for range 300 {
				closeWaves(t, j, 1, 10, j.CloseWaveLater, nil)
				most = max(most, j.Pending())
			}
			want := uint64(map[string]int{"count": 3, "facts": 5, "default": 512}[name]+2) * 10
			if most > want || most < 20 {
				t.Errorf("up to %d facts were on their way; the bound is %d", most, want)
			}
			if _, err := j.Sync(context.Background()); err != nil || j.Pending() != 0 {
				t.Errorf("%v, %d pending", err, j.Pending())
			}
		})
	}
}
