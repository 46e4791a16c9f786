package hooks_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/effect"
	"tavernsim/engine/agent/hook"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling/hooks"
	"tavernsim/tools/plugin"
	"tavernsim/tools/rpc"
	"tavernsim/tools/sandbox"
)

func TestMain(m *testing.M) {
	if code, worker := sandbox.Reexec(os.Args); worker {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// Two plugins look at workflows. The service of one says so if two hooks ask it at once.
const two = `
-- project.json --
{"id": "test", "plugins": [{"name": "b"}, {"name": "a"}]}
-- plugins/a/plugin.yaml --
name: a
version: 1.0.0
services: {s: {command: python3 ./s.py plus}}
permissions: {hooks: ["hook:workflow:before-execute"]}
hooks: [{hook: "workflow:before-execute", service: s, fail: open, timeout: 60s}]
-- plugins/a/s.py --
PROGRAM
-- plugins/b/plugin.yaml --
name: b
version: 1.0.0
services: {s: {command: python3 ./s.py}}
permissions: {hooks: ["hook:workflow:before-execute"]}
hooks: [{hook: "workflow:before-execute", service: s, fail: closed, timeout: 60s, priority: 1}]
-- plugins/b/s.py --
PROGRAM
-- workflows/brew.yaml --
interfaceInputs: {what: {dataFlowType: STRING, required: true}}
interfaceOutputs: {made: {dataFlowType: STRING}}
nodes: [{id: in, type: GroupInput}, {id: out, type: GroupOutput}]
edges: [{source: in, sourceHandle: what, target: out, targetHandle: made}]
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
`

const program = `import json, os, select, sys
plus = len(sys.argv) > 1
def asked(p):
    what = p["inputs"]["what"]
    if select.select([0], [], [], 0.05)[0]: return {"veto": "two ask at once"}
    if plus: return {"inputs": {"what": what + "+"}}
    return {"mint": {"inputs": {"what": "sage"}}, "poison": {"veto": "never"}, "odd": {"inputs": {"what": [1]}}, "one": {"inputs": {"what": 1}}}.get(what, {})
rest = b""
while True:
    data = os.read(0, 65536)
    if not data: break
    *lines, rest = (rest + data).split(b"\n")
    for line in lines:
        q = json.loads(line)
        result = {"protocol": 1} if q["method"] == "initialize" else asked(q["params"]) if q["method"] == "hook/call" else {}
        if "id" in q: print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
`

func opened(t *testing.T, refused error) *hooks.Hooks {
	t.Helper()
	box := sandbox.New(sandbox.Options{})
	report := box.Probe(t.Context())
	if missing := report.Missing(); len(missing) > 0 {
		t.Skipf("no sandbox here: %v", missing)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.ReplaceAll(two, "PROGRAM\n", program)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []rpc.Service
	for _, name := range protocol.SortedKeys(p.Services()) {
		x := p.Services()[name]
		list = append(list, rpc.Service{Name: name, Words: x.Script.Words(), Files: x.Script.Files()})
	}
	services := rpc.New(list, rpc.Options{Sandbox: box})
	t.Cleanup(func() { _ = services.Close() })
	x := hooks.Of(p)
	checkAbsent(t, p, x)
	x.Open(services, func(name string) error {
		if name == "b" {
			return refused
		}
		return nil
	}, func(text string) string { return text }, func(v any) (any, error) { return v, nil })
	return x
}

// checkAbsent: hooks that are not open are known, and not asked.
func checkAbsent(t *testing.T, p *project.Project, x *hooks.Hooks) {
	t.Helper()
	if len(p.Plugins()) != 2 || x.Plugin() == "" || !x.Turns() || len(x.At(plugin.BeforeExecute)) > 0 {
		t.Errorf("%v: %q, turns %t, %d are asked", p.Plugins(), x.Plugin(), x.Turns(), len(x.At(plugin.BeforeExecute)))
	}
}

func question(what string) *effect.Ask {
	told := map[string]any{"workflow": "brew", "purpose": "skill", "inputs": map[string]any{"what": what}}
	return &effect.Ask{Kind: effect.KindHook, Number: 1, Call: &protocol.Call{Tool: hook.BeforeExecute, Params: told}}
}

// Promises 1 and 3: the order of priority, then of names; each is told what the one before it
// made; a veto ends it; what does not fit the workflow is a failure.
func TestAnswer(t *testing.T) {
	x := opened(t, nil)
	for what, want := range map[string]struct{ now, veto, did string }{
		"mint":   {"sage+", "", "b changed a changed"},
		"tea":    {"tea+", "", "b nothing a changed"},
		"one":    {"1+", "", "b changed a changed"},
		"poison": {"", "the hook of the plugin b forbids it: never", "b forbade"},
		"odd":    {"", "inputs.what: want STRING", "b failed"},
	} {
		a, err := x.Answer(t.Context(), question(what))
		did := []string{}
		for _, s := range a.Steps {
			did = append(did, s.Plugin+" "+s.Did)
		}
		now, _ := a.Values["what"].(string)
		if err != nil || now != want.now || !strings.Contains(a.Veto, want.veto) || (a.Veto == "") != (want.veto == "") || strings.Join(did, " ") != want.did {
			t.Errorf("%s: %+v %v, want %+v", what, a, err, want)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := x.Answer(ended, question("tea")); protocol.KindOf(err) != protocol.KindCancelled {
		t.Errorf("a turn that has ended: %v", err)
	}
}

// Promise 2: a service is asked by one hook at a time.
func TestOneAtATime(t *testing.T) {
	x := opened(t, nil)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if a, err := x.Answer(t.Context(), question("tea")); err != nil || a.Veto != "" || a.Values["what"] != "tea+" {
				t.Errorf("%+v %v", a, err)
			}
		})
	}
	all.Wait()
}

// Promise 4: a hook without a grant is not asked, and fails as it says.
func TestRefused(t *testing.T) {
	a, err := opened(t, errors.New("nobody granted it")).Answer(t.Context(), question("mint"))
	if err != nil || !strings.Contains(a.Veto, "nobody granted it") || len(a.Steps) != 1 || a.Steps[0].Did != hook.Failed {
		t.Errorf("%+v %v", a, err)
	}
}
