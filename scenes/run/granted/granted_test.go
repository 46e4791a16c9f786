package granted_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/control"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/tooling/own"
	"tavernsim/tools/grants"
	"tavernsim/tools/secrets"
)

const reloaded = `
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- models/m.yaml --
rules: [{answer: {calls: [{tool: shop.ask}]}}]
-- tools/ask.tool.yaml --
id: shop.ask
implementation: {type: http, url: "http://127.0.0.1:PORT/", headers: {X-Key: "$KARYI{key}"}}
needs: ["net:127.0.0.1:PORT", "secret:key"]
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [shop.ask]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 7}}
`

func keyOf(t *testing.T, value string) *secrets.Store {
	t.Helper()
	s, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"key": {Value: value, Tools: []string{"shop.ask"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Promises 1, 2 and 3: a run under way takes grants and secrets anew: they count for the calls that follow, and stay
// in its manifest. Files with a fault change nothing, and the files of the project stay.
func TestReload(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Header.Get("X-Key"))
		_, _ = w.Write([]byte("firstsecret-1234 " + r.Header.Get("X-Key"))) // neither may be kept
	}))
	defer server.Close()
	files := scenestest.Files(txtar.Parse([]byte(strings.ReplaceAll(reloaded, "PORT", server.URL[strings.LastIndexByte(server.URL, ':')+1:]))))
	p, err := scenestest.Load(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	all := &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{Folder: dir}) {
		all.Give(&a)
	}
	first, second := keyOf(t, "firstsecret-1234"), keyOf(t, "secondsecret-9876")
	now, fault := &granted.Reread{Files: own.Files{Grants: all, Secrets: first}, Project: p}, error(nil)
	r, err := runner.Start(p, runner.Options{
		Dir: filepath.Join(t.TempDir(), "run"), ProjectDir: dir, Grants: &grants.Store{}, Secrets: first,
		Control: []control.Command{{Do: control.Pause}},
		Reread:  func() (*granted.Reread, error) { return now, fault },
	})
	if err != nil {
		t.Fatal(err)
	}
	run := r.Scenes[0].Run
	step := func(want ...string) {
		t.Helper()
		if _, err := run.Control(t.Context(), &control.Command{Do: control.Step, Turns: 1}); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(keys, " "); got != strings.Join(want, " ") {
			t.Errorf("the server got %q, want %q", got, want)
		}
	}
	reload := func(kind protocol.ErrorKind, said string, want ...string) {
		t.Helper()
		changed, err := r.Reload()
		if (err == nil) != (kind == "") || err != nil && (protocol.KindOf(err) != kind || !strings.Contains(err.Error(), said)) || strings.Join(changed, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q, %v", changed, err)
		}
	}
	step() // nothing is granted
	has := "net:" + server.Listener.Addr().String() + ", secret:key"
	reload("", "", "shop.ask had nothing and has "+has)
	step("firstsecret-1234")
	reload("", "")
	now.Secrets = second
	reload("", "", "the secret key has another value")
	step("firstsecret-1234", "secondsecret-9876")
	fault = protocol.Errorf(protocol.KindInvalid, "secrets.json: wrong")
	reload(protocol.KindInvalid, "nothing has changed: secrets.json: wrong")
	step("firstsecret-1234", "secondsecret-9876", "secondsecret-9876")
	fault = nil
	if now.Project, err = scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.ReplaceAll(reloaded, "PORT", "9")+"-- tools/none.tool.yaml --\nid: none\nimplementation: {type: service, name: none}\n"))), nil); err != nil {
		t.Fatal(err)
	}
	now.Grants = &grants.Store{}
	reload(protocol.KindConflict, "does not read again: tools/ask.tool.yaml, tools/none.tool.yaml (new).", "shop.ask had "+has+" and has nothing")
	step("firstsecret-1234", "secondsecret-9876", "secondsecret-9876") // taken away
	now.Project, now.Fault = nil, errors.New("a fault")
	reload(protocol.KindConflict, "keeps the files that it began with: a fault")
	if _, err := run.Control(t.Context(), &control.Command{Do: control.Resume}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if g := r.Manifest.Grants; len(g) != 3 || len(g[0].Tools) != 0 || len(g[1].Tools) != 1 || len(g[2].Tools) != 0 {
		t.Error(g)
	}
	if f := r.Own(); f.Secrets != second {
		t.Error("the run ends with other secrets than it took")
	}
	checkReloaded(t, r.Dir)
}

// Promise 2, before there are scenes: the files of the project that differ are named.
func TestReloadWithoutScenes(t *testing.T) {
	load := func(port string) *project.Project {
		t.Helper()
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.ReplaceAll(reloaded, "PORT", port)))), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	r := &granted.Run{Project: load("8"), Log: slog.New(slog.DiscardHandler), Again: func() (*granted.Reread, error) { return &granted.Reread{Project: load("9")}, nil }}
	if err := r.Begin(t.TempDir(), &rundir.Manifest{}, own.Files{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reload(nil); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "does not read again: tools/ask.tool.yaml.") {
		t.Error(err)
	}
}

// checkReloaded: what was decided is decided again without the files, and no secret was kept.
func checkReloaded(t *testing.T, dir string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "secret-1234") || strings.Contains(string(data), "secret-9876") {
			t.Errorf("%s has a secret", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if again, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{Verify: true}); err != nil || again.Scenes[0].Differs() {
		t.Errorf("%+v %v", again, err)
	}
}
