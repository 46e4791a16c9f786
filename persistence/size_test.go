//go:build unix

package persistence_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tavernsim/persistence"
)

// allocated is the room that a directory takes on the disk.
func allocated(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(name)
		if err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A closed store takes the room of what it holds: nothing is left of what the
// database set aside for its logs.
func TestClosedStoreGivesRoomBack(t *testing.T) {
	for _, level := range []persistence.Durability{persistence.Process, persistence.Power} {
		t.Run(string(level), func(t *testing.T) {
			dir := t.TempDir()
			s, j := openIn(t, dir, persistence.Options{Durability: level, MemTableSize: 16 << 20})
			w := Workload{Seed: 1, MaxWave: 20, Size: 100}
			if err := w.Write(j, persistence.Wave{}, 20, nil); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if n := allocated(t, dir); n > 1e6 {
				t.Errorf("a small store takes %d bytes", n)
			}
		})
	}
}

// So does one whose logs were written as tables again and again, and one that
// dropped most of what it held.
func TestClosedStoreKeepsNothingOld(t *testing.T) {
	alone(t)
	const room = 1 << 20 // of one table that is being filled
	for _, level := range []persistence.Durability{persistence.Process, persistence.Power} {
		for _, keep := range []persistence.Keep{{}, {Waves: 5}} {
			t.Run(fmt.Sprint(level, " ", keep), func(t *testing.T) {
				dir := t.TempDir()
				s, j := openIn(t, dir, persistence.Options{Durability: level, MemTableSize: room, Keep: keep})
				w := Workload{Seed: 1, MaxWave: 1000, Size: 300}
				for wave := uint64(5); wave <= 100; wave += 5 {
					if err := w.Write(j, j.Durable(), wave, nil); err != nil {
						t.Fatal(err)
					}
					if _, err := j.Sync(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := j.SaveSnapshot(wave, stateAt(wave)); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				n := allocated(t, dir)
				_, j = openIn(t, dir, persistence.Options{ReadOnly: true})
				r, err := j.Verify(t.Context(), nil)
				if err != nil || r.Damage != nil || j.Durable().Number != 100 {
					t.Fatal(r, err)
				}
				t.Logf("%d bytes for %d of blocks", n, r.Stored)
				if n > int64(r.Stored)+3*room { // a log and a table may be on their way
					t.Errorf("%d bytes for %d of blocks", n, r.Stored)
				}
			})
		}
	}
}
