package persistence_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
)

func TestParseKeep(t *testing.T) {
	for text, want := range map[string]persistence.Keep{
		"": {}, "all": {}, "waves:1": {Waves: 1}, "waves:200": {Waves: 200}, "48h0m0s": {Time: 48 * time.Hour}, "1m30s": {Time: 90 * time.Second},
	} {
		got, err := persistence.ParseKeep(text)
		if err != nil || got != want || got.All() != (want == persistence.Keep{}) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := persistence.ParseKeep(got.String()); err != nil || again != got {
			t.Errorf("%q is written %q: %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"none", "waves:", "waves:0", "waves:-1", "waves:x", "0s", "-5m", "10"} {
		if got, err := persistence.ParseKeep(text); protocol.KindOf(err) != protocol.KindInvalid {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func stateAt(wave uint64) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) { yield("a", []byte{byte(wave)}) }
}

// keeping writes waves with a snapshot of each and calls after between.
func keeping(t *testing.T, j persistencetest.Journal, last uint64, after func(wave uint64)) {
	t.Helper()
	w := Workload{Seed: 21}
	for wave := uint64(1); wave <= last; wave++ {
		if err := w.Write(j, j.Durable(), wave, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := j.SaveSnapshot(wave, stateAt(wave)); err != nil {
			t.Fatal(err)
		}
		after(wave)
	}
}

// However often snapshots are taken: what is to be kept is there, the rest goes,
// and the history begins at a snapshot that is there.
func TestKeepWaves(t *testing.T) {
	s, j := openJournal(t, vfs.NewMem(), persistence.Options{Keep: persistence.Keep{Waves: 5}})
	defer s.Close()
	keeping(t, j, 40, func(wave uint64) {
		begin := j.Begin().Number
		if wave > 5 && (begin == 0 || wave-begin < 5 || wave-begin > 11) {
			t.Errorf("at wave %d the history begins after %d; want 5 to 11 waves", wave, begin)
		}
		if wave <= 5 && begin > 0 {
			t.Errorf("dropped up to %d at wave %d already", begin, wave)
		}
		if err := Check(j, Workload{Seed: 21}.Model(crashScene, wave)); err != nil {
			t.Fatal(err)
		}
		if begin == 0 {
			return
		}
		if snap, err := journalOf(j).SnapshotAt(begin); err != nil || snap.Wave.Number != begin {
			t.Errorf("no snapshot of wave %d, at which the history begins: %v", begin, err)
		}
	})
}

// journalOf is the journal below the suite's contract.
func journalOf(j persistencetest.Journal) interface {
	persistencetest.Journal
	CheckSnapshots() ([]persistence.SnapshotCheck, error)
} {
	return j.(interface {
		persistencetest.Journal
		CheckSnapshots() ([]persistence.SnapshotCheck, error)
	})
}

func TestNothingIsDroppedWithoutKeep(t *testing.T) {
	s, j := openJournal(t, vfs.NewMem(), persistence.Options{})
	defer s.Close()
	keeping(t, j, 20, func(uint64) {})
	if begin := j.Begin().Number; begin > 0 {
		t.Errorf("begins after wave %d", begin)
	}
}

// A kill at any moment of a snapshot and of the drop after it leaves a history
// that is whole from its beginning on, with a snapshot there.
func TestKillWhileDropping(t *testing.T) {
	disk := persistencetest.NewCrashDisk()
	var left []vfs.FS
	var mu sync.Mutex
	watch := persistencetest.FailingDisk(disk, func(op persistencetest.DiskOp) error {
		if op.Write || op.Sync || op.Create || strings.HasSuffix(op.Path, ".snap") {
			mu.Lock()
			defer mu.Unlock()
			left = append(left, disk.Kill())
		}
		return nil
	})
	s, j := openJournal(t, watch, persistence.Options{Keep: persistence.Keep{Waves: 2}, BatchFacts: 5})
	keeping(t, j, 5, func(uint64) {})
	mu.Lock()
	left = nil
	mu.Unlock()
	last := j.Durable().Number
	if err := j.SaveSnapshot(last, stateAt(last)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(left) < 3 {
		t.Fatalf("%d moments: nothing is tested", len(left))
	}
	for i, fsys := range left {
		s, j := openJournal(t, fsys, persistence.Options{BatchFacts: 5})
		err := Check(j, Workload{Seed: 21}.Model(crashScene, last))
		checks, failed := journalOf(j).CheckSnapshots()
		begin := j.Begin().Number
		if err != nil || failed != nil || len(checks) == 0 || begin > 0 && checks[len(checks)-1].Wave != begin {
			t.Errorf("moment %d: begins after %d, %v, %v, %v", i, begin, checks, err, failed)
		}
		for _, c := range checks {
			if c.Err != nil {
				t.Errorf("moment %d: %v", i, c.Err)
			}
		}
		_ = s.Close()
	}
}

// A damaged snapshot is never made the beginning: it is removed, and the next
// one takes its place.
func TestDamagedSnapshotIsNoBeginning(t *testing.T) {
	fsys := vfs.NewMem()
	s, j := openJournal(t, fsys, persistence.Options{Keep: persistence.Keep{Waves: 5}})
	defer s.Close()
	keeping(t, j, 30, func(wave uint64) {
		if wave != 4 {
			return
		}
		dir := crashDir + "/snapshots/" + crashScene + "/"
		files, err := fsys.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "1.snap") {
				f, err := fsys.Create(dir+name, "")
				if err != nil {
					t.Fatal(err)
				}
				_ = f.Close()
			}
		}
	})
	if begin := j.Begin().Number; begin < 15 {
		t.Errorf("begins after wave %d: the damaged snapshot stands in the way", begin)
	}
	checks, err := journalOf(j).CheckSnapshots()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Err != nil {
			t.Error(c.Err)
		}
	}
}

// Promise 5 at level power: facts are dropped only when the snapshot at which the
// rest begins survives a loss of power too.
func TestKeptHistorySurvivesALossOfPower(t *testing.T) {
	disk := persistencetest.NewCrashDisk()
	s, j := openJournal(t, disk, persistence.Options{Durability: persistence.Power, Keep: persistence.Keep{Waves: 5}})
	defer s.Close()
	dropped := 0
	keeping(t, j, 30, func(wave uint64) {
		after, left := openJournal(t, disk.LosePower(0, nil), persistence.Options{})
		defer after.Close()
		begin := left.Begin().Number
		if left.Durable().Number != wave {
			t.Fatalf("wave %d was acknowledged, %d is there", wave, left.Durable().Number)
		}
		if snap, err := journalOf(left).SnapshotAt(wave); err != nil || snap.Wave.Number != wave || snap.Skipped != nil {
			t.Fatalf("the snapshot of wave %d: %+v, %v", wave, snap, err)
		}
		if begin == 0 {
			return
		}
		dropped++
		if snap, err := journalOf(left).SnapshotAt(begin); err != nil || snap.Wave.Number != begin {
			t.Fatalf("no snapshot of wave %d, at which the history begins: %v", begin, err)
		}
	})
	if dropped == 0 {
		t.Error("nothing was dropped")
	}
}
