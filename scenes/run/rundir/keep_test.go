package rundir_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// compacted makes a run that was stopped in the middle and has dropped its first
// facts, and lists its snapshots, oldest first.
func compacted(t *testing.T) (dir string, snaps []string, begin uint64) {
	t.Helper()
	opt := runner.Options{Keep: "waves:4", Snapshots: machines.SnapshotPolicy{Facts: 30}, BatchFacts: 10, Ticks: 60}
	for range 20 { // on a busy machine a run ends before it is stopped, or two stops have one snapshot
		opt.Dir = filepath.Join(t.TempDir(), "run")
		if stopped(t, opt, 13) {
			continue
		}
		if snaps, begin = snapshots(t, opt.Dir); begin > 0 && len(snaps) >= 3 {
			return opt.Dir, snaps, begin
		}
	}
	t.Fatalf("begins after wave %d, with the snapshots %q", begin, snaps)
	return "", nil, 0
}

// snapshots are the files of a run's snapshots, and the wave behind which its facts begin.
func snapshots(t *testing.T, dir string) (files []string, begin uint64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, rundir.JournalDir, "snapshots/*/*.snap"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	run, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	_, journal, err := run.Scene(run.Manifest.Scenes[0])
	if err != nil {
		t.Fatal(err)
	}
	return files, journal.Begin().Number
}

// stopped makes a run that was stopped so many times; each stop leaves a snapshot,
// however slow the disk is. On a busy machine a stop may come after the end.
func stopped(t *testing.T, opt runner.Options, stops int) (ended bool) {
	t.Helper()
	r, err := runner.Start(loadTown(t), opt)
	for n := range stops {
		if err != nil {
			t.Fatal(err)
		}
		r.Interrupt()
		if s := wait(t, r); !s.Resumable {
			return true
		}
		if n < stops-1 {
			r, err = runner.Resume(opt.Dir, runner.Options{})
		}
	}
	return false
}

func spoil(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 0xff
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Damaged snapshots of a run whose first facts were dropped: as long as one is
// left the run goes on to its end; where none is, everybody says so.
func TestDamagedSnapshotsOfACompactedRun(t *testing.T) {
	want := run(t, loadTown(t), runner.Options{Dir: filepath.Join(t.TempDir(), "whole"), Ticks: 60})
	for name, c := range map[string]struct {
		which  func(snaps []string) []string
		doctor string
		resume string // "" = it goes on
	}{
		"newest":    {func(s []string) []string { return s[len(s)-1:] }, "recovery passes it over", ""},
		"beginning": {func(s []string) []string { return s[:1] }, "where the kept facts begin", ""},
		"all":       {func(s []string) []string { return s }, "the state cannot be restored", "were dropped, and there is no good snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, snaps, begin := compacted(t)
			spoil(t, c.which(snaps)...)
			d, err := rundir.Examine(t.Context(), dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if x := find(d, "snapshots"); d.Healthy || x.Status != rundir.CheckDamaged || !strings.Contains(x.Text+x.Advice, c.doctor) {
				t.Errorf("doctor says %+v", x)
			}
			checkReplay(t, dir, begin, c.resume, name == "beginning")
			r, err := runner.Resume(dir, runner.Options{})
			if c.resume != "" {
				if protocol.KindOf(err) != protocol.KindNotFound || !strings.Contains(err.Error(), c.resume) {
					t.Errorf("resume says %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := wait(t, r).Digests(); got != want.Digests() {
				t.Errorf("digest %s, want %s", got, want.Digests())
			}
		})
	}
}

// checkReplay wants a replay that says where it began, or why it cannot.
func checkReplay(t *testing.T, dir string, begin uint64, refused string, later bool) {
	t.Helper()
	out, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{})
	if refused != "" {
		if err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("replay says %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if s := out.Scenes[0]; s.From != begin || (s.Begun > begin) != later {
		t.Errorf("the history begins after wave %d; replay says %d, and that it began after %d", begin, s.From, s.Begun)
	}
	if _, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{Verify: true}); later && (err == nil || !strings.Contains(err.Error(), "no good snapshot")) || !later && err != nil {
		t.Errorf("replay --verify says %v", err)
	}
}
