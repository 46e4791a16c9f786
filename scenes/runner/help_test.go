package runner

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/project"
	"tavernsim/scenes/scenestest"
)

// townFS is the project of the scene tests: everything that a scene can do.
func townFS() (fs.FS, error) {
	var archives []*txtar.Archive
	for _, name := range []string{"base.txtar", "town.txtar"} {
		a, err := txtar.ParseFile(filepath.Join("..", "testdata", name))
		if err != nil {
			return nil, err
		}
		archives = append(archives, a)
	}
	return scenestest.Files(archives...), nil
}

func loadTown(t testing.TB) *project.Project {
	t.Helper()
	fsys, err := townFS()
	if err != nil {
		t.Fatal(err)
	}
	p, err := LoadFS(fsys, "town", true)
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
