package tavernsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// unused are the exported functions that no code of the program names, and who calls them. A
// name stands for all functions that have it.
func unused() map[string]string {
	const encoder, actor, disk, program, tests = "encoding/json", "Proto.Actor", "Pebble", "programs that embed simd", "tests, which cannot see it otherwise"
	return map[string]string{
		"MarshalJSON": encoder, "MarshalText": encoder,
		"PostUserMessage": actor, "RegisterHandlers": actor, "HandleFailure": actor,
		"Infof": disk, "OpenReadWrite": disk,
		"NewHost": program, "Interactions": program, "Terminate": program,
		"Holding": tests, "AppendBlock": tests, "FieldNames": tests, "FilterText": tests,
	}
}

// TestNothingIsForgotten: every exported function is named by code that is no test. One that is
// not was made and not put to use: a command that newRoot does not list, a metric that nobody
// counts. The linter says that of what is not exported.
func TestNothingIsForgotten(t *testing.T) {
	all, known := files(t), unused()
	forgotten := forgottenIn(all)
	for name, path := range forgotten {
		if known[name] == "" {
			t.Errorf("%s: nothing but tests uses %s: put it to use where its like is used, take it out, or say in unused (used_test.go) who calls it", path, name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("code uses %s, or it is not there any more: take it out of unused", name)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "made.go", "package views\nfunc NewMade() int { return 1 }", parser.SkipObjectResolution)
	if err != nil || forgottenIn(append(all, file{pkg: "cmd/simd/views", path: "made.go", tree: tree}))["NewMade"] == "" {
		t.Error("a function that nobody uses was not seen")
	}
}

// forgottenIn gives the files of the exported functions that are only declared, by their names.
// Packages for tests are called so.
func forgottenIn(all []file) map[string]string {
	declared, named, where := map[string]int{}, map[string]int{}, map[string]string{}
	for _, f := range all {
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() && !strings.Contains(f.pkg, "test") {
				declared[fn.Name.Name]++
				where[fn.Name.Name] = f.path
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				named[id.Name]++
			}
			return true
		})
	}
	for name, n := range declared {
		if named[name] > n {
			delete(where, name)
		}
	}
	return where
}
