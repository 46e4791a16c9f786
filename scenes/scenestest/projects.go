package scenestest

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/load/project"
	"tavernsim/tools"
)

//go:embed projects/base.txtar
var base []byte

//go:embed projects/town.txtar
var town []byte

//go:embed projects/painters.txtar
var painters []byte

// Painters is a project whose agent calls [Painting] each turn: runner.Options.Services
// has it as "painter". Texts of txtar are laid over it.
func Painters(t testing.TB, over ...string) *project.Project {
	t.Helper()
	archives := []*txtar.Archive{txtar.Parse(painters)}
	for _, text := range over {
		archives = append(archives, txtar.Parse([]byte(text)))
	}
	p, err := Load(Files(archives...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Painting answers with a picture and a text that is too long to be shown.
func Painting(_ context.Context, c *tools.Call) tools.Result {
	r := tools.Output(strings.Repeat(fmt.Sprintf("stroke %v, ", c.Params["turn"]), 4000))
	r.Attach("picture", "image/png", fmt.Appendf(nil, "picture %v", c.Params["turn"]))
	return r
}

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
