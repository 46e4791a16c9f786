package tooling_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools"
	"tavernsim/tools/grants"
	"tavernsim/tools/plugin"
)

// taken is a project in which a service carries requests and scripts out, and has the secrets.
const taken = minimal + `
-- project.json --
{"id": "test", "plugins": [{"name": "hands"}]}
-- plugins/hands/plugin.yaml --
name: hands
version: 1.0.0
services: {h: {command: python3 ./hands.py}}
overrides: [{interface: "executor:http", service: h}, {interface: "executor:script", service: h}, {interface: secret_store, service: h}]
permissions: {services: {override: ["executor:http", "executor:script", secret_store]}}
configOptions:
  - {key: extensions.hands.open, type: string, default: plain}
  - {key: extensions.hands.token, type: string, secret: true}
-- plugins/hands/tools/own.tool.yaml --
id: hands:own
implementation: {type: http, method: POST, url: "https://own.example/x", headers: {A: "$CONFIG{open}", B: "$CONFIG{token}"}}
-- plugins/hands/hands.py --
import json, sys
def said(q):
    p = q["params"]
    if q["method"] == "executor/call":
        if p["params"].get("q") == "no": return None
        return {"output": {"did": p["implementation"], "params": p["params"], "tool": p["tool"], "key": len(p["key"])}}
    if q["method"] == "secret/get":
        if p["name"] == "missing": return None
        return {"value": "hi" if p["name"] == "short" else "Tr0ub4dor-" + p["name"]}
    return {"protocol": 1} if q["method"] == "initialize" else {}
for line in sys.stdin:
    q = json.loads(line)
    if "id" not in q: continue
    m = {"jsonrpc": "2.0", "id": q["id"]}
    r = said(q)
    m.update({"result": r} if r is not None else {"error": {"code": 1, "message": "hands off Tr0ub4dor-bank", "data": {"kind": "denied"}}})
    print(json.dumps(m), flush=True)
-- tools/far.tool.yaml --
id: far
parameters: {properties: {q: {type: string}}}
implementation: {type: http, url: "https://far.example/x"}
-- tools/keyed.tool.yaml --
id: keyed
needs: ["secret:bank"]
implementation: {type: http, url: "https://far.example/x", headers: {K: "$KARYI{bank}"}}
-- tools/local.tool.yaml --
id: local
implementation: {type: script, command: python3 ./local.py}
-- tools/local.py --
print(1)
`

// bought are tools that need secrets.
const bought = `
-- tools/spend.tool.yaml --
id: spend
needs: ["secret:bank"]
implementation: {type: script, command: python3 ./spend.py}
-- tools/spend.py --
import json, os
v = os.environ["SIMD_SECRET_bank"]
print(json.dumps({"has": len(v), "leaks": v}))
-- tools/lost.tool.yaml --
id: lost
needs: ["secret:missing"]
implementation: {type: script, command: "true"}
-- tools/short.tool.yaml --
id: short
needs: ["secret:short"]
implementation: {type: script, command: "true"}
`

func takenSet(t *testing.T, text string, give *grants.Store) (*tooling.Set, *project.Project, error) {
	t.Helper()
	box := withPython(t)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	if give == nil {
		give = &grants.Store{}
		for _, a := range needs.Of(p, needs.Place{}) {
			give.Give(&a)
		}
	}
	set, err := tooling.New(tooling.Options{
		Project: p, Run: "r", Sandbox: box, Grants: give,
		Given: plugin.Given{{From: plugin.FromFile, Plugins: map[string]map[string]any{"hands": {"token": "Sesame-9f3k2q"}}}},
	})
	if err == nil {
		t.Cleanup(func() { _ = set.Close() })
	}
	return set, p, err
}

// A service carries tools out in the place of their executor. It is told what their definition
// says, but no secret.
func TestExecutorsOfPlugins(t *testing.T) {
	set, p, err := takenSet(t, taken, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, q, want string
	}{
		{"far", "x", "https://far.example/x"}, {"far", "no", "hands off"}, {"local", "", "python3 ./local.py"},
		{"keyed", "", "the tool keyed needs secrets, and the service hands/h, which carries it out, is given none"},
		{"hands:own", "", "A:plain B: "},
	} {
		tool, _ := p.Tool(c.tool)
		params := map[string]any{}
		if c.q != "" {
			params["q"] = c.q
		}
		r := set.Try(t.Context(), tool, params, 0)
		text := fmt.Sprint(r.Output, r.Error)
		if strings.Contains(c.want, "B: ") {
			text = strings.ReplaceAll(text, "]", " ")
		}
		if !strings.Contains(text, c.want) || strings.Contains(text, "Sesame") || (r.Status == tools.OK) == (c.q == "no" || c.tool == "keyed") {
			t.Errorf("%s: %+v %s, want %s", c.tool, r, text, c.want)
		}
	}
}

// A service has the secrets in the place of the operator's file: a tool gets what it says, and
// outputs are without it.
func TestSecretsOfPlugins(t *testing.T) {
	text := strings.NewReplacer(`, {interface: "executor:script", service: h}`, "", `, "executor:script"`, "").Replace(taken)
	set, p, err := takenSet(t, text+bought, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, want string }{ // a value is known once it was given
		{"spend", "has:14 leaks:$KARYI{bank}"}, {"lost", "the secret missing: plugin:hands/h: hands off $KARYI{bank}"}, {"short", "the secret short of plugin:hands/h"},
	} {
		x, _ := p.Tool(c.tool)
		r := set.Try(t.Context(), x, map[string]any{}, 0)
		if text := fmt.Sprint(r.Output, r.Error); !strings.Contains(text, c.want) || strings.Contains(text, "Tr0ub4dor") || r.Status != tools.OK && r.Error.Kind != protocol.KindDenied {
			t.Errorf("%s: %s, want %s", c.tool, text, c.want)
		}
	}
}

// Without the grant a scene does not begin, and a call on its own is denied.
func TestOverridesAreGranted(t *testing.T) {
	if _, _, err := takenSet(t, taken, &grants.Store{}); protocol.KindOf(err) != protocol.KindDenied || !strings.Contains(err.Error(), "the service hands/h replaces executor:http: plugin:hands asks for") {
		t.Error(err)
	}
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(taken))), nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.ForTries(tooling.Options{Project: p, Run: "r", Sandbox: withPython(t), Grants: &grants.Store{}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tool, _ := p.Tool("local") // it asks for nothing itself
	if r := set.Try(t.Context(), tool, map[string]any{}, 0); r.Status != tools.Denied || !strings.Contains(r.Error.Message, "plugin:hands") {
		t.Errorf("%+v", r)
	}
}
