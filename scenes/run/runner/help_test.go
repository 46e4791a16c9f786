package runner

import (
	"os"
	"path/filepath"
	"testing"

	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// loadTown loads the project in which a scene does everything that it can.
func loadTown(t testing.TB) *project.Project {
	t.Helper()
	p, err := LoadFS(scenestest.TownFS(), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run starts and waits.
func run(t testing.TB, p *project.Project, opt Options) *rundir.Summary {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = filepath.Join(t.TempDir(), "run")
	}
	r, err := Start(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	return wait(t, r)
}

func wait(t testing.TB, r *Runner) *rundir.Summary {
	t.Helper()
	s, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// stopped makes a run that was stopped; on a busy machine the stop may come after
// the end.
func stopped(t *testing.T, opt Options) (ended bool) {
	t.Helper()
	r, err := Start(loadTown(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	return !wait(t, r).Resumable
}
