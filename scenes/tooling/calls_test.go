package tooling_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/grants"
)

// calledServices are plugins whose services call others: sea may call tides, and not vault, on which
// it does not depend; wary asks for something.
const calledServices = `
-- project.json --
{"id": "test", "plugins": [{"name": "sea"}, {"name": "tides"}, {"name": "vault"}, {"name": "wary"}]}
-- plugins/sea/plugin.yaml --
name: sea
version: 1.0.0
dependencies: {tides: "^1", wary: "*"}
services: {s: {command: python3 ./s.py}, own: {command: python3 ./s.py}}
-- plugins/sea/s.py --
PROGRAM
-- plugins/sea/tools/ask.tool.yaml --
id: "sea:ask"
parameters: {properties: {to: {type: string}, method: {type: string}, ms: {type: integer}}}
implementation: {type: service, name: s}
-- plugins/tides/plugin.yaml --
name: tides
version: 1.2.0
services: {t: {command: python3 ./s.py}}
-- plugins/tides/s.py --
PROGRAM
-- plugins/vault/plugin.yaml --
name: vault
version: 1.0.0
services: {v: {command: python3 ./s.py}}
-- plugins/vault/s.py --
PROGRAM
-- plugins/wary/plugin.yaml --
name: wary
version: 1.0.0
services: {w: {command: python3 ./s.py}}
configOptions: [{key: extensions.wary.token, type: string, secret: true}]
-- plugins/wary/s.py --
PROGRAM
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

const calling = `import json, sys
pending, n = {}, 0
def send(m): print(json.dumps(dict(m, jsonrpc="2.0")), flush=True)
for line in sys.stdin:
    q = json.loads(line)
    if "method" not in q:                     # an answer of another service
        id = pending.pop(q["id"])
        send({"id": id, "result": {"output": q["result"] if "result" in q else {"error": q["error"]["message"], "kind": q["error"]["data"]["kind"]}}})
    elif q["method"] == "tool/call":
        p, n = q["params"]["params"], n + 1
        pending["c%d" % n] = q["id"]
        call = {"service": p["to"], "method": p.get("method", "height"), "params": {"harbour": "Brest"}}
        if "ms" in p: call["timeout_ms"] = p["ms"]
        send({"id": "c%d" % n, "method": "service/call", "params": call})
    elif q["method"] == "service/call":
        if q["params"]["method"] == "height": send({"id": q["id"], "result": {"height": 6.4, "told": q["params"]["params"], "from": q["params"]["from"]}})
        elif q["params"]["method"] == "refuse": send({"id": q["id"], "error": {"code": 1, "message": "no water", "data": {"kind": "not_found"}}})
    elif "id" in q:
        send({"id": q["id"], "result": {"protocol": 1} if q["method"] == "initialize" else {}})
`

// A service calls those of its plugin and of its plugin's dependencies, and no others; plugins
// that ask for something are called with their grants only.
func TestServicesCallOthers(t *testing.T) {
	box := withPython(t)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.ReplaceAll(calledServices, "PROGRAM\n", calling)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	tool, ok := p.Tool("sea:ask")
	if !ok {
		t.Fatal(p.Plugins()["sea"].Faults)
	}
	for _, granted := range []bool{true, false} {
		store := &grants.Store{}
		wary := "denied"
		if granted {
			store, wary = grantAll(p), "from:sea/s"
		}
		set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Grants: store})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			params map[string]any
			want   string
		}{
			{map[string]any{"to": "tides/t"}, "map[from:sea/s height:6.4 told:map[harbour:Brest]]"},
			{map[string]any{"to": "own"}, "from:sea/s"},
			{map[string]any{"to": "tides/t", "method": "refuse"}, "kind:not_found"},
			{map[string]any{"to": "tides/t", "method": "silent", "ms": int64(50)}, "no answer"},
			{map[string]any{"to": "vault/v"}, "may not call the service vault/v"},
			{map[string]any{"to": "nowhere/n"}, "there is no service nowhere/n"},
			{map[string]any{"to": "s"}, "a service does not call itself"},
			{map[string]any{"to": ""}, "want {service, method, params, timeout_ms}"},
			{map[string]any{"to": "wary/w"}, wary},
		} {
			r := set.Try(t.Context(), tool, c.params, 0)
			if got := fmt.Sprint(r.Output, r.Error); !strings.Contains(got, c.want) {
				t.Errorf("granted %t, %v: %s, want %s", granted, c.params, got, c.want)
			}
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

// ownServices are services of a project: b asks for something, c too, and no tool has it.
const ownServices = `
-- project.json --
{"id": "test"}
-- services/a.yaml --
{id: a, command: python3 ./s.py}
-- services/b.yaml --
{id: b, command: python3 ./s.py, needs: [exec]}
-- services/c.yaml --
{id: c, command: python3 ./s.py, needs: [exec]}
-- services/s.py --
PROGRAM
-- tools/ask.tool.yaml --
id: ask
parameters: {properties: {to: {type: string}, method: {type: string}, ms: {type: integer}}}
implementation: {type: service, name: a}
-- tools/b1.tool.yaml --
{id: b1, implementation: {type: service, name: b}}
-- tools/b2.tool.yaml --
{id: b2, implementation: {type: service, name: b}}
-- scenes/s.yaml --
{id: s, name: S, agent_instances: []}
`

// A service of the project that asks for something is called by others only when one of its tools has
// the grant: else a service that asks for nothing would start it, and reach what it reaches.
func TestServicesCallNoneWithoutGrant(t *testing.T) {
	box := withPython(t)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.ReplaceAll(ownServices, "PROGRAM\n", calling)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	one := &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{}) {
		if a.Tool == "b2" {
			one.Give(&a)
		}
	}
	tool, _ := p.Tool("ask")
	for _, c := range []struct {
		store    *grants.Store
		to, want string
	}{
		{nil, "b", "b1 asks for exec, which nobody has granted"},
		{one, "b", "from:a"},
		{one, "c", "the service c asks for exec, and no tool of it"},
	} {
		set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Grants: c.store})
		if err != nil {
			t.Fatal(err)
		}
		r := set.Try(t.Context(), tool, map[string]any{"to": c.to}, 0)
		if got := fmt.Sprint(r.Output, r.Error); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.to, got, c.want)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}
