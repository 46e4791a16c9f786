package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

func oneState(text string) func(func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) { yield("all", []byte(text)) }
}

// withSnapshots makes a store with snapshots of waves 4 and 8 of 12.
func withSnapshots(t *testing.T) (dir string, files []string) {
	t.Helper()
	dir = written(t)
	s, j := openIn(t, dir, persistence.Options{})
	for _, wave := range []uint64{4, 8} {
		if err := j.SaveSnapshot(wave, oneState(fmt.Sprint("state at ", wave))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "snapshots", crashScene, "*.snap"))
	if err != nil || len(files) != 2 {
		t.Fatalf("snapshot files %v: %v", files, err)
	}
	return dir, files
}

// Promise 5. TestDamagedSnapshot damages the newest snapshot at every byte, and cuts it at
// every byte: the one before is used, and why is said.
func TestDamagedSnapshot(t *testing.T) {
	dir, files := withSnapshots(t)
	good, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	_, j := openIn(t, dir, persistence.Options{})
	expect := func(what string, data []byte, wave uint64) {
		t.Helper()
		if err := os.WriteFile(files[1], data, 0o644); err != nil {
			t.Fatal(err)
		}
		snap, err := j.LatestSnapshot()
		if err != nil || snap.Wave.Number != wave || len(snap.Skipped) != int(8-wave)/4 {
			t.Fatalf("%s: snapshot %+v, %v; want that of wave %d", what, snap, err, wave)
		}
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x21
		expect(fmt.Sprintf("byte %d changed", i), bad, 4)
		expect(fmt.Sprintf("cut at byte %d", i), good[:i], 4)
	}
	expect("a byte too many", append(append([]byte(nil), good...), 0), 4)
	expect("undamaged", good, 8)

	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[1], good[:20], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := j.LatestSnapshot(); protocol.KindOf(err) != protocol.KindNotFound {
		t.Fatalf("no good snapshot: %v", err)
	}
}

// Promise 5. TestForeignSnapshot passes over a good snapshot of another history.
func TestForeignSnapshot(t *testing.T) {
	dir, files := withSnapshots(t)
	s, err := persistence.Open(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	data, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CutAfter(crashScene, 6); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(files[1]); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the snapshot of a wave that was cut off is still there: %v", err)
	}
	j, err := s.Journal(crashScene)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := j.Append(1, "a", "Different", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(files[1], data, 0o644); err != nil {
		t.Fatal(err)
	}
	snap, err := j.LatestSnapshot()
	if err != nil || snap.Wave.Number != 4 || len(snap.Skipped) != 1 || protocol.KindOf(snap.Skipped[0]) != protocol.KindConflict {
		t.Fatalf("snapshot %+v, %v; want that of wave 4 and a conflict", snap, err)
	}
	for range 400 { // beyond the notes that were cut off
		if _, err := j.Append(1, "a", "Different", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	if seq, note, err := j.NoteAt(math.MaxUint64); err != nil || seq == 0 || string(note) != string(noteOf(2)) {
		t.Fatalf("the cut left the note %q of seq %d, %v", note, seq, err)
	}
}

// TestLostWaves refuses a journal that ends before its newest snapshot, until
// somebody cuts it there.
func TestLostWaves(t *testing.T) {
	dir, files := withSnapshots(t)
	data, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	s, err := persistence.Open(dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CutAfter(crashScene, 6); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[1], data, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = s.Journal(crashScene)
	if d, ok := persistence.DamageOf(err); !ok || d.Good.Number != 6 {
		t.Fatalf("a journal that lost waves: %v", err)
	}
	if err := s.CutAfter(crashScene, 6); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Journal(crashScene); err != nil {
		t.Fatal(err)
	}
}

// TestHalfSnapshot fails a snapshot for want of space: nothing of it is left,
// the one before is still there and the journal goes on.
func TestHalfSnapshot(t *testing.T) {
	var full bool
	base := vfs.NewMem()
	fsys := errorfs.Wrap(base, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full && op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	s, j := openJournal(t, fsys, persistence.Options{})
	defer s.Close()
	append1 := func() {
		if _, err := j.Append(1, "a", "k", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	append1()
	if err := j.SaveSnapshot(1, oneState("first")); err != nil {
		t.Fatal(err)
	}
	append1()
	full = true
	if err := j.SaveSnapshot(2, oneState("second")); protocol.KindOf(err) != protocol.KindLimit {
		t.Fatalf("a snapshot on a full disk: %v of kind %s", err, protocol.KindOf(err))
	}
	full = false
	files, err := base.List(crashDir + "/snapshots/" + crashScene)
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v; want the first snapshot alone", files, err)
	}
	append1()
	if snap, err := j.LatestSnapshot(); err != nil || snap.Wave.Number != 1 {
		t.Fatalf("snapshot %+v, %v", snap, err)
	}
}
