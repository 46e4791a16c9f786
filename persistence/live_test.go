package persistence_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
)

// Promise 8: whoever reads a store while it is written sees a moment of it, not
// older than the open, in full; the writer's lock stays, and nothing is written. SIMD_TEST_LONG=1 reads ten times as much.
func TestReadingALiveStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	_, j := openIn(t, dir, persistence.Options{MemTableSize: 256 << 10, BatchFacts: 8})
	var writing sync.WaitGroup
	stop := make(chan struct{})
	waves := make(chan struct{}, 40) // that the writer is to close
	writing.Go(func() {
		for seed := byte(0); ; seed++ {
			select {
			case <-stop:
				return
			case <-waves:
			}
			for i := range 20 {
				if _, err := j.Append(protocol.Time(i), "a", "k", noise(seed, i)); err != nil {
					t.Error(err)
					return
				}
			}
			if _, err := j.CloseWave(nil); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer func() { close(stop); writing.Wait() }()
	var last persistence.Wave
	least, size := 6, uint64(2<<20)
	if long() {
		least, size = 40, 20<<20
	}
	for reads := 0; reads < least || last.Total < size; reads++ {
		for range cap(waves) / 2 { // the writer is at work while the reader opens
			select {
			case waves <- struct{}{}:
			default:
			}
		}
		before := j.Durable()
		last = readLive(t, dir)
		if last.Number < before.Number {
			t.Fatalf("read up to wave %d; %d was durable before", last.Number, before.Number)
		}
	}
	if _, err := persistence.Open(dir, persistence.Options{}); protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("the writer's lock is gone: %v", err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	err := persistence.Copy(dir, copied)
	for i := 0; err != nil && i < patience; i++ {
		copied = filepath.Join(t.TempDir(), "copy")
		err = persistence.Copy(dir, copied)
	}
	if err != nil {
		t.Fatal(err)
	}
	if w := readLive(t, copied); w.Number < last.Number {
		t.Errorf("the copy ends with wave %d, an earlier reader saw %d", w.Number, last.Number)
	}
}

// patience is how often a reader that gave up tries again.
const patience = 20

// noise are bytes that do not compress.
func noise(seed byte, i int) []byte {
	data := make([]byte, 4096)
	x := uint32(seed)<<16 | uint32(i) + 1
	for k := range data {
		x = x*1664525 + 1013904223
		data[k] = byte(x >> 24)
	}
	return data
}

// readLive opens a store to read, reads all of it and gives its last wave.
func readLive(t *testing.T, dir string) persistence.Wave {
	t.Helper()
	s, err := persistence.Open(dir, persistence.Options{ReadOnly: true})
	for range patience { // the writer never rests, and a reader gives up after a while
		if err == nil {
			break
		}
		s, err = persistence.Open(dir, persistence.Options{ReadOnly: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	j, err := s.Journal(crashScene)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(0, "a", "k", nil); protocol.KindOf(err) != protocol.KindDenied {
		t.Error("it takes facts", err)
	}
	report, err := j.Verify(t.Context(), nil)
	if err != nil || report.Damage != nil {
		t.Fatal(report.Damage, err)
	}
	return j.Durable()
}

// A store is read where nothing may be written, and looks the same afterwards.
func TestReadingWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root may write everywhere: only what is left behind is checked")
	}
	dir := filepath.Join(t.TempDir(), "store")
	s, j := openIn(t, dir, persistence.Options{})
	if _, err := j.Append(1, "a", "k", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	modes := func(mode os.FileMode) {
		for _, d := range []string{dir, filepath.Join(dir, "db")} {
			if err := os.Chmod(d, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, "db/LOCK")); err != nil {
		t.Fatal(err)
	}
	delete(before, filepath.Join(dir, "db/LOCK"))
	modes(0o555)
	defer modes(0o755)
	if w := readLive(t, dir); w.Number != 1 {
		t.Errorf("%+v", w)
	}
	after := tree(t, dir)
	if len(before) != len(after) {
		t.Errorf("files before %d, after %d", len(before), len(after))
	}
	for name, data := range before {
		if !bytes.Equal(after[name], data) {
			t.Errorf("%s was changed", name)
		}
	}
}

func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
