package tavernsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tavernsim/scenes/load/project"
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

// TestEveryPackageIsImported: code that is no test imports every package that is neither a program nor for
// tests. A view that no command shows has functions named as those of other views, so names tell nothing of it.
func TestEveryPackageIsImported(t *testing.T) {
	all := files(t)
	for pkg, path := range strangersIn(all) {
		t.Errorf("%s: nothing but tests imports %s: put it to use where its like is used, or take it out", path, pkg)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "made.go", "package made", parser.SkipObjectResolution)
	if err != nil || strangersIn(append(all, file{pkg: "scenes/view/made", path: "made.go", tree: tree}))["scenes/view/made"] == "" {
		t.Error("a package that nobody imports was not seen")
	}
}

// strangersIn gives a file of each package that no other imports.
func strangersIn(all []file) map[string]string {
	imported, where := map[string]bool{}, map[string]string{}
	for _, f := range all {
		for _, path := range f.imports {
			imported[strings.TrimPrefix(path, "tavernsim/")] = true
		}
	}
	for _, f := range all {
		if name := f.tree.Name.Name; name != "main" && f.pkg != "." && !strings.Contains(f.pkg, "test") && !imported[f.pkg] {
			where[f.pkg] = f.path
		}
	}
	return where
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

// unread are fields of definitions that no code of the program reads, with the reason. Besides, custom_metadata is
// free, and the decoder checks schema_version.
func unread() map[string]string {
	const pages, editor = "of pages, which simd has none of", "of editors"
	return map[string]string{
		"panel.UI.sandbox": pages, "plugin.UI.inject": pages, "plugin.UI.wrap": pages, "plugin.Build.styles": pages, "plugin.Frontend.build": pages, "plugin.Manifest.frontend": pages,
		"workflow.Node.position": editor, "workflow.Port.suggestions": editor,
	}
}

// TestEveryFieldIsRead: code that is no test reads every field of a definition that has a rule. One that nobody
// reads would be checked and documented, and change nothing. A name that is read stands for all fields that have
// it, in the packages that are imported where it is read.
func TestEveryFieldIsRead(t *testing.T) {
	all, known, rules := files(t), unread(), project.Rules()
	reads := readIn(all)
	seen := 0
	for _, f := range all {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			x, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			for tag, name := range taggedIn(x) {
				key := f.tree.Name.Name + "." + x.Name.Name + "." + tag
				if _, ruled := rules[key]; !ruled || tag == "custom_metadata" || tag == "schema_version" {
					continue
				}
				seen++
				if reads[f.pkg+"."+name] == (known[key] != "") {
					t.Errorf("%s: no code reads the field %s, or a line of unread (used_test.go) says why not, and not both (%q)", key, name, known[key])
				}
			}
			return true
		})
	}
	if seen < 300 {
		t.Errorf("only %d of %d fields were found", seen, len(rules))
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "made.go", "package made\nfunc f() { x.A = y.B }", parser.SkipObjectResolution)
	if made := readIn([]file{{pkg: "made", imports: []string{"tavernsim/engine"}, tree: tree}}); err != nil || !made["engine.B"] || !made["made.B"] || made["made.A"] || made["other.B"] {
		t.Errorf("%v, %v", made, err)
	}
}

// TestEveryFlagIsRead: code reads each field into which a flag is written. A name that is read stands for all fields
// that have it: anywhere if it is exported, else in the package of the flag.
func TestEveryFlagIsRead(t *testing.T) {
	all := files(t)
	unread := func(all []file) (list []string) {
		flags, reads := map[string]string{}, map[string]bool{}
		for _, f := range all {
			flagsIn(f, flags, reads)
		}
		for field, flag := range flags {
			if !reads[field] {
				list = append(list, flag)
			}
		}
		return list
	}
	for _, flag := range unread(all) {
		t.Errorf("%s: no code reads what the flag says", flag)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "made.go", `package made; func f() { f.BoolVar(&o.madeForTest, "made", false, "x"); o.madeForTest = true }`, parser.SkipObjectResolution)
	if got := unread(append(all, file{pkg: "cmd/simd/made", path: "made.go", tree: tree})); err != nil || !slices.Contains(got, "made.go: --made") {
		t.Errorf("a flag that nobody reads was not seen: %v, %v", got, err)
	}
}

// flagsIn finds the fields of a file that flags are written into, f.XVar(&options.FIELD, "NAME", …), and those that
// it reads: names behind a dot, but for those that get a value by = alone.
func flagsIn(f file, flags map[string]string, reads map[string]bool) {
	written := map[ast.Node]bool{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			assigned(x, written)
		case *ast.CallExpr:
			called, ok := x.Fun.(*ast.SelectorExpr)
			if !ok || len(x.Args) < 3 || !strings.Contains(called.Sel.Name, "Var") {
				return true
			}
			to, _ := x.Args[0].(*ast.UnaryExpr)
			name, _ := x.Args[1].(*ast.BasicLit)
			if to == nil || name == nil {
				return true
			}
			if field, ok := to.X.(*ast.SelectorExpr); ok && to.Op == token.AND {
				written[field] = true
				flags[fieldOf(f, field)] = f.path + ": --" + strings.Trim(name.Value, `"`)
			}
		case *ast.SelectorExpr:
			reads[fieldOf(f, x)] = reads[fieldOf(f, x)] || !written[x]
		}
		return true
	})
}

// assigned adds what an assignment gives a value to and does not read.
func assigned(x *ast.AssignStmt, written map[ast.Node]bool) {
	for _, to := range x.Lhs {
		written[to] = x.Tok == token.ASSIGN
	}
}

// fieldOf is the name of a field, with its package if no other one sees it.
func fieldOf(f file, x *ast.SelectorExpr) string {
	if x.Sel.IsExported() {
		return x.Sel.Name
	}
	return f.pkg + "." + x.Sel.Name
}

// readIn are the names behind a dot that are not written to: PACKAGE.NAME, for the packages that the reader imports
// and its own.
func readIn(all []file) map[string]bool {
	knows, reads := map[string]map[string]bool{}, map[string]bool{}
	for _, f := range all {
		if knows[f.pkg] == nil {
			knows[f.pkg] = map[string]bool{f.pkg: true}
		}
		for _, path := range f.imports {
			if own, ok := strings.CutPrefix(path, "tavernsim/"); ok {
				knows[f.pkg][own] = true
			}
		}
	}
	for _, f := range all {
		written := map[ast.Node]bool{}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.AssignStmt:
				assigned(x, written)
			case *ast.SelectorExpr:
				for pkg := range knows[f.pkg] {
					reads[pkg+"."+x.Sel.Name] = reads[pkg+"."+x.Sel.Name] || !written[x]
				}
			}
			return true
		})
	}
	return reads
}

// taggedIn are the fields of a struct with a name in JSON, by that.
func taggedIn(x *ast.TypeSpec) map[string]string {
	out := map[string]string{}
	s, ok := x.Type.(*ast.StructType)
	if !ok {
		return out
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil || len(f.Names) != 1 {
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		name, _, _ := strings.Cut(tag, ",")
		out[name] = f.Names[0].Name
	}
	return out
}
