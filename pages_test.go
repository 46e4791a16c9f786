package tavernsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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

	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

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
