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
	sum, err := started(t, p, opt, 1, func() { broken.Store(true) })
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

// started starts some scenes, then the others after something happened.
func started(t *testing.T, p *project.Project, opt Options, first int, between func()) (*rundir.Summary, error) {
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
	if _, _, err := rundir.Make(opt.Dir, opt.ProjectDir, m, p, nil); err != nil {
		t.Fatal(err)
	}
	h := newHost(HostOptions{})
	h.only = true
	r, err := h.open(opt.Dir, p, m, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range defs[:first] {
		if err := r.startScene(def, opt); err != nil {
			t.Fatal(err)
		}
	}
	between()
	if err := r.start(defs[first:], opt); err != nil {
		return nil, err
	}
	return r.Wait()
}

// Promise 4: a disk that fails before anything of a run has begun is an error at
// once, and what is there can be gone on with.
func TestDiskFailsBeforeTheFirstScene(t *testing.T) {
	p, broken := loadTown(t), &atomic.Bool{}
	opt := Options{Scenes: []string{"day", "night"}, Ticks: 40}
	opt.Dir, opt.FS = filepath.Join(t.TempDir(), "run"), brokenDisk(broken)
	sum, err := started(t, p, opt, 0, func() { broken.Store(true) })
	if !errors.Is(err, syscall.ENOSPC) || protocol.KindOf(err) != protocol.KindLimit || !strings.Contains(err.Error(), "no scene was started") || !strings.Contains(err.Error(), "--resume "+opt.Dir) {
		t.Fatalf("%v, %v", sum, err)
	}
	r, err := Resume(opt.Dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := wait(t, r); got.Resumable || len(got.Scenes) != 2 {
		t.Errorf("%+v", got)
	}
}
