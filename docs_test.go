package tavernsim

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"tavernsim/engine/agent"
	"tavernsim/internal/bench"
	"tavernsim/internal/bench/town"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/view/artifacts"
	"tavernsim/scenes/view/chart"
	"tavernsim/scenes/view/compare"
	"tavernsim/scenes/view/deadletters"
	"tavernsim/scenes/view/inspect"
	"tavernsim/scenes/view/learnt"
	"tavernsim/scenes/view/memories"
	"tavernsim/scenes/view/plot"
	"tavernsim/scenes/view/trips"
	"tavernsim/scenes/view/verify"
)

// Documents are held to the code here, where a page spans packages. Pages of one
// package are held by the tests of that package.

// TestLinks: every relative link of every page leads to a file, and to a heading
// where it names one.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(prose(read(t, page)), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			file := page
			if target != "" {
				file = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s: %s has no heading for the link %s", page, file, m[1])
			}
		}
	}
}

// TestDecisions: the list of decisions has a row for each page, with its heading, in the order of their numbers, and
// nothing else.
func TestDecisions(t *testing.T) {
	const list = "docs/decisions/README.md"
	head, table, _ := strings.Cut(read(t, list), "\n|---|---|\n")
	files, err := filepath.Glob("docs/decisions/[0-9]*.md")
	if err != nil || len(files) < 100 || head == "" {
		t.Fatalf("found %d decisions: %v", len(files), err)
	}
	var rows strings.Builder
	for _, file := range files { // sorted
		heading, _, _ := strings.Cut(read(t, file), "\n")
		number, title, ok := strings.Cut(strings.TrimPrefix(heading, "# "), ". ")
		if !ok || !strings.HasPrefix(strings.TrimLeft(filepath.Base(file), "0"), number+"-") {
			t.Errorf("%s: the heading is %q; want \"# NUMBER. TITLE\" with the number of the file", file, heading)
		}
		fmt.Fprintf(&rows, "| %s | [%s](%s) |\n", number, title, filepath.Base(file))
	}
	want := strings.Split(rows.String(), "\n")
	for i, row := range strings.Split(table, "\n") {
		if i >= len(want) || row != want[i] {
			t.Fatalf("%s: row %d is\n%s\nwant\n%s", list, i+1, row, strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
		}
	}
}

// TestNamesInTheArchitecture: what the architecture page calls a function of a
// file is one, what it calls a name of a package is one, and what it calls a test is one.
func TestNamesInTheArchitecture(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	place := regexp.MustCompile("`((?:[\\w-]+/)+[\\w-]+\\.go)`(?:: ((?:`\\w+`(?:, | and )?)+))?")
	found := 0
	for _, m := range place.FindAllStringSubmatch(text, -1) {
		declared := declarations(t, m[1])
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(m[2], -1) {
			found++
			if !declared[name] {
				t.Errorf("ARCHITECTURE.md: %s declares no %s", m[1], name)
			}
		}
	}
	exported := map[string]bool{} // "package.Name"
	for _, f := range files(t) {
		for name := range declarations(t, f.path) {
			exported[path.Base(f.pkg)+"."+name] = true
		}
	}
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		for _, name := range regexp.MustCompile("`([a-z]+\\.[A-Z]\\w*)`").FindAllStringSubmatch(read(t, page), -1) {
			found++
			if !exported[name[1]] {
				t.Errorf("%s: there is no %s", page, name[1])
			}
		}
	}
	if found < 40 {
		t.Errorf("found %d names; the pattern is broken", found)
	}
	tests := testNames(t)
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(text+read(t, "CONTRIBUTING.md"), -1) {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
}

// TestPackagesInTheArchitecture: the table of packages lists every package once, but
// for those that the text below it names, and nothing else. A package below a folder
// internal is a part of the one that holds the folder.
func TestPackagesInTheArchitecture(t *testing.T) {
	_, floors, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "\n## Floors\n")
	floors, _, _ = strings.Cut(floors, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\| \d \| ([^|]*) \|`).FindAllStringSubmatch(floors, -1) {
		folder := ""
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			pkg := strings.Replace(name[1], "…", folder, 1)
			if pkg == name[1] {
				folder = pkg
			}
			listed = append(listed, pkg)
		}
	}
	_, text, _ := strings.Cut(floors, "Floors 0 and 1 never import")
	packages := map[string]bool{".": true} // the tests of the repository
	for _, f := range files(t) {
		if packages[f.pkg] || strings.Contains(f.pkg, "/internal/") {
			continue
		}
		packages[f.pkg] = true
		if !slices.Contains(listed, f.pkg) && !strings.Contains(text, "`"+f.pkg+"`") {
			t.Errorf("ARCHITECTURE.md: the table of packages lacks %s", f.pkg)
		}
	}
	for i, pkg := range listed {
		if !packages[pkg] || slices.Contains(listed[:i], pkg) {
			t.Errorf("ARCHITECTURE.md: the table of packages lists %s, which is no package or stands there twice", pkg)
		}
	}
}

// TestFactsPage: docs/formats/facts.md lists exactly the kinds of facts that the
// machines define, each with its fields in their order.
func TestFactsPage(t *testing.T) {
	const page = "docs/formats/facts.md"
	want, got := factsInCode(t), map[string][]string{}
	for heading, section := range sections(read(t, page), "### ") {
		got[strings.Trim(heading, "`")] = firstColumn(section)
	}
	for _, kind := range slices.Sorted(maps.Keys(want)) {
		fields, listed := got[kind]
		switch {
		case !listed:
			t.Errorf("%s lacks the fact %s with the fields %v", page, kind, want[kind])
		case !slices.Equal(fields, want[kind]):
			t.Errorf("%s: %s has the fields\n%v, the code has\n%v", page, kind, fields, want[kind])
		}
	}
	for kind := range got {
		if want[kind] == nil {
			t.Errorf("%s lists %s, which the code does not know", page, kind)
		}
	}
	order := ": `"
	for i, service := range machines.Services() {
		if i > 0 {
			order += "`, `"
		}
		order += service.Actor
		for _, page := range []string{page, "ARCHITECTURE.md"} {
			if !strings.Contains(read(t, page), "`"+service.Actor+"`") {
				t.Errorf("%s does not name the actor %s, which owns the state of the service %s", page, service.Actor, service.Name)
			}
		}
	}
	if order += "`. "; !strings.Contains(read(t, page), order) {
		t.Errorf("%s: the sentence about actors names the services otherwise than in the order of their decisions%s", page, order)
	}
}

// TestDeliberationPage: inputs, tools and parameters are those of the code.
func TestDeliberationPage(t *testing.T) {
	const page = "docs/formats/deliberation.md"
	parts := sections(read(t, page), "## ")
	if got := firstColumn(parts["What the workflow is given"]); !slices.Equal(got, agent.CoreInputs()) {
		t.Errorf("%s: the inputs are %v, the code has %v", page, got, agent.CoreInputs())
	}
	rows := strings.Split(parts["Tools"], "\n")
	if got := firstColumn(parts["Tools"]); !slices.Equal(got, agent.ProfileTools()) {
		t.Errorf("%s: the tools are %v, the code has %v", page, got, agent.ProfileTools())
	}
	for _, tool := range agent.ToolSpecs() {
		i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "| `"+tool.Name+"`") })
		documented := parts["The scene's own workflows"] // of tools that no profile may have
		if i >= 0 {
			documented = strings.Split(rows[i], " | ")[1]
		} else if !strings.Contains(documented, "`"+tool.Name+"`") {
			t.Errorf("%s lacks the tool %s", page, tool.Name)
		}
		schema := tool.Parameters.(map[string]any)
		required := schema["required"].([]any)
		for name := range schema["properties"].(map[string]any) {
			mark := "`" + name + "`"
			if slices.Contains(required, any(name)) {
				mark = "**" + mark + "**"
			}
			if !strings.Contains(documented, mark) {
				t.Errorf("%s: %s lacks the parameter %s", page, tool.Name, mark)
			}
		}
	}
}

// TestRunPages: every field of what the program writes as JSON is on its page,
// and nothing else.
func TestRunPages(t *testing.T) {
	listed := map[string]bool{"inspect.OrderLine": true} // written as a file of orders, which has a page of its own
	for page, types := range map[string][]reflect.Type{
		"docs/formats/run-directory.md": {reflect.TypeFor[rundir.Manifest](), reflect.TypeFor[rundir.Grants](), reflect.TypeFor[rundir.Edition](), reflect.TypeFor[rundir.Forked]()},
		"docs/formats/inspect.md": {
			reflect.TypeFor[inspect.Summary](), reflect.TypeFor[inspect.Work](), reflect.TypeFor[inspect.Refusals](), reflect.TypeFor[inspect.Problem](),
			reflect.TypeFor[inspect.Bucket](), reflect.TypeFor[history.ModelUse](), reflect.TypeFor[inspect.Count](), reflect.TypeFor[inspect.AgentLine](), reflect.TypeFor[inspect.BudgetLine](), reflect.TypeFor[inspect.Left](), reflect.TypeFor[inspect.AgentView](),
			reflect.TypeFor[inspect.Inboxed](), reflect.TypeFor[inspect.Driven](), reflect.TypeFor[memories.View](), reflect.TypeFor[memories.Remembered](), reflect.TypeFor[memories.LastReflection](), reflect.TypeFor[inspect.Spoken](), reflect.TypeFor[inspect.Subscribed](), reflect.TypeFor[inspect.TurnSummary](),
			reflect.TypeFor[inspect.WorldView](), reflect.TypeFor[inspect.WorldDiff](), reflect.TypeFor[inspect.WorldPoint](), reflect.TypeFor[inspect.Difference](),
			reflect.TypeFor[inspect.EventLine](), reflect.TypeFor[inspect.Marked](), reflect.TypeFor[inspect.FactLine](), reflect.TypeFor[inspect.Deliberation](),
			reflect.TypeFor[inspect.Perceived](), reflect.TypeFor[verify.Activated](), reflect.TypeFor[inspect.Asked](), reflect.TypeFor[inspect.Against](), reflect.TypeFor[inspect.Question](), reflect.TypeFor[inspect.Message](), reflect.TypeFor[inspect.Offered](), reflect.TypeFor[inspect.Called](), reflect.TypeFor[inspect.Effect](),
			reflect.TypeFor[inspect.CriticalPath](), reflect.TypeFor[rundir.CriticalPath](), reflect.TypeFor[inspect.Timing](), reflect.TypeFor[inspect.Change](), reflect.TypeFor[learnt.Suggestion](), reflect.TypeFor[chart.View](), reflect.TypeFor[chart.Place](), reflect.TypeFor[chart.Exit](), reflect.TypeFor[chart.Agent](), reflect.TypeFor[plot.View](), reflect.TypeFor[plot.Collection](), reflect.TypeFor[plot.Step](), reflect.TypeFor[trips.Trip](), reflect.TypeFor[artifacts.Line](), reflect.TypeFor[artifacts.Change](), reflect.TypeFor[deadletters.Letter](), reflect.TypeFor[inspect.LetterGroup](),
			reflect.TypeFor[inspect.Redelivery](), reflect.TypeFor[inspect.Trace](), reflect.TypeFor[inspect.TraceEvent](), reflect.TypeFor[inspect.Reaction](),
			reflect.TypeFor[inspect.TraceCall](), reflect.TypeFor[compare.Comparison](), reflect.TypeFor[compare.Side](), reflect.TypeFor[compare.InputDiff](),
			reflect.TypeFor[compare.Divergence](), reflect.TypeFor[compare.AgentDiff](),
		},
		"docs/formats/bench.md": {reflect.TypeFor[bench.Deliberation](), reflect.TypeFor[bench.HTTP](), reflect.TypeFor[bench.Serial](), reflect.TypeFor[bench.Forecast](), reflect.TypeFor[bench.Limits](), reflect.TypeFor[bench.Asleep](), reflect.TypeFor[bench.Workload](), reflect.TypeFor[town.Comparison](), reflect.TypeFor[town.Result](), reflect.TypeFor[town.Played]()},
		"docs/formats/summary.md": {
			reflect.TypeFor[rundir.Summary](), reflect.TypeFor[rundir.SceneSummary](), reflect.TypeFor[rundir.EventCounts](),
			reflect.TypeFor[rundir.WorldCounts](), reflect.TypeFor[rundir.ModelCounts](), reflect.TypeFor[rundir.Journal](),
		},
		"docs/formats/replay.md": {
			reflect.TypeFor[rundir.Replayed](), reflect.TypeFor[rundir.ReplayedScene](), reflect.TypeFor[verify.Report](),
			reflect.TypeFor[verify.Difference](), reflect.TypeFor[verify.Side](),
		},
	} {
		for _, typ := range types {
			listed[typ.String()] = true
		}
		want := map[string]bool{}
		for _, typ := range types {
			for name := range jsonFields(typ) {
				want[name] = true
			}
		}
		text := read(t, page)
		for _, heading := range []string{"## manifest.json", "## simd replay --json"} {
			if i := strings.Index(text, heading); i >= 0 {
				text = text[i:]
			}
		}
		got := firstColumn(text)
		for name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%s lacks the field %s", page, name)
			}
		}
		for _, name := range got {
			if !want[name] {
				t.Errorf("%s lists %s, which the code does not write", page, name)
			}
		}
	}
	for _, f := range files(t) {
		if f.pkg == "internal/show" {
			for _, name := range shownOfViews(f) {
				if !listed[name] {
					t.Errorf("%s: a list of %s is also written as JSON, and is on no page: give its fields json tags and a table, and its type to TestRunPages", f.path, name)
				}
			}
		}
		if strings.HasPrefix(f.pkg, "scenes/view/") {
			for _, name := range writtenAsJSON(f) {
				if !listed[name] {
					t.Errorf("%s: %s has json tags and is on no page: give it a table, and its type to TestRunPages", f.path, name)
				}
			}
		}
	}
}

// writtenAsJSON names the exported structs of a file whose fields have json tags.
func writtenAsJSON(f file) (names []string) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		typ, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := typ.Type.(*ast.StructType)
		if ok && typ.Name.IsExported() && slices.ContainsFunc(fields.Fields.List, func(x *ast.Field) bool { return x.Tag != nil && strings.Contains(x.Tag.Value, `json:"`) }) {
			names = append(names, path.Base(f.pkg)+"."+typ.Name.Name)
		}
		return true
	})
	return names
}

// pages lists every markdown page of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(p, ".md") {
			list = append(list, filepath.ToSlash(p))
		}
		return err
	})
	if err != nil || len(list) < 10 {
		t.Fatalf("found %d pages: %v", len(list), err)
	}
	return list
}

// prose is a page without its code.
func prose(text string) string {
	text = regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllStringFunc(text, func(code string) string {
		return strings.NewReplacer("(", "", ")", "", "[", "", "]", "").Replace(code)
	})
}

// anchors are the names of a page's headings, as the usual renderers make them.
func anchors(text string) []string {
	var list []string
	seen := map[string]int{}
	for line := range strings.SplitSeq(regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, ""), "\n") {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))
		if n := seen[name]; n > 0 {
			list = append(list, name+"-"+strconv.Itoa(n))
		} else {
			list = append(list, name)
		}
		seen[name]++
	}
	return list
}

// sections cuts a page at its headings of one level.
func sections(text, level string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n"+level)[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		if i := strings.Index(body, "\n"+level[1:]); i >= 0 {
			body = body[:i]
		}
		out[heading] = body
	}
	return out
}

// firstCells are the first cells of the rows of all tables.
func firstCells(text string) []string {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(line, "| ") {
			list = append(list, cell)
		}
	}
	return list
}

// firstColumn are the names in code marks of the first cells.
func firstColumn(text string) []string {
	list := []string{}
	for _, cell := range firstCells(text) {
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cell, -1) {
			list = append(list, m[1])
		}
	}
	return list
}

// factsInCode finds the kinds of facts in the source, and their fields in the
// catalogue that their packages give.
func factsInCode(t *testing.T) map[string][]string {
	t.Helper()
	facts, codec := map[string][]string{}, machines.NewCodec()
	for pkg, files := range engineFiles(t) {
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if x, ok := n.(*ast.FuncDecl); ok && x.Name.Name == "FactKind" && x.Recv != nil {
					name := receiver(x)
					i := slices.IndexFunc(codec.FactKinds(), func(kind string) bool {
						typ := codec.FactType(kind).Type
						return typ.Name() == name && strings.TrimPrefix(typ.PkgPath(), "tavernsim/") == pkg
					})
					if i < 0 {
						t.Errorf("%s: the fact %s is not among its Facts(), or no row of machines.Services() names them", pkg, name)
						return true
					}
					kind := codec.FactKinds()[i]
					facts[kind] = protocol.FieldNames(codec.FactType(kind).Type)
				}
				return true
			})
		}
	}
	if len(facts) < 20 {
		t.Fatalf("found %d facts; the search is broken", len(facts))
	}
	return facts
}

func receiver(f *ast.FuncDecl) string {
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	return typ.(*ast.Ident).Name
}

func engineFiles(t *testing.T) map[string][]*ast.File {
	t.Helper()
	out := map[string][]*ast.File{}
	for _, f := range files(t) {
		if first(f.pkg) == "engine" {
			out[f.pkg] = append(out[f.pkg], f.tree)
		}
	}
	return out
}

func declarations(t *testing.T, file string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return names
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			names[x.Name.Name] = true
		case *ast.TypeSpec:
			names[x.Name.Name] = true
		}
		return true
	})
	return names
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(read(t, p), -1) {
				names[m[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func jsonFields(typ reflect.Type) map[string]bool {
	names := map[string]bool{}
	for f := range typ.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names[name] = true
		}
	}
	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
