package tavernsim

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent"
	"tavernsim/internal/bench"
	"tavernsim/internal/bench/town"
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
	functions := map[string]bool{}
	for _, f := range files(t) {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				functions[fn.Name.Name] = true
			}
		}
	}
	for _, name := range regexp.MustCompile("`[.]?(\\w+)\\(…?\\)`").FindAllStringSubmatch(text+read(t, "CONTRIBUTING.md"), -1) {
		if found++; !functions[name[1]] {
			t.Errorf("there is no function %s", name[0])
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
		order += service.Actor()
		for _, page := range []string{page, "ARCHITECTURE.md"} {
			if !strings.Contains(read(t, page), "`"+service.Actor()+"`") {
				t.Errorf("%s does not name the actor %s, which owns the state of the service %s", page, service.Actor(), service.Name)
			}
		}
	}
	if order += "`. "; !strings.Contains(read(t, page), order) {
		t.Errorf("%s: the sentence about actors names the services otherwise than in the order of their decisions%s", page, order)
	}
}

// TestFactsAreSums: the linter asks for a case for each fact where the Fact interface of the package says that
// these are all: a switch without one folds nothing, and no test sees it.
func TestFactsAreSums(t *testing.T) {
	const fact, mark = "\ntype Fact interface {\n", "\n//sumtype:decl"
	found := 0
	for _, f := range files(t) {
		before, _, is := strings.Cut(read(t, f.path), fact)
		if !is || first(f.pkg) != "engine" {
			continue
		}
		if found++; !strings.HasSuffix(before, mark) {
			t.Errorf("%s: write //sumtype:decl as the last line of the comment of Fact, or the linter finds no switch that lacks a case", f.path)
		}
	}
	if found < 9 {
		t.Errorf("found %d packages with facts; the search is broken", found)
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
		t.Errorf("%s: the rows of tools and the table Tools differ, or their order does: the page has\n%v, the code\n%v", page, got, agent.ProfileTools())
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

func holds(all, some []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(all, name) })
}

// TestRunPages: every type has a table, every field of what the program writes as JSON is on its page,
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
		tables := regexp.MustCompile(`(?m)(?:^\|.*\n)+`).FindAllString(text, -1)
		for _, typ := range types {
			fields := slices.Sorted(maps.Keys(jsonFields(typ)))
			if !slices.ContainsFunc(tables, func(table string) bool { return holds(firstColumn(table), fields) }) {
				t.Errorf("%s has no table of %s: no one has all of %q", page, typ, fields)
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
