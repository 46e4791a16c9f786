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

// does is what a piece of source does, itself or by something that it names.
type does struct {
	starts bool // something that runs at once
	short  bool // less in the short form
}

func (d does) and(o does) does { return does{d.starts || o.starts, d.short || o.short} }

// read gives the packages below a directory, by their paths from there.
func read(root string) (map[string]*tests, error) {
	packages, suites, files := map[string]*tests{}, map[string]*source{}, map[string][]*ast.File{}
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
		dir = filepath.ToSlash(dir)
		if packages[dir] == nil {
			packages[dir] = &tests{what: map[string]does{}}
		}
		if strings.HasSuffix(path, "_test.go") {
			files[dir] = append(files[dir], file)
			return nil
		}
		if look(file, nil).starts || imports(file, "github.com/asynkron/protoactor") || imports(file, "github.com/cockroachdb/pebble") {
			packages[dir].starts = true
		}
		if imports(file, "testing") { // tests call it
			if suites[dir] == nil {
				suites[dir] = newSource()
			}
			suites[dir].add(file, nil)
		}
		return nil
	})
	if played := suites["scenes/scenestest"]; played != nil {
		for name, d := range played.does {
			played.does[name] = does{short: d.short} // it plays whole scenes, as the tests of scenes do that race
		}
	}
	isTest := regexp.MustCompile(`^(Test|Example|Fuzz)([^a-z]|$)`)
	for dir, list := range files {
		s := newSource()
		for _, file := range list {
			s.add(file, suites)
		}
		always := s.of("init").and(s.of("_")).and(s.of("TestMain"))
		for name := range s.names {
			if isTest.MatchString(name) && name != "TestMain" {
				packages[dir].what[name] = always.and(s.of(name))
			}
		}
	}
	return packages, err
}

// imports reports whether a file imports a package whose path begins so.
func imports(file *ast.File, path string) bool {
	for _, i := range file.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(p, path) {
			return true
		}
	}
	return false
}

// look gives what a piece of source does itself, and by what it calls of other packages for tests.
func look(n ast.Node, suites map[string]*source) (d does) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			d.starts = true
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok {
				switch called.Sel.Name {
				case "Go", "AfterFunc", "Parallel", "RunParallel":
					d.starts = true
				}
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && suites[x.Name] != nil {
				d = d.and(suites[x.Name].of(n.Sel.Name))
			}
		case *ast.Ident:
			switch n.Name {
			case "Short", "rapid", "testscript": // of testing; fewer checks; scripts may ask for the short form
				d.short = true
			}
		}
		return true
	})
	return d
}

// source is what the test files of one package declare, or the files of one that tests call.
type source struct {
	does  map[string]does            // by name; methods by their own names behind a point
	names map[string]map[string]bool // names that a declaration holds, those behind a point with it; a type holds those of its methods
}

func newSource() *source {
	return &source{does: map[string]does{}, names: map[string]map[string]bool{}}
}

// add takes the declarations of a file. suites are packages that tests call, by their paths.
func (s *source) add(file *ast.File, suites map[string]*source) {
	called := map[string]*source{} // by the name that the file gives them
	of := strings.TrimSuffix(file.Name.Name, "_test")
	own := map[string]bool{of: true} // what the file calls its own package, which has test files, too
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if i.Name != nil && strings.HasSuffix(path, "/"+of) {
			own[i.Name.Name] = true
		}
		_, dir, _ := strings.Cut(path, "/") // behind the module
		if suite := suites[dir]; suite != nil {
			name := dir[strings.LastIndex(dir, "/")+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			called[name] = suite
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				s.declare(decl.Name.Name, own, decl, called)
				continue
			}
			method := "." + decl.Name.Name
			s.declare(method, own, decl, called)
			ast.Inspect(decl.Recv.List[0].Type, func(n ast.Node) bool { // its variable may have the name of a declaration
				if of, ok := n.(*ast.Ident); ok {
					s.name(of.Name, method)
				}
				return true
			})
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						s.declare(name.Name, own, spec, called)
					}
				case *ast.TypeSpec:
					s.declare(spec.Name.Name, own, spec, called)
				}
			}
		}
	}
}

func (s *source) declare(name string, own map[string]bool, n ast.Node, called map[string]*source) {
	var names func(ast.Node) bool
	names = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			s.name(name, n.Name)
		case *ast.SelectorExpr:
			s.name(name, "."+n.Sel.Name)
			if x, ok := n.X.(*ast.Ident); ok && own[x.Name] {
				s.name(name, n.Sel.Name)
			}
			ast.Inspect(n.X, names) // Sel is a method, a field or of another package: no variable or function has its name
			return false
		}
		return true
	}
	ast.Inspect(n, names)
	s.does[name] = s.does[name].and(look(n, called))
}

func (s *source) name(in, name string) {
	if s.names[in] == nil {
		s.names[in] = map[string]bool{}
	}
	s.names[in][name] = true
}

// of gives what a declaration does.
func (s *source) of(name string) does { return s.reach(name, map[string]bool{}) }

// reach gives what a declaration does, itself and by all that it names.
func (s *source) reach(name string, seen map[string]bool) does {
	seen[name] = true
	d := s.does[name]
	for other := range s.names[name] {
		if s.names[other] != nil && !seen[other] {
			d = d.and(s.reach(other, seen))
		}
	}
	return d
}
