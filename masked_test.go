package tavernsim

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// What programs and services write may have values of secrets. It leaves the packages of tools as a result, which tools.Run masks,
// or as a text for people, which a function Mask masks. The fence holds what somebody would pass by without seeing it:
//
//  1. Only some packages run a program. They give its output away as a result, or by a Mask.
//  2. Who makes something that has a field Mask fills it.
//  3. Only some functions write a file, an output of simd or a log, or ask a service without tools.Run.
//
// It cannot see what a function does that it lets through: the entry says why the function may.

// masking are the types with a field Mask, and where a literal of one may lack it.
func masking() map[string][]string {
	return map[string][]string{
		"tools.Options": {"scenes/tooling.Call", "tools/toolstest.Run", "tools/toolstest.call", "tools/toolstest.answers"}, // Call fills it later; the others have no secrets
		"mcp.Options":   nil, "child.Program": nil, "shell.Options": nil, "rpc.Options": nil, "overrides.Approver": nil, "overrides.Asked": nil,
	}
}

// passing are the functions below tools and scenes/tooling that write where something stays, or ask a service, with the
// reason why nothing of a program gets there with a secret in it.
func passing() map[string]string {
	const persons, mark, reads, logs = "what persons are asked was masked by scenes/tooling/forms", "it writes nothing", "it only reads", "it discards the log"
	return map[string]string{
		"scenes/tooling.copy":           "a file of a mount for the program of one call, which is removed with it",
		"scenes/tooling/hooks.ask":      "it masks failures, and scenes/tooling what hooks answer",
		"scenes/tooling/overrides.Ask":  "the Mask of the approver masks what it says",
		"scenes/tooling/overrides.ask":  "the answer is the value of a secret, and scenes/tooling masks failures",
		"scenes/tooling/overrides.call": "the Mask of what is asked masks answers and failures",
		"tools/approvals.Answer":        persons,
		"tools/approvals.makePipe":      mark,
		"tools/approvals.openPipe":      mark,
		"tools/approvals.write":         persons,
		"tools/artifact.Put":            "tools.Run gives it files after the Mask, which searches them, too",
		"tools/audit.locked":            "parameters were masked, and of results it has the hash",
		"tools/files.keep":              "names of files and secrets, no values",
		"tools/grants.Write":            "the operator's grants",
		"tools/ownfile.Write":           "who calls it writes, and is named here",
		"tools/mcp.connect":             logs,
		"tools/mount.replace":           "a file of a mount, written by a call of its owner",
		"tools/proxy.Serve":             logs,
		"tools/shell.write":             "what the agent wrote, with the values of its secrets; the session removes it when it has run",
		"tools/shell.openTerminal":      "the terminal of the session",
		"tools/shell/folders.Begins":    mark,
		"tools/shell/folders.Note":      "places of folders, which were not masked and have no output",
		"tools/shell/folders.holds":     reads,
		"tools/toolreplay.Save":         "answers of a run, which were masked before they became facts",
	}
}

func TestOutputsAreMasked(t *testing.T) {
	used := map[string]bool{}
	for _, f := range files(t) {
		for _, problem := range unmasked(f, used) {
			t.Error(problem)
		}
		for _, name := range maskingOf(f) {
			if _, known := masking()[name]; !known {
				t.Errorf("%s: %s has a field Mask: name it in masking, so that nobody makes one without", f.path, name)
			}
		}
	}
	for name := range passing() {
		if !used[name] {
			t.Errorf("%s does nothing of that any more: take it out of passing", name)
		}
	}
}

// toolish reports whether a package sees what programs write.
func toolish(pkg string) bool {
	return strings.HasPrefix(pkg+"/", "tools/") && !walled(pkg) || strings.HasPrefix(pkg+"/", "scenes/tooling/")
}

// walled reports whether a package runs programs: what it writes is inside of the sandbox.
func walled(pkg string) bool { return strings.HasPrefix(pkg+"/", "tools/sandbox/") }

// unmasked finds what could let an output pass by the masker.
func unmasked(f file, used map[string]bool) (problems []string) {
	for _, d := range f.tree.Decls {
		where := f.pkg
		if fn, ok := d.(*ast.FuncDecl); ok {
			where += "." + fn.Name.Name
		}
		reading := map[*ast.SelectorExpr]bool{}
		ast.Inspect(d, func(n ast.Node) bool {
			problem := ""
			switch x := n.(type) {
			case *ast.CallExpr:
				if s, ok := x.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "OpenFile" {
					reading[s] = onlyReads(x)
				}
			case *ast.CompositeLit:
				switch name := named(f, x.Type); {
				case noMask(where, name, x):
					problem = fmt.Sprintf("%s makes %s without Mask: outputs of programs would be shown as they are", where, name)
				case name == "sandbox.Command" && !walled(f.pkg) && !slices.Contains([]string{"tools/script", "tools/shell", "tools/child"}, f.pkg):
					problem = where + " runs a program: let tools/child, tools/script or tools/shell do that, whose outputs are masked"
				case name == "rpc.Request" && f.pkg != "tools/rpc":
					problem = pass(where, "asks a service by itself", used)
				}
			case *ast.SelectorExpr:
				if toolish(f.pkg) && !reading[x] && writes(x) {
					problem = pass(where, "writes with "+named(f, x), used)
				}
			}
			if problem != "" {
				problems = append(problems, f.path+": "+problem)
			}
			return true
		})
	}
	return problems
}

// pass notes a function that does what only some may.
func pass(where, does string, used map[string]bool) string {
	used[where] = true
	if passing()[where] != "" {
		return ""
	}
	return where + " " + does + ": what programs wrote passes a Mask first. If it has none of that, add it to passing in masked_test.go with the reason"
}

// noMask reports whether a literal is of a type that has a field Mask, without that field.
func noMask(where, name string, x *ast.CompositeLit) bool {
	may, has := masking()[name]
	return has && !slices.Contains(may, where) && !fills(x, "Mask")
}

// fills reports whether a literal gives a field.
func fills(x *ast.CompositeLit, field string) bool {
	return slices.ContainsFunc(x.Elts, func(e ast.Expr) bool {
		kv, _ := e.(*ast.KeyValueExpr)
		if kv == nil {
			return false
		}
		id, _ := kv.Key.(*ast.Ident)
		return id != nil && id.Name == field
	})
}

// maskingOf names the types of a file that have a field Mask.
func maskingOf(f file) (names []string) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if x, ok := spec.Type.(*ast.StructType); ok && slices.ContainsFunc(x.Fields.List, func(l *ast.Field) bool {
			return slices.ContainsFunc(l.Names, func(id *ast.Ident) bool { return id.Name == "Mask" })
		}) {
			names = append(names, f.tree.Name.Name+"."+spec.Name.Name)
		}
		return true
	})
	return names
}

// onlyReads reports whether a file is opened with flags that say so.
func onlyReads(x *ast.CallExpr) (reads bool) {
	for _, arg := range x.Args {
		ast.Inspect(arg, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "O_RDONLY" {
				reads = true
			}
			return true
		})
	}
	return reads
}

// writes reports whether a function or value writes to a file, an output of simd or a log.
func writes(x *ast.SelectorExpr) bool {
	switch x.Sel.Name {
	case "Create", "CreateTemp", "WriteFile", "OpenFile":
		return true
	}
	pkg, _ := x.X.(*ast.Ident)
	if pkg == nil {
		return false
	}
	switch pkg.Name {
	case "log", "slog":
		return true
	case "os":
		return x.Sel.Name == "Stdout" || x.Sel.Name == "Stderr"
	case "fmt":
		return strings.HasPrefix(x.Sel.Name, "Print")
	case "ownfile":
		return x.Sel.Name == "Write"
	case "unix", "syscall":
		return slices.Contains([]string{"Open", "Openat", "Openat2", "Creat", "Write", "Pwrite"}, x.Sel.Name)
	}
	return false
}

// named is the name of a type or function, with its package.
func named(f file, x ast.Expr) string {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			return id.Name + "." + x.Sel.Name
		}
		return x.Sel.Name
	case *ast.Ident:
		return f.tree.Name.Name + "." + x.Name
	}
	return ""
}

// dials are the functions of tools that open connections, and where an operator reads to which servers.
func dials() map[string]string {
	return map[string]string{
		"tools/httpcall.dialed": "the server of the row http (tools/manifest), and needs",
		"tools/mcp.newWeb":      "the url of the server, and its needs (Server.Asks)",
		"tools/proxy.dial":      "the needs of a program in the sandbox",
		"tools/reach.Dial":      "it checks addresses for the others",
	}
}

// TestEveryDialIsGranted: an operator grants each server that a tool reaches (Tool.Asks, Server.Asks), so whoever opens
// connections says where it stands. A new type of tools that speaks with a server has it in its row (typeRow.server).
func TestEveryDialIsGranted(t *testing.T) {
	found := map[string]bool{}
	for _, f := range files(t) {
		for _, where := range dialling(f) {
			if found[where] = true; dials()[where] == "" {
				t.Errorf("%s: %s opens connections: let Tool.Asks or Server.Asks (tools/manifest/asks.go) name its server, for a type of tools by server in its row of types.go, and say in dials (masked_test.go) what names it", f.path, where)
			}
		}
	}
	for where := range dials() {
		if !found[where] {
			t.Errorf("%s opens no connections any more: take it out of dials", where)
		}
	}
}

// dialling names the functions of a file that open connections, by themselves or with the client of another package, and its
// package for declarations outside of functions.
func dialling(f file) (list []string) {
	if !toolish(f.pkg) {
		return nil
	}
	for _, d := range f.tree.Decls {
		where := f.pkg
		if fn, ok := d.(*ast.FuncDecl); ok {
			where += "." + fn.Name.Name
		}
		given := map[ast.Expr]bool{} // clients whose connections come from elsewhere, and pointers to clients
		ast.Inspect(d, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.StarExpr:
				given[x.X] = true
			case *ast.CompositeLit:
				given[x.Type] = fills(x, connects(named(f, x.Type)))
			case *ast.SelectorExpr:
				if name := named(f, x); dialler(name) || connects(name) != "" && !given[x] {
					list = append(list, where)
				}
			}
			return true
		})
	}
	return list
}

// dialler reports whether a function or value opens connections.
func dialler(name string) bool {
	return slices.Contains([]string{
		"reach.Dial", "net.Dial", "net.DialTimeout", "net.DialTCP", "net.DialUDP", "net.DialIP", "net.DialUnix", "net.Dialer",
		"tls.Dial", "tls.DialWithDialer", "tls.Dialer", "tls.Client",
		"http.DefaultClient", "http.DefaultTransport", "http.Get", "http.Head", "http.Post", "http.PostForm", "httputil.NewSingleHostReverseProxy", "httpcall.Client",
	}, name)
}

// connects is the field of a type that says how it connects: a value without it dials by itself. "" = it is no client.
func connects(name string) string {
	return map[string]string{"http.Client": "Transport", "httputil.ReverseProxy": "Transport", "http.Transport": "DialContext"}[name]
}

// TestEveryDialIsGrantedSees proves the fence.
func TestEveryDialIsGrantedSees(t *testing.T) {
	for _, c := range []struct {
		pkg, src string
		want     []string
	}{
		{"tools/web", `func f() { _, _ = net.Dial("tcp", to) }`, []string{"tools/web.f"}},
		{"tools/web", `func f() { _, _ = net.DialIP("ip", nil, to) }`, []string{"tools/web.f"}},
		{"tools/web", `func (x *X) f() { tls.Client(c, nil) }`, []string{"tools/web.f"}},
		{"tools/web", `func f() { _, _ = http.Head(to) }`, []string{"tools/web.f"}},
		{"tools/web", `func f() { _, _ = http.PostForm(to, nil) }`, []string{"tools/web.f"}},
		{"tools/web", `func f() { _, _ = (&http.Client{Timeout: 1}).Get(to) }`, []string{"tools/web.f"}},
		{"tools/web", `func f() { var c http.Client; _, _ = c.Get(to) }`, []string{"tools/web.f"}},
		{"tools/web", `func f() { _, _ = new(http.Client).Get(to) }`, []string{"tools/web.f"}},
		{"tools/web", `func f() { _ = http.Client{Transport: t} }`, nil},
		{"tools/web", `func f() { _ = &http.Transport{} }`, []string{"tools/web.f"}},
		{"tools/web", `func f() { _ = &http.Transport{DialContext: dial} }`, nil},
		{"tools/web", `func f() { _ = &httputil.ReverseProxy{} }`, []string{"tools/web.f"}},
		{"tools/web", `func f(c *http.Client) []*http.Client { return []*http.Client{c} }`, nil},
		{"tools/web", `var get = http.Get`, []string{"tools/web"}},
		{"tools/web", `var client = &http.Client{}`, []string{"tools/web"}},
		{"tools/web", `type x struct{ client http.Client }`, []string{"tools/web"}},
		{"tools/web", `type x struct{ client *http.Client }`, nil},
		{"scenes/tooling/web", `func f() { _, _ = http.Get(to) }`, []string{"scenes/tooling/web.f"}},
		{"llm/web", `func f() { _, _ = http.Get(to) }`, nil},
	} {
		if got := dialling(parsed(t, c.pkg, c.src)); !slices.Equal(got, c.want) {
			t.Errorf("%s in %s: %q, want %q", c.src, c.pkg, got, c.want)
		}
	}
}

// parsed is a file of a package.
func parsed(t *testing.T, pkg, src string) file {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), "x.go", "package "+path.Base(pkg)+"\n"+src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file{pkg: pkg, path: "x.go", tree: tree}
}

// TestOutputsAreMaskedSees proves the fence.
func TestOutputsAreMaskedSees(t *testing.T) {
	for _, c := range []struct{ pkg, body, want string }{
		{"tools/http2", `os.WriteFile("x", out, 0o600)`, "tools/http2.f writes with os.WriteFile"},
		{"tools/http2", `w := os.Create; _, _ = w("x")`, "writes with os.Create"},
		{"tools/http2", `_, _ = root.OpenFile("x", flags, 0)`, "writes with root.OpenFile"},
		{"tools/http2", `_, _ = os.OpenFile("x", os.O_RDONLY|syscall.O_NONBLOCK, 0)`, ""},
		{"tools/http2", `slog.Info("said", "text", out)`, "writes with slog.Info"},
		{"tools/http2", `fmt.Fprintln(os.Stderr, out)`, "writes with os.Stderr"},
		{"scenes/tooling/more", `fmt.Println(out)`, "writes with fmt.Println"},
		{"tools/shell", `_ = os.WriteFile("x", out, 0o600)`, "tools/shell.f writes"},
		{"tools/shell", `_ = ownfile.Write("x", ".x-*", out)`, "tools/shell.f writes with ownfile.Write"},
		{"tools/shell", `_, _ = ownfile.Open("x")`, ""},
		{"tools/sandbox/view", `_ = os.WriteFile("x", out, 0o600)`, ""},
		{"scenes/more", `_ = os.WriteFile("x", out, 0o600)`, ""},
		{"scenes/more", `_ = tools.Run(ctx, x, c, tools.Options{Retries: 1})`, "makes tools.Options without Mask"},
		{"scenes/more", `_ = tools.Run(ctx, x, c, tools.Options{Mask: mask})`, ""},
		{"tools/child", `start(Program{Words: words})`, "makes child.Program without Mask"},
		{"scenes/more", `_ = &sandbox.Command{}`, "runs a program"},
		{"tools/script", `_ = &sandbox.Command{}`, ""},
		{"scenes/more", `_, _ = x.Ask(ctx, &rpc.Request{})`, "asks a service by itself"},
	} {
		got := strings.Join(unmasked(parsed(t, c.pkg, "func f() {\n"+c.body+"\n}"), map[string]bool{}), "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s in %s: %q, want %q", c.body, c.pkg, got, c.want)
		}
	}
	if got := maskingOf(parsed(t, "p", "type (\n\ta struct{ Mask func() }\n\tb struct{ Other int }\n)\n")); !slices.Equal(got, []string{"p.a"}) {
		t.Errorf("%q", got)
	}
}
