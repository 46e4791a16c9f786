package plugins_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/plugins"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools"
	"tavernsim/tools/grants"
	"tavernsim/tools/ownfile"
	"tavernsim/tools/plugin"
	"tavernsim/tools/sandbox"
)

func TestMain(m *testing.M) {
	if code, worker := sandbox.Reexec(os.Args); worker {
		syscall.Exit(code) // before os.Exit the race detector waits for a second
	}
	os.Exit(m.Run())
}

// made writes the plugin w of a kind, with changes, and gives its folder.
func made(t *testing.T, kind string, changes map[string]func(string) string) string {
	t.Helper()
	files, err := plugin.New("w", kind)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "w")
	for file, data := range files {
		if change := changes[file]; change != nil {
			data = []byte(change(string(data)))
		}
		write(t, filepath.Join(dir, file), string(data))
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func replace(old, by string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, old, by) }
}

func load(t *testing.T, dir string) *project.Project {
	t.Helper()
	p, err := plugins.Load(dir, plugins.Loading{Stops: true})
	if err == nil {
		err = plugins.Broken(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// call calls a tool of a plugin that is loaded alone.
func call(t *testing.T, box *sandbox.Box, dir string, store *grants.Store, sources plugin.Sources) tools.Result {
	t.Helper()
	p := load(t, dir)
	folder, err := ownfile.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	given, err := sources.Read(tooling.Manifests(p))
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Place: needs.Place{Folder: folder}, Sandbox: box, Grants: store, Given: given})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	found, err := tooling.Find(p, "w:hello")
	if err != nil {
		t.Fatal(err)
	}
	return set.Try(context.Background(), found, map[string]any{"who": "Ada"}, 0)
}

// needs gives the sandbox that tests with programs need.
func asking(t *testing.T) *sandbox.Box {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	box := sandbox.New(sandbox.Options{})
	if found := box.Probe(t.Context()); len(found.Missing()) > 0 {
		t.Skip("no sandbox here:", found.Missing())
	}
	return box
}

// grant gives a plugin all that it asks for.
func grant(t *testing.T, dir, name string) *grants.Store {
	t.Helper()
	folder, err := ownfile.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	asked, asks := plugins.Asked(load(t, dir), needs.Place{Folder: folder})[name]
	if !asks {
		t.Fatal("the plugin asks for nothing")
	}
	store := &grants.Store{}
	store.Give(&asked)
	return store
}

// Every kind of plugin works as it is made.
func TestEveryKindWorks(t *testing.T) {
	box := asking(t)
	for _, kind := range []string{"script", "mcp", "rpc"} {
		r := call(t, box, made(t, kind, nil), nil, plugin.Sources{Flags: []string{"extensions.w.greeting=Good day"}})
		b, _ := json.Marshal(r.Output)
		if r.Status != tools.OK || !strings.Contains(string(b), "Good day, Ada!") {
			t.Errorf("%s: %+v %v", kind, r, r.Error)
		}
	}
}

// The plugin that replaces models answers for them once it is granted; else the run does not
// begin.
func TestTheOverrideKindWorks(t *testing.T) {
	box, more := asking(t), filepath.Dir(made(t, "override", nil))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "project.json"), `{"id": "p", "plugins": ["w"]}`)
	write(t, filepath.Join(dir, "agent_profiles/a.yaml"), "{id: a, name: A, version: 1.0.0, schema_version: '1.0', core_deliberation_workflow_id: std/core}")
	write(t, filepath.Join(dir, "scenes/main.yaml"), "{id: main, name: Main, agent_instances: [{instance_id: ada, profile_id: a}], simulation: {seed: 1, stop: {ticks: 2}}}")
	p, err := plugins.Load(dir, plugins.Loading{Plugins: more})
	if err == nil {
		err = plugins.Broken(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run")
	if _, err := runner.Start(p, runner.Options{Dir: run, Sandbox: box, Grants: &grants.Store{}}); protocol.KindOf(err) != protocol.KindDenied {
		t.Error(err)
	}
	store := &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{}) {
		store.Give(&a)
	}
	r, err := runner.Start(p, runner.Options{Dir: run, Sandbox: box, Grants: store, Config: plugin.Sources{Flags: []string{"extensions.w.greeting=Ahoy"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	v, err := inspect.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	sc, err := v.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	if err := sc.Scan(persistence.Query{Kinds: []string{"agent.model_answered", "agent.said"}}, func(r protocol.Record) error {
		x, err := r.Data.Value()
		said += fmt.Sprint(x)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "Ahoy, I am ada!") || !strings.Contains(said, "plugin:w/mind") {
		t.Error(said)
	}
}

func TestTheHTTPKindWorksWithAGrant(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"text": r.URL.Query().Get("greeting") + ", " + r.URL.Query().Get("who")})
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	dir := made(t, "http", map[string]func(string) string{"tools/hello.tool.yaml": replace("8077", port)})
	if r := call(t, nil, dir, nil, plugin.Sources{}); r.Status != tools.Denied || !strings.Contains(r.Error.Message, "plugin:w asks for net:127.0.0.1:"+port) {
		t.Errorf("without a grant: %+v %v", r, r.Error)
	}
	store := grant(t, dir, "w")
	if r := call(t, nil, dir, store, plugin.Sources{}); r.Status != tools.OK || r.Output.(map[string]any)["text"] != "Hello, Ada" {
		t.Errorf("%+v %v", r, r.Error)
	}
	// A changed file of the plugin, whichever it is, ends the grant.
	write(t, filepath.Join(dir, "tools/mock.yaml"), "rules: []\n")
	if r := call(t, nil, dir, store, plugin.Sources{}); r.Status != tools.Denied || !strings.Contains(r.Error.Message, "tools/mock.yaml has changed") {
		t.Errorf("changed: %+v %v", r, r.Error)
	}
}

// A plugin that asks for something has it as a whole, or none of its tools is called.
// Its secret reaches its program alone, and no answer has it.
func TestSecretsOfPlugins(t *testing.T) {
	box := asking(t)
	dir := made(t, "script", map[string]func(string) string{
		"plugin.yaml": func(text string) string {
			return text + "  - {key: extensions.w.token, type: string, min: 8, secret: true}\n"
		},
		"tools/hello.py": replace(`who + "!"`, `os.environ.get("SIMD_CONFIG_TOKEN", "nothing")`),
	})
	file := filepath.Join(t.TempDir(), "plugins.yaml")
	write(t, file, "extensions.w.token: swordfish-1974\nextensions.other.x: 1\n")
	if r := call(t, box, dir, nil, plugin.Sources{File: file}); r.Status != tools.Denied || !strings.Contains(r.Error.Message, "config:token") {
		t.Errorf("without a grant: %+v %v", r, r.Error)
	}
	r := call(t, box, dir, grant(t, dir, "w"), plugin.Sources{File: file})
	b, _ := json.Marshal(r)
	if strings.Contains(string(b), "swordfish") || !strings.Contains(string(b), "extensions.w.token") {
		t.Errorf("the secret: %s", b)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (plugin.Sources{File: file}).Read(nil); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

// A run keeps its plugins and the operator's values, wherever they lay; a changed copy is
// refused.
func TestARunKeepsItsPlugins(t *testing.T) {
	more := filepath.Dir(made(t, "script", nil))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "project.json"), `{"id": "p", "plugins": ["w"]}`)
	write(t, filepath.Join(dir, "scenes/main.yaml"), "{id: main, name: Main, agent_instances: [], simulation: {seed: 1, stop: {ticks: 3}}}")
	if _, err := plugins.Load(dir, plugins.Loading{}); err == nil || !strings.Contains(err.Error(), `there is no plugin "w"`) {
		t.Error(err)
	}
	p, err := plugins.Load(dir, plugins.Loading{Plugins: more})
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(p, runner.Options{Dir: run, Tools: tooling.Mock, Config: plugin.Sources{Flags: []string{"extensions.w.greeting=Ahoy"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	m, read, err := rundir.Read(run)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := read.Tool("w:hello"); !ok || len(m.Given) != 1 || m.Given[0].Plugins["w"]["greeting"] != "Ahoy" {
		t.Errorf("%+v", m.Given)
	}
	f, err := os.OpenFile(filepath.Join(rundir.Inputs(run), "plugins/w/tools/hello.py"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(f, "#\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, changed := rundir.Read(run); err != nil || protocol.KindOf(changed) != protocol.KindConflict {
		t.Error(err, changed)
	}
	at, err := ownfile.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := plugins.List(p, needs.Place{Folder: at}, dir, more, nil)
	if err != nil || len(lines) != 1 || lines[0].State != "on" || lines[0].Grant != "none" {
		t.Error(lines, err)
	}
}
