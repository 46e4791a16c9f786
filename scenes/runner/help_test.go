package runner

import (
	"os"
	"path/filepath"
	"testing"

	"tavernsim/scenes/project"
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
func run(t testing.TB, p *project.Project, opt Options) *Summary {
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

func wait(t testing.TB, r *Runner) *Summary {
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
