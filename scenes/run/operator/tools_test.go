package operator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/run/operator"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/audit"
	"tavernsim/tools/grants"
	"tavernsim/tools/ownfile"
)

// asking has a tool that asks for a server, one that asks for nothing, and one that calls the first twice.
const asking = `
-- project.json --
{"id": "test"}
-- tools/far.tool.yaml --
id: far
implementation: {type: http, url: "%[1]s/"}
needs: ["net:%[2]s"]
-- tools/near.tool.yaml --
id: near
implementation: {type: node, kind: Expression, config: {expression: "7", type: INTEGER}}
-- tools/twice.tool.yaml --
id: twice
needs: ["tool:far"]
implementation: {type: workflow, id: twice}
-- workflows/twice.yaml --
interfaceInputs: {}
interfaceOutputs: {a: {dataFlowType: WILDCARD}}
nodes:
  - {id: in, type: GroupInput}
  - {id: one, type: CallTool, configValues: {tool: far}}
  - {id: none, type: Expression, configValues: {type: OBJECT, expression: "({})"}}
  - {id: two, type: CallTool, configValues: {tool: far}}
  - {id: out, type: GroupOutput}
edges:
  - {source: none, sourceHandle: value, target: one, targetHandle: params}
  - {source: one, sourceHandle: result, target: two, targetHandle: params}
  - {source: two, sourceHandle: result, target: out, targetHandle: a}
-- scenes/s.yaml --
{id: s, name: S, agent_instances: []}
`

// Promise 1: what the operator takes away counts for the next call, also within a call, and so does what is given.
func TestGrantsCountAtOnce(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "grants.json")
	heard, answered := func() {}, 0
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answered++
		heard()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	defer h.Close()
	files, err := txtar.FS(txtar.Parse(fmt.Appendf(nil, asking, h.URL, strings.TrimPrefix(h.URL, "http://"))))
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := project.Load(os.DirFS(dir), project.Options{Kinds: setup.NodeKinds()})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := ownfile.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	write := func(granted bool) {
		store := &grants.Store{}
		for _, a := range needs.Of(p, needs.Place{Folder: folder}) {
			if granted {
				store.Give(&a)
			}
		}
		if err := store.Write(file); err != nil {
			t.Fatal(err)
		}
	}
	write(false)
	set, err := (&operator.Tools{Folder: dir, Project: p, By: "mcp", Grants: file, Audit: audit.Off}).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for _, x := range []struct {
		what     string
		change   func()
		tool     string
		want     string // in the error; "" = none
		requests int
	}{
		{"nothing is granted", func() {}, "far", "which nobody has granted", 0},
		{"granted", func() { write(true) }, "far", "", 1},
		{"it stays so", func() {}, "twice", "", 2},
		{"taken away", func() { write(false) }, "far", "which nobody has granted", 0},
		{"of another tool", func() {}, "near", "", 0},
		{"given again", func() { write(true) }, "far", "", 1},
		{"taken away within a call", func() { heard = func() { write(false) } }, "twice", "which nobody has granted", 1},
		{"given again", func() { heard = func() {}; write(true) }, "far", "", 1},
		{"others may write it", func() { chmod(t, file, 0o666) }, "far", "only its owner may change it", 0},
		{"mended", func() { chmod(t, file, 0o600) }, "far", "", 1},
		{"no file", func() { os.Remove(file) }, "far", "there is no file", 0},
		{"no file, a tool that asks for nothing", func() {}, "near", "no tool may be called: grants: ", 0},
		{"made again", func() { write(true) }, "far", "", 1},
	} {
		answered = 0
		x.change()
		tool, _ := p.Tool(x.tool)
		r := set.Try(t.Context(), tool, map[string]any{}, 0)
		said := ""
		if r.Error != nil {
			said = r.Error.Message
		}
		if (x.want == "") != (r.Error == nil) || !strings.Contains(said, x.want) || answered != x.requests {
			t.Errorf("%s: %+v, %d requests; want %q, %d", x.what, r.Error, answered, x.want, x.requests)
		}
	}
}

func chmod(t *testing.T, file string, mode os.FileMode) {
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}
