package scenestest

import (
	_ "embed"
	"io/fs"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/project"
)

//go:embed projects/base.txtar
var base []byte

//go:embed projects/town.txtar
var town []byte

// Base is what the projects of tests are laid over: profiles and workflows.
func Base() *txtar.Archive { return txtar.Parse(base) }

// TownFS is a project in which a scene does everything that it can.
func TownFS() fs.FS { return Files(Base(), txtar.Parse(town)) }

// Town is that project, loaded.
func Town(t testing.TB) *project.Project {
	t.Helper()
	p, err := Load(TownFS(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
