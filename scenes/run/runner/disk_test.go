package runner

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"tavernsim/persistence/pebbledb"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
)

// brokenDisk is the system's, whose files take nothing while broken holds.
func brokenDisk(broken *atomic.Bool) pebbledb.FS {
	return persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
		if op.Write && broken.Load() {
			return syscall.ENOSPC
		}
		return nil
	})
}

// Promise 4: a disk that fails while one scene runs and the next has not begun
// stops the run as it does later: with a summary, and nothing lost.
func TestDiskFailsBetweenTwoScenes(t *testing.T) {
	p, broken := loadTown(t), &atomic.Bool{}
	opt := Options{Scenes: []string{"day", "night"}, Ticks: 40}
	want := run(t, p, opt)
	opt.Dir, opt.FS = filepath.Join(t.TempDir(), "run"), brokenDisk(broken)
	sum, err := startedHalf(t, p, opt, func() { broken.Store(true) })
	if failed := (*scenes.DiskFailure)(nil); !errors.As(err, &failed) || !errors.Is(err, syscall.ENOSPC) || protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("it ends with %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "scene night: the journal cannot be written: ") {
		t.Errorf("it says %q", text)
	}
	if !sum.Resumable || sum.RunDir != opt.Dir || strings.Join(sum.IDs(), " ") != "day night" || sum.WavesOf("night") != 0 || !strings.Contains(sum.Scenes[1].Error, "no space left") {
		t.Errorf("summary %+v", sum)
	}
	r, err := Resume(opt.Dir, Options{Finish: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := wait(t, r); got.Digests() != want.Digests() || got.Resumable {
		t.Errorf("digests %s, want %s", got.Digests(), want.Digests())
	}
}

// startedHalf starts the first scene, then the others after something happened.
func startedHalf(t *testing.T, p *project.Project, opt Options, between func()) (*rundir.Summary, error) {
	t.Helper()
	defs, err := pick(p, opt.Scenes)
	if err != nil {
		t.Fatal(err)
	}
	if opt, err = opt.withModels(p, defs); err != nil {
		t.Fatal(err)
	}
	m, err := newManifest(p, defs, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Make(opt.Dir, opt.ProjectDir, m, p, nil); err != nil {
		t.Fatal(err)
	}
	h := newHost(HostOptions{})
	h.only = true
	r, err := h.open(opt.Dir, p, m, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.startScene(defs[0], opt); err != nil {
		t.Fatal(err)
	}
	between()
	if err := r.start(defs[1:], opt); err != nil {
		t.Fatal(err)
	}
	return r.Wait()
}

// Promise 4: a disk that fails before anything of a run has begun is an error at
// once, and what is there can be gone on with.
func TestDiskFailsBeforeTheFirstScene(t *testing.T) {
	p, broken := loadTown(t), &atomic.Bool{}
	opt := Options{Scenes: []string{"day", "night"}, Ticks: 40, Sized: func(int) { broken.Store(true) }}
	opt.FS = brokenDisk(broken)
	opt.Dir = filepath.Join(t.TempDir(), "run")
	r, err := Start(p, opt)
	if !errors.Is(err, syscall.ENOSPC) || protocol.KindOf(err) != protocol.KindLimit || !strings.Contains(err.Error(), "no scene was started") || !strings.Contains(err.Error(), "--resume "+opt.Dir) {
		t.Fatalf("%v, %v", r, err)
	}
	if r, err = Resume(opt.Dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := wait(t, r); got.Resumable || len(got.Scenes) != 2 {
		t.Errorf("%+v", got)
	}
}
