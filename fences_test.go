package tavernsim

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// innerFloors are the floors within scenes and within engine: a package there
// imports lower ones of its first folder only, so that no view carries what runs
// a scene, and no machine knows the agent that uses it.
func innerFloors() map[string]int {
	return map[string]int{
		"engine/budget": 0, "engine/cast": 0, "engine/expr": 0, "engine/template": 0, "engine/world": 0, "engine/world/lease": 1, "engine/secret": 0, "engine/glob": -1, "engine/collab": -1, "engine/collab/kinds": 2, "engine/permit": 0,
		"engine/bus/delivery": 0, "engine/bus/ordinals": 0, "engine/bus/throttle": 0,
		"engine/bus/paths": 1, "engine/stub": 1, "engine/secret/mask": 1, "engine/knowledge/words": 0, "engine/knowledge/score": 0, "engine/knowledge/bound": 1, "engine/knowledge/vector": 0, "engine/knowledge/choose": 0, "engine/knowledge/fields": 0, "engine/knowledge/criteria": 1, "engine/knowledge": 2, "engine/knowledge/collection": 3, "engine/knowledge/refs": 3, "engine/knowledge/worldinfo": 3, "engine/prompt": 1, "engine/workflow": 1, "engine/statecmd/command": 1, "engine/agent/tool": 1, "engine/agent/direct": 2, "engine/statecmd/ledger": 1,
		"engine/bus": 2, "engine/statecmd": 2, "engine/workflow/nodes": 2, "engine/workflow/standard": 2, "engine/agent/menu": 2, "engine/agent/talk": 2, "engine/agent/block": 2, "engine/agent/repeat": 2, "engine/agent/outbox": 3, "engine/agent/hook": 1, "engine/agent/person": 3, "engine/agent/listen": 4, "engine/agent/publish": 4,
		"engine/schedule": 1, "engine/schedule/chain": 2, "engine/goal": 1, "engine/script/plot": 2, "engine/script/value": 1, "engine/script": 3, "engine/script/turns": 1, "engine/script/gates": 6, "engine/tooltask": 2, "engine/agent/profile": 3, "engine/worldstate": 3, "engine/statecmd/script": 3, "engine/agent/private": 3, "engine/agent/effect": 3,
		"engine/agent/agentfact": 4, "engine/agent/worldview": 4, "engine/agent/selfstate": 5, "engine/agent/held": 5, "engine/agent/record": 5, "engine/agent/learn": 5, "engine/agent/pace": 5, "engine/agenda/calendar": -1, "engine/agenda/pause": -1, "engine/agent/lore": 5, "engine/agent/memory": 5,
		"engine/agent": 7, "engine/agent/motive": 6, "engine/agenda": 5, "engine/order": 6, "engine/control": 1, "engine/panel": 1,
		"engine/bus/team": 1, "engine/bus/naming": 0, "engine/bus/filter": 1, "engine/bus/eventtype": -2, "engine/agent/assign": 3,
		"engine/travel": 0, "engine/space/ground": -1, "engine/treap": -1, "engine/space": 0, "engine/agent/whereabouts": 2,

		"scenes/load/contexts": -1, "scenes/load/stand": -1, "scenes/load/kb": -1, "scenes/load/minds": -1, "scenes/run/rundir/parts": -2, "scenes/run/answerstore": 0, "scenes/run/orders": -1, "scenes/run/interact": -1,
		"scenes/outside": 0, "scenes/load/project": 0, "scenes/load/numbered": -2,
		"scenes/load/setup": 1,
		"scenes/machines":   2, "scenes/machines/letters": 1, "scenes/machines/replies": 1, "scenes/machines/inflight": 0, "scenes/machines/tally": 0, "scenes/machines/span": 1, "scenes/machines/packed": 0, "scenes/machines/ordered": 0, "scenes/machines/roster": 1, "scenes/machines/spending": 0, "scenes/glance": -2, "scenes/letterbox": 2, "scenes/series": 0, "scenes/seats": 0, "scenes/timing": 0, "scenes/tooling": 3, "scenes/tooling/trial": 1, "scenes/tooling/hooks": 1, "scenes/tooling/overrides": 1, "scenes/tooling/leaks": 1, "scenes/tooling/needs": 1, "scenes/tooling/progress": 1, "scenes/tooling/forms": 1, "scenes/tooling/own": 2, "scenes/run/granted": 6, "scenes/run/editions": 4, "scenes/load/shelf": 2, "scenes/tooling/render": 1,
		"scenes/shadows": 3, "scenes/shadows/courses": 0, "scenes/shadows/heard": 0, "scenes/shadows/ladder": 0, "scenes/view/memories": 3, "scenes/view/factjson": 3, "scenes/history": 3, "scenes/links": 3, "scenes/load/roads": -1, "scenes/run/room": -1,
		"scenes/receipts": 4, "scenes/asking": 4, "scenes/view/verify": 4, "scenes/view/deadletters": 4, "scenes/run/artifacts": 4,
		"scenes": 5, "scenes/run/rundir": 5,
		"scenes/view/inspect": 6, "scenes/run/recorded": 6,
		"scenes/run/runner": 7, "scenes/run/restarts": 6,
		"scenes/run/estimate": 8, "scenes/run/probe": 8, "scenes/view/follow": 7, "scenes/view/compare": 7, "scenes/view/artifacts": 7, "scenes/run/served": 8, "scenes/run/answer": 8, "scenes/run/operator": 8, "scenes/run/plugins": 8, "scenes/run/interview": 8,
		"scenes/view/export": 8, "scenes/view/audit": 8, "scenes/view/plot": 7, "scenes/view/chart": 7, "scenes/view/trips": 7, "scenes/view/learnt": 7,
		"scenes/scenestest": 8, "scenes/examples": 8,
	}
}

// pure are the packages of higher floors that decide and never ask, as floors 0 and 1.
func pure() []string {
	return []string{"scenes/machines", "scenes/machines/letters", "scenes/machines/replies", "scenes/machines/inflight", "scenes/machines/tally", "scenes/machines/packed", "scenes/machines/ordered", "scenes/machines/roster", "scenes/machines/span", "scenes/machines/spending", "scenes/load/setup", "llm/limit", "llm/price"}
}

func TestInnerFloors(t *testing.T) {
	for _, f := range files(t) {
		if problem := climbs(f); problem != "" {
			t.Error(problem)
		}
		if problem := purity(f); problem != "" {
			t.Error(problem)
		}
	}
}

// climbs finds an import that does not go down within its first folder.
func climbs(f file) string {
	if first(f.pkg) != "scenes" && first(f.pkg) != "engine" {
		return ""
	}
	own, known := innerFloors()[f.pkg]
	if !known {
		return fmt.Sprintf("%s: package %s has no inner floor; give it one in fences_test.go", f.path, f.pkg)
	}
	for _, imp := range f.imports {
		inner, _ := strings.CutPrefix(imp, "tavernsim/")
		if floor, ok := innerFloors()[inner]; ok && first(inner) == first(f.pkg) && floor >= own {
			return fmt.Sprintf("%s: inner floor %d (%s) imports inner floor %d (%s): imports go down only", f.path, own, f.pkg, floor, inner)
		}
	}
	return ""
}

// TestInnerFloorsSee proves the fence.
func TestInnerFloorsSee(t *testing.T) {
	for _, c := range []struct{ pkg, imports, want string }{
		{"engine/bus", "tavernsim/engine/agent", "imports go down only"},
		{"engine/world", "tavernsim/engine/expr", "imports go down only"},
		{"engine/agent", "tavernsim/engine/bus", ""},
		{"engine/wonders", "tavernsim/protocol", "has no inner floor"},
		{"scenes/machines", "tavernsim/scenes/history", "imports go down only"},
		{"scenes/machines", "tavernsim/engine/agent", ""},
		{"actors", "tavernsim/engine/bus/delivery", ""},
	} {
		if got := climbs(file{pkg: c.pkg, path: "x.go", imports: []string{c.imports}}); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: %q, want something with %q", c.pkg, c.imports, got, c.want)
		}
	}
}

// purity finds what a pure package may not have.
func purity(f file) string {
	for _, p := range pure() {
		if f.pkg != p {
			continue
		}
		for _, imp := range f.imports {
			if slices.Contains(forbidden(), imp) {
				return fmt.Sprintf("%s: %s is pure and never imports %q", f.path, p, imp)
			}
		}
		if problem := impure(f); problem != "" {
			return problem
		}
		return concurrent(f)
	}
	return ""
}

// concurrent finds channels, and addresses in text.
func concurrent(f file) (problem string) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			problem = f.path + ": a pure package has no channel"
		case *ast.BasicLit:
			if x.Kind == token.STRING && strings.Contains(x.Value, "%p") {
				problem = f.path + ": a pure package prints no address"
			}
		}
		return problem == ""
	})
	return problem
}

// TestPuritySees proves the fence.
func TestPuritySees(t *testing.T) {
	for src, want := range map[string]string{
		`import _ "os"`:                     "never imports",
		"func f() { go f() }":               "no goroutine",
		"import \"time\"\nvar x = time.Now": "never ask the clock",
		"var c chan int":                    "no channel",
		"func f() { select {} }":            "no channel",
		`var s = "at %p"`:                   "no address",
		`import _ "tavernsim/engine/world"`: "",
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f := file{pkg: "scenes/machines", path: "x.go", tree: tree}
		for _, imp := range tree.Imports {
			f.imports = append(f.imports, strings.Trim(imp.Path.Value, `"`))
		}
		if got := purity(f); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want something with %q", src, got, want)
		}
	}
}

// maxPackage is how many lines of code a package may have, without tests, comments
// and imports.
const maxPackage = 1450

// larger are the packages that have more today. Who makes a package smaller writes the new size here. Who makes one
// larger first looks for what can go or move; if nothing can, the same commit raises the number, and its message says why.
func larger() map[string]int {
	return map[string]int{
		"engine/agent":        4316,
		"engine/bus":          2290,
		"engine/expr":         2280,
		"engine/knowledge":    2973,
		"engine/script":       1457,
		"engine/statecmd":     2715,
		"engine/secret/mask":  2001,
		"engine/template":     1500,
		"engine/workflow":     2905,
		"engine/world":        2609,
		"internal/metrics":    1860,
		"internal/show":       1474,
		"engine/schedule":     1460,
		"llm/endpoint":        1457,
		"llm/models":          1509,
		"persistence":         2155,
		"protocol":            1637,
		"scenes":              2903,
		"scenes/load/project": 4115,
		"scenes/machines":     3864,
		"scenes/outside":      2200,
		"scenes/run/rundir":   1947,
		"scenes/run/runner":   1456,
		"scenes/shadows":      1530,
		"scenes/tooling":      1515,
		"scenes/view/inspect": 3254,
		"scenes/view/verify":  1603,
		"tools/manifest":      1487,
		"tam":                 2460,
		"tam/toolsxml":        2140,
	}
}

func TestPackageSizes(t *testing.T) {
	sizes := map[string]int{}
	for _, f := range files(t) {
		data, err := os.ReadFile(filepath.FromSlash(f.path))
		if err != nil {
			t.Fatal(err)
		}
		sizes[f.pkg] += codeLines(data)
	}
	for pkg, n := range sizes {
		if problem := tooLarge(pkg, n, larger()[pkg]); problem != "" {
			t.Error(problem)
		}
	}
	for pkg := range larger() {
		if sizes[pkg] <= maxPackage {
			t.Errorf("%s has %d lines of code: take it out of larger", pkg, sizes[pkg])
		}
	}
}

// maxFile is how many lines a file may have, of code or of tests.
const maxFile = 500

func TestFileSizes(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		if n := bytes.Count(data, []byte("\n")); n > maxFile {
			t.Errorf("%s has %d lines; at most %d: move what is about something else into a file of its own", path, n, maxFile)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// slack is how much smaller a package may be than its entry before the entry has
// to follow.
const slack = 500

func tooLarge(pkg string, n, entry int) string {
	switch {
	case n > max(maxPackage, entry):
		return fmt.Sprintf("%s has %d lines of code; at most %d: take out what can go, move a part of it into a package of its own, or raise its entry in larger and say why in the commit", pkg, n, max(maxPackage, entry))
	case n > maxPackage && n < entry-slack:
		return fmt.Sprintf("%s has %d lines of code and may have %d: write the new size into larger, in fences_test.go", pkg, n, entry)
	}
	return ""
}

func TestTooLarge(t *testing.T) {
	for _, c := range []struct {
		n, entry int
		bad      bool
	}{{1450, 0, false}, {1451, 0, true}, {2000, 2000, false}, {2001, 2000, true}, {1451, 1952, true}, {1451, 1951, false}, {1400, 2000, false}} {
		if got := tooLarge("p", c.n, c.entry); (got != "") != c.bad {
			t.Errorf("%d of %d: %q", c.n, c.entry, got)
		}
	}
	if n := codeLines([]byte("package p\n\nimport (\n\t\"os\"\n)\n\n// said\nvar s = `a\nb`\n")); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// codeLines counts the lines that hold a token, behind the imports: a file more is not more code.
func codeLines(src []byte) int {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, nil, 0)
	lines, imports := map[int]bool{}, true
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return len(lines)
		case token.FUNC, token.TYPE, token.CONST, token.VAR:
			imports = false
		}
		if imports || tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := file.Line(pos)
		for i := range strings.Count(lit, "\n") + 1 {
			lines[first+i] = true
		}
	}
}
