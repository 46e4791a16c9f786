package tavernsim

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors lists the packages by their first folder. A package imports lower floors
// and its own; packages of floor 2 import no other folder of it but internal.
func floors() map[string]int {
	return map[string]int{
		"protocol":    0,
		"tam":         1,
		"engine":      1,
		"actors":      2,
		"persistence": 2,
		"llm":         2,
		"tools":       2,
		"scenes":      3,
		"api":         4,
		"cluster":     4,
		"cmd":         5,
	}
}

// Packages below internal serve one floor each: what may import them.
func internals() map[string]int {
	return map[string]int{
		"internal/doctest":           5,
		"internal/lenient":           1,
		"internal/wirejson":          1,
		"internal/source":            1,
		"internal/noswitch":          1,
		"internal/until":             2,
		"internal/schema":            3,
		"internal/metrics":           3,
		"internal/metrics/prompts":   3,
		"internal/metrics/disk":      3,
		"internal/metrics/scrape":    3,
		"internal/newfile":           3,
		"internal/memory":            4,
		"internal/terminal":          4,
		"internal/flagvalue":         4,
		"internal/progress":          5,
		"internal/show":              5,
		"internal/bench":             5,
		"internal/bench/town":        5,
		"internal/bench/town/played": 5,
		"internal/teststeps":         5,
	}
}

// forbidden names what floors 0 and 1 never see: they decide, and a decision
// depends on its input alone.
func forbidden() []string {
	return []string{"os", "net", "sync", "log", "log/slog", "math/rand", "math/rand/v2", "runtime", "syscall", "os/exec", "unsafe"}
}

// allowed are the exceptions, with the reason.
func allowed() map[string]string {
	return map[string]string{
		"protocol sync": "the codec pools its buffers; nothing that can be observed depends on the pool",
	}
}

type file struct {
	pkg     string // folder, with slashes
	path    string
	imports []string
	tree    *ast.File
}

func TestFloors(t *testing.T) {
	for _, f := range files(t) {
		if problem := check(f); problem != "" {
			t.Error(problem)
		}
	}
}

func check(f file) string {
	own, known := floorOf(f.pkg)
	if !known {
		return fmt.Sprintf("%s: folder %s has no floor; give it one in layers_test.go and ARCHITECTURE.md", f.path, f.pkg)
	}
	for _, imp := range f.imports {
		if inner, ok := strings.CutPrefix(imp, "tavernsim/"); ok {
			if problem := crossing(f.pkg, own, inner); problem != "" {
				return f.path + ": " + problem
			}
			continue
		}
		if own <= 1 && slices.Contains(forbidden(), imp) && allowed()[f.pkg+" "+imp] == "" {
			return fmt.Sprintf("%s: floor %d is pure and never imports %q", f.path, own, imp)
		}
		if imp == "os/exec" && !within(f.pkg, "tools", "cmd") && f.pkg != "scenes/scenestest" {
			return fmt.Sprintf("%s: tools alone start programs; cmd/simd and tests start themselves", f.path)
		}
		if strings.HasPrefix(imp, "github.com/asynkron/protoactor-go") && !within(f.pkg, "actors", "cluster") && f.pkg != "internal/bench" {
			return fmt.Sprintf("%s: Proto.Actor is known to actors alone, and to the benchmarks that measure its limits", f.path)
		}
		if strings.HasPrefix(imp, "github.com/modelcontextprotocol/") && !within(f.pkg, "tools") {
			return fmt.Sprintf("%s: the Model Context Protocol is known to tools alone", f.path)
		}
		if strings.HasPrefix(imp, "github.com/cockroachdb/pebble") && !within(f.pkg, "persistence") && f.pkg != "internal/bench" {
			return fmt.Sprintf("%s: Pebble is known to persistence alone, and to the benchmarks that measure its limits", f.path)
		}
	}
	if own <= 1 {
		return impure(f)
	}
	return ""
}

func crossing(from string, own int, to string) string {
	floor, known := floorOf(to)
	switch {
	case !known:
		return fmt.Sprintf("imports %s, which has no floor", to)
	case floor > own:
		return fmt.Sprintf("floor %d (%s) imports floor %d (%s): imports go down only", own, from, floor, to)
	case floor == own && floor == 2 && first(from) != first(to) && first(to) != "internal":
		return fmt.Sprintf("%s imports %s: packages of floor 2 never import each other; name the two methods you need and let scenes join them", from, to)
	}
	return ""
}

// impure finds what a pure floor may not do without importing anything
// suspicious: ask the clock, start a goroutine.
func impure(f file) (problem string) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.GoStmt:
			problem = f.path + ": floors 0 and 1 start no goroutine"
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && id.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker"}, x.Sel.Name) {
				problem = f.path + ": floors 0 and 1 never ask the clock; time arrives in the input"
			}
		}
		return problem == ""
	})
	return problem
}

func floorOf(pkg string) (int, bool) {
	if pkg == "." {
		return 5, true
	}
	if floor, ok := internals()[pkg]; ok {
		return floor, true
	}
	floor, ok := floors()[first(pkg)]
	return floor, ok
}

func first(pkg string) string { return strings.SplitN(pkg, "/", 2)[0] }

func within(pkg string, folders ...string) bool { return slices.Contains(folders, first(pkg)) }

// files parses every Go file of the module that is not a test: tests may look
// at whatever they need to prove.
func files(t *testing.T) []file {
	t.Helper()
	var out []file
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || nested(p)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		f, err := parse(filepath.ToSlash(p))
		out = append(out, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("found %d files; the walk is broken", len(out))
	}
	return out
}

// nested reports whether a folder is a module of its own.
func nested(p string) bool {
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	return err == nil
}

func parse(p string) (file, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	f := file{pkg: path.Dir(p), path: p, tree: tree}
	for _, imp := range tree.Imports {
		name, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, name)
	}
	return f, nil
}

// TestViewsRunNothing: what looks at a run does not carry the engine that runs
// one, whichever way an import takes.
func TestViewsRunNothing(t *testing.T) {
	running := []string{"tavernsim/scenes", "tavernsim/scenes/run/runner", "tavernsim/actors", "tavernsim/llm/scripted", "github.com/asynkron/protoactor-go/actor"}
	views, err := filepath.Glob("scenes/view/*")
	if err != nil || len(views) < 5 {
		t.Fatal(views, err)
	}
	args := []string{"list", "-f", `{{.ImportPath}} {{join .Deps " "}}`}
	for _, view := range append(views, "scenes/run/rundir", "scenes/history") {
		args = append(args, "./"+filepath.ToSlash(view))
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		view, deps, _ := strings.Cut(line, " ")
		for dep := range strings.FieldsSeq(deps) {
			if slices.Contains(running, dep) {
				t.Errorf("%s imports %s, directly or not: it reads a run and runs none", view, dep)
			}
		}
	}
}

// The fence itself is proved: each way to break a floor is seen.
func TestFloorsSeeWhatIsBroken(t *testing.T) {
	for name, c := range map[string]struct{ pkg, src, want string }{
		"upwards":         {"engine/world", `import _ "tavernsim/actors"`, "imports go down only"},
		"sideways":        {"llm", `import _ "tavernsim/persistence"`, "never import each other"},
		"clock":           {"engine/world", "import \"time\"\nvar x = time.Now", "never ask the clock"},
		"goroutine":       {"tam", "func f() { go f() }", "start no goroutine"},
		"files":           {"engine/world", `import _ "os"`, "never imports"},
		"proto.actor":     {"scenes", `import _ "github.com/asynkron/protoactor-go/actor"`, "known to actors alone"},
		"a program":       {"scenes", `import _ "os/exec"`, "tools alone start programs"},
		"an MCP library":  {"scenes", `import _ "github.com/modelcontextprotocol/go-sdk/mcp"`, "known to tools alone"},
		"pebble":          {"scenes", `import _ "github.com/cockroachdb/pebble/v2"`, "known to persistence alone"},
		"a new folder":    {"wonders", "", "has no floor"},
		"nothing at all":  {"scenes", `import _ "tavernsim/engine/world"`, ""},
		"for all":         {"tools", `import _ "tavernsim/internal/until"`, ""},
		"from within":     {"internal/until", `import _ "tavernsim/llm"`, "never import each other"},
		"its own subtree": {"llm/scripted", `import _ "tavernsim/llm"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+c.src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			f := file{pkg: c.pkg, path: c.pkg + "/x.go", tree: tree}
			for _, imp := range tree.Imports {
				p, _ := strconv.Unquote(imp.Path.Value)
				f.imports = append(f.imports, p)
			}
			got := check(f)
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want something with %q", got, c.want)
			}
		})
	}
}
