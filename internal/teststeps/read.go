package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// tests are the tests of one package.
type tests struct {
	starts bool            // the package's own code starts goroutines, actors or databases
	what   map[string]does // by the name of the test, example or fuzz target
}

// does is what a function does, itself or by a function that it names.
type does struct {
	starts bool // something that runs at once
	short  bool // less in the short form
}

// read gives the packages below a directory, by their paths from there.
func read(root string) (map[string]*tests, error) {
	packages, sources := map[string]*tests{}, map[string]*source{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if packages[dir] == nil {
			packages[dir], sources[dir] = &tests{what: map[string]does{}}, &source{does: map[string]does{}, names: map[string]map[string]bool{}}
		}
		if strings.HasSuffix(path, "_test.go") {
			sources[dir].add(file)
		} else if starts(file) {
			packages[dir].starts = true
		}
		return nil
	})
	test := regexp.MustCompile(`^(Test|Example|Fuzz)([^a-z]|$)`)
	for dir, s := range sources {
		for name := range s.names {
			if test.MatchString(name) && name != "TestMain" {
				packages[dir].what[name] = s.reach(name, map[string]bool{})
			}
		}
	}
	return packages, err
}

// starts says whether a file starts something that runs at once.
func starts(file *ast.File) bool {
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if strings.HasPrefix(path, "github.com/asynkron/protoactor") || strings.HasPrefix(path, "github.com/cockroachdb/pebble") {
			return true
		}
	}
	return look(file).starts
}

// look gives what a piece of source does itself.
func look(n ast.Node) (d does) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			d.starts = true
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok {
				switch called.Sel.Name {
				case "Go", "AfterFunc", "Parallel", "RunParallel":
					d.starts = true
				case "Short": // of testing
					d.short = true
				}
			}
		case *ast.Ident:
			if n.Name == "rapid" { // fewer checks
				d.short = true
			}
		}
		return true
	})
	return d
}

// source is what the test files of one package declare.
type source struct {
	does  map[string]does            // by name; methods by their own names, without their types
	names map[string]map[string]bool // names that a declaration holds
}

func (s *source) add(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			s.declare(decl.Name.Name, decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						s.declare(name.Name, v)
					}
				}
			}
		}
	}
}

func (s *source) declare(name string, n ast.Node) {
	if s.names[name] == nil {
		s.names[name] = map[string]bool{}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			s.names[name][id.Name] = true
		}
		return true
	})
	d, own := s.does[name], look(n)
	s.does[name] = does{starts: d.starts || own.starts, short: d.short || own.short}
}

// reach gives what a declaration does, itself and by all that it names.
func (s *source) reach(name string, seen map[string]bool) does {
	seen[name] = true
	d := s.does[name]
	for other := range s.names[name] {
		if s.names[other] == nil || seen[other] {
			continue
		}
		o := s.reach(other, seen)
		d.starts, d.short = d.starts || o.starts, d.short || o.short
	}
	return d
}
