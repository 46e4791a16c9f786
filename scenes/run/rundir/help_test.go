package rundir_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loadTown loads the project in which a scene does everything that it can.
func loadTown(t testing.TB) *project.Project {
	t.Helper()
	p, err := runner.LoadFS(scenestest.TownFS(), "town", true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run starts and waits.
func run(t testing.TB, p *project.Project, opt runner.Options) *rundir.Summary {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = filepath.Join(t.TempDir(), "run")
	}
	r, err := runner.Start(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	return wait(t, r)
}

func wait(t testing.TB, r *runner.Runner) *rundir.Summary {
	t.Helper()
	s, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
