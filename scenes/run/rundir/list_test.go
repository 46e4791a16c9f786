package rundir_test

import (
	"path/filepath"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
)

// A run that a process has is listed as running, and is not removed.
func TestRunningRunStays(t *testing.T) {
	dir, _ := ended(t)
	list := func() string {
		t.Helper()
		runs, err := rundir.List(t.Context(), filepath.Dir(dir))
		if err != nil || len(runs) != 1 || runs[0].Dir != dir {
			t.Fatal(runs, err)
		}
		return runs[0].State
	}
	s, err := persistence.Open(filepath.Join(dir, rundir.JournalDir), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if state, err := list(), rundir.Remove(dir, true); state != rundir.Running || protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("state %s; removing it: %v", state, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if state := list(); state != rundir.Ended {
		t.Errorf("state %s", state)
	}
	if err := rundir.Remove(dir, false); err != nil {
		t.Error(err)
	}
	if runs, err := rundir.List(t.Context(), filepath.Dir(dir)); err != nil || len(runs) > 0 {
		t.Error(runs, err)
	}
}
