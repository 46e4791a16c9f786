package tavernsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"tavernsim/bench"
	"tavernsim/engine/agent"
	"tavernsim/scenes/runner"
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

// TestNamesInTheArchitecture: what the architecture page calls a function of a
// file is one, and what it calls a test is one.
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
	if found < 20 {
		t.Errorf("found %d names; the pattern is broken", found)
	}
	tests := testNames(t)
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(text+read(t, "CONTRIBUTING.md"), -1) {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
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
}

// TestDeliberationPage: inputs, tools and parameters are those of the code.
func TestDeliberationPage(t *testing.T) {
	const page = "docs/formats/deliberation.md"
	parts := sections(read(t, page), "## ")
	if got := firstColumn(parts["What the workflow is given"]); !slices.Equal(got, agent.CoreInputs()) {
		t.Errorf("%s: the inputs are %v, the code has %v", page, got, agent.CoreInputs())
	}
	rows := strings.Split(parts["Tools"], "\n")
	if got := firstColumn(parts["Tools"]); !slices.Equal(got, agent.KnownTools()) {
		t.Errorf("%s: the tools are %v, the code has %v", page, got, agent.KnownTools())
	}
	for _, tool := range agent.Catalog() {
		i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "| `"+tool.Name+"`") })
		if i < 0 {
			continue
		}
		schema := tool.Parameters.(map[string]any)
		required := schema["required"].([]any)
		for name := range schema["properties"].(map[string]any) {
			mark := "`" + name + "`"
			if slices.Contains(required, any(name)) {
				mark = "**" + mark + "**"
			}
			if !strings.Contains(strings.Split(rows[i], " | ")[1], mark) {
				t.Errorf("%s: %s lacks the parameter %s", page, tool.Name, mark)
			}
		}
	}
}

// TestRunPages: every field of what the program writes as JSON is on its page,
// and nothing else.
func TestRunPages(t *testing.T) {
	for page, types := range map[string][]reflect.Type{
		"docs/formats/run-directory.md": {reflect.TypeFor[runner.Manifest]()},
		"docs/formats/bench.md":         {reflect.TypeFor[bench.Deliberation](), reflect.TypeFor[bench.Limits]()},
		"docs/formats/summary.md": {
			reflect.TypeFor[runner.Summary](), reflect.TypeFor[runner.SceneSummary](), reflect.TypeFor[runner.EventCounts](),
			reflect.TypeFor[runner.WorldCounts](), reflect.TypeFor[runner.Journal](), reflect.TypeFor[runner.Replayed](), reflect.TypeFor[runner.ReplayedScene](),
		},
	} {
		want := map[string]bool{}
		for _, typ := range types {
			for name := range jsonFields(typ) {
				want[name] = true
			}
		}
		text := read(t, page)
		if i := strings.Index(text, "## manifest.json"); i >= 0 {
			text = text[i:]
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
}

// The pages about the program are compared with the program itself.
func TestProgram(t *testing.T) {
	simd := build(t)
	t.Run("CommandLinePage", func(t *testing.T) { commandLinePage(t, simd) })
	t.Run("Guide", func(t *testing.T) { guide(t, simd) })
	t.Run("README", func(t *testing.T) { readme(t, simd) })
}

// commandLinePage: docs/cli.md has a section for every command with exactly its
// flags.
func commandLinePage(t *testing.T, simd string) {
	const page = "docs/cli.md"
	parts := sections(read(t, page), "## ")
	flag := regexp.MustCompile(`--[a-z][a-z-]*`)
	commands := leaves(t, simd)
	for _, name := range commands {
		section, ok := parts["simd "+name]
		if !ok {
			t.Errorf("%s has no section about simd %s", page, name)
			continue
		}
		help := output(t, simd, append(strings.Fields(name), "--help")...)
		_, flags, _ := strings.Cut(help, "\nFlags:\n")
		known := []string{"--help"}
		for _, line := range strings.Split(flags, "\n") {
			if f := regexp.MustCompile(`^ +(?:-\w, )?(--[a-z-]+)`).FindStringSubmatch(line); f != nil {
				known = append(known, f[1])
			}
		}
		var listed []string
		for _, cell := range firstCells(section) {
			listed = append(listed, flag.FindAllString(cell, -1)...)
		}
		for _, f := range known[1:] {
			if f != "--help" && !slices.Contains(listed, f) {
				t.Errorf("%s: simd %s has the flag %s", page, name, f)
			}
		}
		for _, f := range flag.FindAllString(section, -1) {
			if !slices.Contains(known, f) {
				t.Errorf("%s: simd %s has no flag %s", page, name, f)
			}
		}
	}
	for heading := range parts {
		if name, ok := strings.CutPrefix(heading, "simd "); ok && !slices.Contains(commands, name) {
			t.Errorf("%s: there is no command simd %s", page, name)
		}
	}
}

// leaves lists the commands that do something.
func leaves(t *testing.T, simd string, above ...string) []string {
	help := output(t, simd, append(above, "--help")...)
	var names []string
	group := ""
	for _, line := range strings.Split(help, "\n") {
		if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
			group = line
		}
		m := regexp.MustCompile(`^  ([a-z]+) `).FindStringSubmatch(line)
		if m == nil || slices.Contains([]string{"Usage:", "Examples:", "Flags:", "Additional Commands:"}, group) {
			continue
		}
		names = append(names, leaves(t, simd, append(slices.Clone(above), m[1])...)...)
	}
	if len(names) == 0 {
		return []string{strings.Join(above, " ")}
	}
	return names
}

// guide does what docs/guide.md tells a newcomer to do.
func guide(t *testing.T, simd string) {
	dir := t.TempDir()
	text := read(t, "docs/guide.md")
	block := regexp.MustCompile("(?s)<!-- (\\w+): ([^\n]*) -->\n```\\w*\n(.*?)```")
	files, runs := 0, 0
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		switch kind, what, body := m[1], m[2], m[3]; kind {
		case "file":
			files++
			write(t, filepath.Join(dir, "ferry", what), body)
		case "run":
			runs++
			out := inDir(t, dir, 0, simd, strings.Fields(what)...)
			if problem := follows(out, body); problem != "" {
				t.Errorf("simd %s: %s\nit printed\n%s", what, problem, out)
			}
		case "broken":
			runs++
			name, change, _ := strings.Cut(what, " ")
			from, to, _ := strings.Cut(change, " -> ")
			file := filepath.Join(dir, "ferry", name)
			good := read(t, file)
			write(t, file, strings.Replace(good, from, to, 1))
			if out := inDir(t, dir, 3, simd, "validate", "ferry"); out != body {
				t.Errorf("simd validate printed\n%swant\n%s", out, body)
			}
			write(t, file, good)
		default:
			t.Errorf("guide: a block of kind %q", kind)
		}
	}
	if files != 5 || runs != 5 {
		t.Errorf("guide: %d files and %d runs; the pattern or the text is broken", files, runs)
	}
}

// readme holds what README.md shows to what the program prints.
func readme(t *testing.T, simd string) {
	shown := regexp.MustCompile("(?s)<!-- run: ([^\n]*) -->\n```text\n(.*?)```").FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(shown) != 1 {
		t.Fatalf("README.md shows %d runs", len(shown))
	}
	args := append(strings.Fields(shown[0][1]), "--out", filepath.Join(t.TempDir(), "run"))
	out := inDir(t, ".", 0, simd, args...)
	if problem := follows(out, shown[0][2]); problem != "" {
		t.Errorf("README.md: %s\nit printed\n%s", problem, out)
	}
}

// follows compares output with what a page shows, line by line and without regard
// to indentation. "…" stands for any text in a line, and a line with nothing
// else for any lines.
func follows(out, shown string) string {
	lines, at, loose := strings.Split(out, "\n"), 0, false
	for _, want := range strings.Split(strings.TrimSuffix(shown, "\n"), "\n") {
		if strings.TrimSpace(want) == "…" {
			loose = true
			continue
		}
		pattern := regexp.MustCompile(`^\s*` + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*") + `\s*$`)
		for loose && at < len(lines) && !pattern.MatchString(lines[at]) {
			at++
		}
		if at >= len(lines) || !pattern.MatchString(lines[at]) {
			return fmt.Sprintf("there is no line %q where the page shows it", want)
		}
		at, loose = at+1, false
	}
	return ""
}

func TestFollows(t *testing.T) {
	for _, c := range []struct {
		out, shown string
		ok         bool
	}{
		{"a\nb 17\nc", "a\nb …\nc", true},
		{"a\nx\ny\nc", "a\n  …\nc", true},
		{"a\nx\nc", "a\nc", false},
		{"a\nb", "a\nb\nc", false},
		{"a.b", "a+b", false},
		{"    a\n  b ", "  a\nb", true},
	} {
		if got := follows(c.out, c.shown); (got == "") != c.ok {
			t.Errorf("%q against %q: %q", c.out, c.shown, got)
		}
	}
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
	for _, line := range strings.Split(regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, ""), "\n") {
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
	for _, line := range strings.Split(text, "\n") {
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

// factsInCode finds the kinds of facts and their fields in the source.
func factsInCode(t *testing.T) map[string][]string {
	t.Helper()
	facts := map[string][]string{}
	for pkg, files := range engineFiles(t) {
		structs, constants, kinds := map[string][]string{}, map[string]string{}, map[string]ast.Expr{}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.TypeSpec:
					if s, ok := x.Type.(*ast.StructType); ok {
						structs[x.Name.Name] = exported(s)
					}
				case *ast.ValueSpec:
					for i, name := range x.Names {
						if i < len(x.Values) {
							if lit, ok := x.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
								constants[name.Name], _ = strconv.Unquote(lit.Value)
							}
						}
					}
				case *ast.FuncDecl:
					if x.Name.Name == "FactKind" && x.Recv != nil {
						kinds[receiver(x)] = x.Body.List[0].(*ast.ReturnStmt).Results[0]
					}
				}
				return true
			})
		}
		for name, e := range kinds {
			kind := ""
			switch v := e.(type) {
			case *ast.Ident:
				kind = constants[v.Name]
			case *ast.BasicLit:
				kind, _ = strconv.Unquote(v.Value)
			}
			if kind == "" {
				t.Errorf("%s: the kind of the fact %s is no constant", pkg, name)
			}
			facts[kind] = structs[name]
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

// exported lists the fields of a struct as the pages write them.
func exported(s *ast.StructType) []string {
	list := []string{}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			if name.IsExported() {
				list = append(list, snake(name.Name))
			}
		}
	}
	return list
}

// snake writes a Go name in the pages' way: EntryID is entry_id.
func snake(name string) string {
	name = regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "${1}_${2}")
	return strings.ToLower(name)
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
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
	}
	return names
}

// build makes the program once.
func build(t *testing.T) string {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in the path")
	}
	simd := filepath.Join(t.TempDir(), "simd")
	if out, err := exec.Command(goTool, "build", "-o", simd, "./cmd/simd").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return simd
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	return inDir(t, ".", 0, name, args...)
}

// inDir runs a program and wants an exit code; it returns what it printed.
func inDir(t *testing.T, dir string, code int, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), name, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("%s %s: exit code %d, want %d\n%s", filepath.Base(name), strings.Join(args, " "), got, code, out.String())
	}
	return out.String()
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
