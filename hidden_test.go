package tavernsim

import (
	"go/ast"
	"slices"
	"testing"
)

// revealing are types of libraries whose fields hold many generic types, or that are generic and have many methods. A package compiles
// all those methods once more for each type that it names whose fields or methods lead to one (decision 233).
func revealing() []string {
	return []string{"btree.Map", "pebble.DB", "pebble.Batch", "pebble.Iterator", "pebble.Cache", "pebble.Options"}
}

func TestGenericTypesAreHidden(t *testing.T) {
	for _, f := range files(t) {
		for _, name := range revealed(f) {
			t.Errorf("%s: a field or a method names %s: every package that names the type around it compiles its generic methods again; hide it behind an interface, or make the method a function", f.path, name)
		}
	}
}

// revealed are the revealing types that types of a file name, or their methods.
func revealed(f file) (names []string) {
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok && slices.Contains(revealing(), named(f, x)) {
				names = append(names, named(f, x))
			}
			return true
		})
	}
	for _, decl := range f.tree.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil {
				look(decl.Type)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					look(s.Type)
				}
			}
		}
	}
	return names
}

func TestGenericTypesAreHiddenSees(t *testing.T) {
	for src, want := range map[string]int{
		"type t struct { m *btree.Map[string, int] }":                                             1,
		"func (t) f(o *pebble.Options)":                                                           1,
		"type t interface { db() *pebble.DB }":                                                    1,
		"func f() { _ = new(btree.Map[string, int]) }\nfunc of(db any) *pebble.DB":                0,
		"func (t) f() { _ = new(btree.Map[string, int]) }\ntype o struct{ *pebble.WriteOptions }": 0,
	} {
		if got := revealed(parsed(t, "engine/world", src)); len(got) != want {
			t.Errorf("%s: %q", src, got)
		}
	}
}
