package rundir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// A folder of runs may be a link to a folder, and a link may name a run.
func TestLinkedFolder(t *testing.T) {
	dir, _ := ended(t)
	links := t.TempDir()
	folder, run := filepath.Join(links, "runs"), filepath.Join(links, "run")
	if err := errors.Join(os.Symlink(filepath.Dir(dir), folder), os.Symlink(dir, run), os.Symlink("run", filepath.Join(filepath.Dir(dir), "latest"))); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{folder, run} {
		runs, err := rundir.List(t.Context(), of)
		if err != nil || len(runs) != 1 || runs[0].State != rundir.Ended || of == folder && runs[0].Dir != filepath.Join(folder, "run") {
			t.Fatal(of, runs, err)
		}
		if of == run {
			if err := rundir.Remove(runs[0].Dir, false); err != nil {
				t.Error(err)
			}
		}
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
		t.Error("a run that a link names is not removed with its directory and its link latest:", left, err)
	}
}

// What is wrong with one directory hides none of the others.
func TestDamagedRunsAreListed(t *testing.T) {
	dir, _ := ended(t)
	folder := filepath.Dir(dir)
	copies := map[string]func(dir string) error{
		"bad manifest": func(dir string) error { return os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{"), 0o644) },
		"bad summary":  func(dir string) error { return os.WriteFile(filepath.Join(dir, "summary.json"), []byte("{"), 0o644) },
		"no journal":   func(dir string) error { return os.RemoveAll(filepath.Join(dir, "journal")) },
		"not begun": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "journal")), os.Remove(filepath.Join(dir, "summary.json")))
		},
		"not a run": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "journal")), os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o644))
		},
	}
	for name, damage := range copies {
		to := filepath.Join(folder, name)
		if err := errors.Join(os.CopyFS(to, os.DirFS(dir)), damage(to)); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := rundir.List(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, fmt.Sprint(filepath.Base(r.Dir), ": ", r.State, " ", r.Problem != ""))
	}
	slices.Sort(got)
	if text := strings.Join(got, ", "); text != "bad manifest: damaged true, bad summary: damaged true, no journal: damaged true, not begun: resumable false, run: ended false" {
		t.Error(text)
	}
	if err := rundir.Remove(filepath.Join(folder, "not begun"), true); err != nil {
		t.Error(err)
	}
	if err := rundir.Remove(filepath.Join(folder, "no journal"), true); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
}
