package scenestest

import (
	_ "embed"
	"io/fs"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/load/project"
)

//go:embed projects/base.txtar
var base []byte

//go:embed projects/town.txtar
var town []byte

// Base is what the projects of tests are laid over: profiles and workflows.
func Base() *txtar.Archive { return txtar.Parse(base) }

// TownArchive is the town as it is laid over Base.
func TownArchive() *txtar.Archive { return txtar.Parse(town) }

// TownFS is a project in which a scene does everything that it can, with texts of
// txtar laid over it.
func TownFS(over ...string) fs.FS {
	archives := []*txtar.Archive{Base(), TownArchive()}
	for _, text := range over {
		archives = append(archives, txtar.Parse([]byte(text)))
	}
	return Files(archives...)
}

// Town is that project, loaded.
func Town(t testing.TB, over ...string) *project.Project {
	t.Helper()
	p, err := Load(TownFS(over...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
