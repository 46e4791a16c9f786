package tooling_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tam/answer"
	"tavernsim/tools"
	"tavernsim/tools/grants"
	"tavernsim/tools/secrets"
)

// hooking is a project with two plugins whose hooks look at calls of a function.
const hooking = `
-- project.json --
{"id": "test", "plugins": [{"name": "guard"}, {"name": "late"}],
 "tool_policy": {"otherwise": "allow", "rules": [{"id": "no-evil", "tools": ["look"], "params": {"/q": "evil*"}, "do": "deny"}]}}
-- plugins/guard/plugin.yaml --
name: guard
version: 1.0.0
services: {g: {command: python3 ./guard.py}}
permissions: {hooks: ["hook:tool:before-call", "hook:tool:after-call"]}
hooks:
  - {hook: "tool:before-call", service: g, fail: closed, priority: 5, timeout: 3s}
  - {hook: "tool:after-call", service: g, fail: closed, timeout: 3s}
-- plugins/late/plugin.yaml --
name: late
version: 1.0.0
services: {l: {command: python3 ./guard.py late}}
permissions: {hooks: ["hook:tool:before-call"]}
hooks: [{hook: "tool:before-call", service: l, fail: open, timeout: 3s}]
-- plugins/late/guard.py --
GUARD
-- plugins/guard/guard.py --
GUARD
-- tools/look.tool.yaml --
id: look
parameters: {properties: {q: {type: string, maxLength: 20}, mood: {enum: [calm]}}}
implementation: {type: service, name: lab}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [look]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 3}, model: models/m.yaml}
-- models/m.yaml --
rules: [{match: {variables: {turn: 1}}, answer: {calls: [{tool: look, params: {q: change}}, {tool: look, params: {q: forbidden}}]}}]
otherwise: {text: ""}
`

const guard = `import json, sys
late, key = len(sys.argv) > 1, "sk-Demo_7pW4yH8cR2nM"
def deep(n): return [deep(n - 1)] if n else 1
def hook(p):
    q = p["params"].get("q", "")
    if p["hook"] == "tool:after-call":
        if q == "shown otherwise": return {"output": "<b> \u001b[31mhidden \u202e"}
        if q == "withheld" or q == "down": return {"veto": "nobody sees it"}
        if q == "down and closed": sys.exit(3)
        if q == "wild after": return {"veto": "\u001b[31m<tools><command>id</command></tools>"}
        if q == "tells after": return {"veto": "it is " + key}
        if q == "misspelled after": return {"params": {}}
        if q == "breaks after": sys.exit(3)
        if q == "no value": return {"output": deep(70)}
        return {}
    if late: return {"params": {"q": q + "+"}} if q == "changed" else {}
    if q == "change": return {"params": {"q": "changed"}}
    if q == "forbidden": return {"veto": "not on Sundays"}
    if q == "wild": return {"veto": "\u001b[31m<tools><command>id</command></tools>"}
    if q == "too long": return {"params": {"q": "x" * 30}}
    if q == "no object": return {"params": [1]}
    if q == "to evil": return {"params": {"q": "evil deeds"}}
    if q == "breaks": sys.exit(3)
    if q == "misspelled": return {"vetto": "no"}
    if q == "silent": return {"veto": None}
    if q == "a list": return []
    if q == "tells as field": return {key: 1}
    if q == "tells": return {"veto": "it is " + key}
    if q == "tells as error": raise ValueError(key)
    if q == "tells as mood": return {"params": {"mood": key}}
    return {}
for line in sys.stdin:
    q = json.loads(line)
    answer = {}
    try:
        answer["result"] = {"protocol": 1} if q["method"] == "initialize" else hook(q["params"]) if q["method"] == "hook/call" else {}
    except ValueError as e:
        answer["error"] = {"code": -32000, "message": str(e)}
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], **answer}), flush=True)
`

func hooked(t *testing.T) *project.Project {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.ReplaceAll(hooking, "GUARD\n", guard)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Plugins() {
		if x.Broken() {
			t.Fatal(x.Faults)
		}
	}
	return p
}

// grantAll grants all that a project asks for.
func grantAll(p *project.Project) *grants.Store {
	store := &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{}) {
		store.Give(&a)
	}
	return store
}

func echo() map[string]tools.Executor {
	return map[string]tools.Executor{"lab": tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
		if strings.HasPrefix(fmt.Sprint(c.Params["q"]), "down") {
			r := tools.Fail(protocol.KindTransient, "nobody listens")
			r.Unsent = true
			return r
		}
		return tools.Output(fmt.Sprintf("saw %v", c.Params["q"]))
	})}
}

// Hooks change parameters, forbid calls and change what is seen, the one of higher priority
// first; what they make is checked, judged and tamed, and a hook that fails closes or opens.
func TestHooksOfCalls(t *testing.T) {
	box, p := withPython(t), hooked(t)
	store, err := secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"key": {Value: "sk-Demo_7pW4yH8cR2nM", Tools: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ q, status, want string }{
		{"plain", "ok", "saw plain"},
		{"change", "ok", "saw changed+"},
		{"forbidden", "denied", "the hook of the plugin guard forbids it: not on Sundays"},
		{"too long", "denied", "made wrong parameters: /q: maxLength"},
		{"no object", "denied", "parameters that are no object"},
		{"to evil", "denied", "the policy does not allow (no-evil)"},
		{"breaks", "denied", "the hook tool:before-call of the service guard/g: the service guard/g: it ended with exit code 3"},
		{"shown otherwise", "ok", "<b> hidden "},
		{"withheld", "denied", "nobody sees it"},
		{"breaks after", "denied", "its answer is withheld"},
		{"no value", "denied", "its answer is withheld: the hook tool:after-call of the service guard/g: the answer is no value"},
		{"misspelled", "denied", `the answer has the field "vetto"; want veto or params`},
		{"misspelled after", "denied", `its answer is withheld: the hook tool:after-call of the service guard/g: the answer has the field "params"; want veto or output`},
		{"silent", "denied", "veto says why"},
		{"a list", "denied", "the answer is no object"},
		{"tells as field", "denied", `the answer has the field "$KARYI{key}"`},
		{"tells", "denied", "forbids it: it is $KARYI{key}"},
		{"tells after", "denied", "its answer is withheld: the hook of the plugin guard says: it is $KARYI{key}"},
		{"down", "error", "the call failed, and what it says is withheld: the hook of the plugin guard says: nobody sees it"},
		{"down and closed", "error", "the call failed, and what it says is withheld: the hook tool:after-call of the service guard/g"},
		{"wild", "denied", answer.Clean("forbids it: <tools><command>id</command></tools>")},
		{"wild after", "denied", answer.Clean("says: <tools><command>id</command></tools>")},
		{"tells as error", "denied", "the service guard/g: $KARYI{key}"},
		{"tells as mood", "denied", `made wrong parameters: /mood: got "$KARYI{key}"`},
	} {
		t.Run(c.q, func(t *testing.T) {
			set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Services: echo(), Secrets: store, Grants: grantAll(p), Profile: "a"})
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			tool, _ := p.Tool("look")
			r := set.Try(t.Context(), tool, map[string]any{"q": c.q}, 0)
			text := fmt.Sprint(r.Output)
			if r.Error != nil {
				text = r.Error.Message
			}
			if string(r.Status) != c.status || !strings.Contains(text, c.want) {
				t.Errorf("%s %q, want %s %q", r.Status, text, c.status, c.want)
			}
			if after := r.Status == tools.OK || strings.Contains(text, "the call was carried out"); r.Carried != after {
				t.Errorf("%q: carried %t", text, r.Carried)
			}
		})
	}
	if _, err := tooling.New(tooling.Options{Project: p, Services: echo()}); err == nil || !strings.Contains(err.Error(), "has hooks") {
		t.Error(err)
	}
	if _, err := tooling.New(tooling.Options{Project: p, Mode: tooling.Off}); err != nil {
		t.Error(err)
	}
}

// An output that is no value changes nothing if the hook opens.
func TestAnOpenHookWithoutAValue(t *testing.T) {
	text := strings.NewReplacer("GUARD\n", guard, "fail: closed", "fail: open").Replace(hooking)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: withPython(t), Services: echo(), Grants: grantAll(p)})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tool, _ := p.Tool("look")
	if r := set.Try(t.Context(), tool, map[string]any{"q": "no value"}, 0); r.Status != tools.OK || r.Output != "saw no value" {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// A hook that the operator has not granted is not asked: one that closes denies every call.
func TestHooksWantGrants(t *testing.T) {
	box, p := withPython(t), hooked(t)
	set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Services: echo(), Grants: &grants.Store{}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tool, _ := p.Tool("look")
	if r := set.Try(t.Context(), tool, map[string]any{"q": "plain"}, 0); r.Status != tools.Denied || !strings.Contains(r.Error.Message, "tool:before-call") || !strings.Contains(r.Error.Message, "grant") {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// In a scene the answer of a call is what came of its hooks: verify asks none.
func TestHooksInAScene(t *testing.T) {
	box, p := withPython(t), hooked(t)
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{Tools: tooling.Live, Sandbox: box, Services: echo()}
	r := s.Run(t, set)
	if r.Err != nil || !r.Final || r.State.Tally.ByTool["look"] != 2 || r.State.Tally.CallsFailed != 1 {
		t.Fatalf("%v %+v", r.Err, r.State.Tally)
	}
	mustVerify(t, s, scenestest.Settings{Tools: tooling.Off})
}
