package project

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/engine/workflow"
	"tavernsim/engine/workflow/nodes"
	"tavernsim/internal/doctest"
	"tavernsim/internal/source"
	"tavernsim/llm/scripted"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Promise 1: all faults at once, in their order. Each archive is a project; its last file, want, lists faults and warnings.
// go test ./scenes/load/project -run TestFaults -update rewrites it.
func TestFaults(t *testing.T) {
	doctest.Archives(t, "testdata/faults/*.txtar", "want", *update, faultText)
}

// What older programs let pass is refused in a project, and a warning in the files of a run that they began.
func TestNewFaultsOfRuns(t *testing.T) {
	for _, name := range []string{"begins", "hosts", "silent"} {
		a, err := txtar.ParseFile("testdata/faults/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		opt := faultOptions(a)
		opt.Begun = true
		fsys, err := txtar.FS(a)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Load(fsys, opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var warned strings.Builder
		for _, w := range p.Warnings {
			fmt.Fprintln(&warned, w)
		}
		for line := range strings.Lines(string(a.Files[len(a.Files)-1].Data)) {
			if !strings.Contains(warned.String(), strings.TrimPrefix(line, "warning: ")) {
				t.Errorf("%s: no warning %s", name, line)
			}
		}
		for _, w := range p.workflows.byID {
			if w.Plan == nil {
				t.Errorf("%s: %s has no plan", name, w.ID)
			}
		}
		for _, id := range p.SceneIDs() {
			if s, _ := p.Scene(id); s.Definition.Script != nil && s.Script == nil {
				t.Errorf("%s: the scene %s has no script", name, id)
			}
		}
	}
}

// faultText loads an archive.
func faultText(t *testing.T, a *txtar.Archive, _ string) string {
	opt := faultOptions(a)
	fsys, err := txtar.FS(a)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	p, err := Load(fsys, opt)
	if err != nil {
		fmt.Fprintln(&b, err)
		return b.String()
	}
	for _, w := range p.Warnings {
		fmt.Fprintln(&b, "warning:", w)
	}
	return b.String()
}

// faultOptions reads the comment of an archive: a line "tools: A B" names the known tools.
func faultOptions(a *txtar.Archive) Options {
	opt := Options{Kinds: nodes.Standard(nodes.Options{}), Model: func(file string, data []byte, report *source.Report) bool {
		return scripted.Read(file, data, report) != nil
	}}
	for line := range strings.Lines(string(a.Comment)) {
		if tools, ok := strings.CutPrefix(line, "tools:"); ok {
			opt.Tools = strings.Fields(tools)
		}
	}
	return opt
}

// testKinds are the node kinds of the tests: only the engine's own.
func testKinds() workflow.Kinds { return nil }

// Promise 1: no project makes Load panic, and every fault names a file and says something.
func FuzzLoad(f *testing.F) {
	files, _ := filepath.Glob("testdata/faults/*.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fsys, err := txtar.FS(txtar.Parse(text))
		if err != nil {
			return
		}
		p, err := Load(fsys, Options{Limits: Limits{File: source.Limits{MaxBytes: 64 << 10, MaxNodes: 5000}}})
		if err == nil {
			for _, id := range p.SceneIDs() {
				s, _ := p.Scene(id)
				if a, err := s.Agents(0); err == nil && a.Len() > 0 {
					a.At(a.Len() - 1)
				}
			}
			return
		}
		var faults *Error
		if !errors.As(err, &faults) {
			return
		}
		for _, fault := range faults.Faults {
			if fault.File == "" || fault.Message == "" {
				t.Fatalf("%+v", fault)
			}
		}
	})
}
