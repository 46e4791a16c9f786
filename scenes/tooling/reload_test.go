package tooling_test

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/effect"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/own"
	"tavernsim/tools"
	"tavernsim/tools/approvals"
	"tavernsim/tools/grants"
	"tavernsim/tools/rpc"
	"tavernsim/tools/toolreplay"
)

// reloaded is a project in which one plugin has a part in what lasts, and another one is edited.
const reloaded = `
-- project.json --
{"id": "test", "plugins": [{"name": "mind"}, {"name": "hands"}]}
-- plugins/mind/plugin.yaml --
name: mind
version: 1.0.0
services: {m: {command: python3 ./serve.py}, other: {command: python3 ./serve.py}}
LASTS
-- plugins/mind/serve.py --
SERVE
-- plugins/hands/plugin.yaml --
name: hands
version: VERSION
services: {h: {command: python3 ./serve.py}}
-- plugins/hands/tools/wave.tool.yaml --
id: hands:wave
implementation: {type: service, name: h}
-- plugins/hands/serve.py --
SERVE
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

const waver = `import json, sys
def say(m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
def said(q):
    if q["method"] == "initialize": return {"result": {"protocol": 1}}
    if q["method"] == "tool/call": return {"result": {"output": "waved"}}
    if q["method"] == "calls":
        say({"id": 1, "method": "service/call", "params": {"service": "other", "method": "x", "params": {}}})
        answer = json.loads(sys.stdin.readline())
        return {k: answer[k] for k in ("result", "error") if k in answer}
    return {"result": {}}
for line in sys.stdin:
    q = json.loads(line)
    if "id" in q: say({"id": q["id"], **said(q)})
`

// edition is that project with a version of the plugin that is edited.
func edition(t *testing.T, lasts, version string) *project.Project {
	t.Helper()
	text := strings.NewReplacer("LASTS", lasts, "SERVE\n", waver, "VERSION", version).Replace(reloaded)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
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

// goOn lets a set go on with another edition, and gives the set of that.
func goOn(t *testing.T, set, before *tooling.Set, p *project.Project) *tooling.Set {
	t.Helper()
	next, err := set.Next(p, "", own.Files{Grants: grantAll(p)})
	if err != nil {
		t.Fatal(err)
	}
	set.Go(next)
	before.Retire()
	return next
}

// asks reports why a service of a set gives no answer; "" = it does.
func asks(t *testing.T, set *tooling.Set, service, method string) string {
	t.Helper()
	_, failed := set.Services().Ask(t.Context(), &rpc.Request{Service: service, Method: method, Params: map[string]any{}})
	if failed != nil {
		return failed.Error.Message
	}
	return ""
}

const hooksOfCalls = `permissions: {hooks: ["hook:tool:before-call"]}
hooks: [{hook: "tool:before-call", service: m, fail: closed, timeout: 60s}]`

// What a service stands for goes on over every edition with the program that it had, also if that was
// not started before the first one. The programs of other editions end with them, and all with the scene.
func TestWhatLastsOverEditions(t *testing.T) {
	box := withPython(t)
	for name, lasts := range map[string]string{
		"model": "overrides: [{interface: model, service: m}]\npermissions: {services: {override: [model]}}", "embedder": "overrides: [{interface: embedder, service: m}]\npermissions: {services: {override: [embedder]}}",
		"approver": "overrides: [{interface: approver, service: m}]\npermissions: {services: {override: [approver]}}", "hooks": hooksOfCalls,
	} {
		t.Run(name, func(t *testing.T) {
			p := edition(t, lasts, "1.0.0")
			first, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Grants: grantAll(p)})
			if err != nil {
				t.Fatal(err)
			}
			defer first.Close()
			second := goOn(t, first, first, edition(t, lasts, "1.0.1"))
			wave := func(s *tooling.Set) tools.Result {
				t.Helper()
				tool, _ := p.Tool("hands:wave")
				return s.Try(t.Context(), tool, map[string]any{}, 0)
			}
			if why := asks(t, first, "mind/m", "x"); why != "" {
				t.Errorf("after one reload: %s", why)
			}
			if r := wave(second); r.Status != tools.OK {
				t.Errorf("%+v", r.Error)
			}
			third := goOn(t, first, second, edition(t, lasts, "1.0.2"))
			if why := asks(t, first, "mind/m", "x"); why != "" {
				t.Errorf("after two: %s", why)
			}
			if r := wave(third); r.Status != tools.OK {
				t.Errorf("%+v", r.Error)
			}
			if why := asks(t, second, "hands/h", "x"); !strings.Contains(why, "the scene has ended") {
				t.Errorf("the second edition has its programs after the third: %q", why)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			for _, s := range []*tooling.Set{first, second, third} {
				if why := asks(t, s, "mind/m", "x"); !strings.Contains(why, "the scene has ended") {
					t.Errorf("after the scene: %q", why)
				}
			}
		})
	}
}

// A grant that is taken back counts after an edition as before one: a hook is not asked, and no
// service calls one of that plugin.
func TestRevokedAfterAnEdition(t *testing.T) {
	box, p := withPython(t), edition(t, hooksOfCalls, "1.0.0")
	first, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Grants: grantAll(p)})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	p = edition(t, hooksOfCalls, "1.0.1")
	second := goOn(t, first, first, p)
	wave := func() tools.Result {
		tool, _ := p.Tool("hands:wave")
		return second.Try(t.Context(), tool, map[string]any{}, 0)
	}
	if r := wave(); r.Status != tools.OK {
		t.Fatalf("%+v", r.Error)
	}
	if why := asks(t, first, "mind/m", "calls"); why != "" {
		t.Error(why)
	}
	take, err := first.Renewed(own.Files{Grants: &grants.Store{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := take(); err != nil {
		t.Fatal(err)
	}
	if r := wave(); r.Status != tools.Denied || !strings.Contains(r.Error.Message, "the hook tool:before-call of the service mind/m: plugin:mind asks for") {
		t.Errorf("%+v %+v", r, r.Error)
	}
	if why := asks(t, first, "mind/m", "calls"); !strings.Contains(why, "plugin:mind asks for") {
		t.Errorf("the service calls another one: %q", why)
	}
}

// answers gives a value to whoever asks.
type answers struct{}

func (answers) Ask(context.Context, *approvals.Question) (approvals.Verdict, error) {
	return approvals.Verdict{Yes: true, Value: "Tr0ub4dor-9f3k2q"}, nil
}

// A scene that goes on in a later edition asks the people of this process.
func TestWhoIsAskedInALaterEdition(t *testing.T) {
	const wants = "-- agent_profiles/b.yaml --\nid: b\nname: B\nversion: \"1.0.0\"\nschema_version: \"1.0\"\ncore_deliberation_workflow_id: std/core\ntool_ids_inventory: [command, get_value]"
	p := edition(t, wants, "1.0.0")
	first, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: withPython(t), Grants: grantAll(p)})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	p = edition(t, wants, "1.0.1")
	second := goOn(t, first, first, p)
	first.Asking(tooling.Leave{Door: answers{}}, false)
	tool, ok := p.Tool("get_value")
	if !ok {
		t.Fatal("no get_value")
	}
	if r := second.Try(t.Context(), tool, map[string]any{"key": "TOKEN", "reason": "to push"}, 0); r.Status != tools.OK {
		t.Errorf("%+v %+v", r, r.Error)
	}
}

// Without programs too, a call is answered by the edition that counts; the replay of all is counted as one.
func TestQuietModesAnswerFromTheNewestEdition(t *testing.T) {
	const mocked = `
-- plugins/hands/tools/mock.yaml --
otherwise: ANSWER
-- plugins/hands/tools/SECOND.tool.yaml --
id: hands:SECOND
implementation: {type: service, name: h}
`
	load := func(answer, second string) *project.Project {
		text := strings.NewReplacer("LASTS", "", "SERVE\n", waver, "VERSION", "1.0.0", "ANSWER", answer, "SECOND", second).Replace(reloaded + mocked)
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, mode := range []tooling.Mode{tooling.Mock, tooling.Replay} {
		set, err := tooling.New(tooling.Options{Project: load("first", "bow"), Run: "r", Mode: mode, Recorded: &toolreplay.Answers{}})
		if err != nil {
			t.Fatal(err)
		}
		x := set.Entries()[0].Executor.(outside.Instant)
		ask := func(tool string) effect.Answered {
			return x.Answer(&effect.Ask{Kind: "tool", Number: 1, First: 1, Call: &protocol.Call{Tool: tool}, Model: protocol.ModelRequest{Agent: "a", Turn: 1, Draw: protocol.NewDraw(1)}})
		}
		if a := ask("hands:wave"); mode == tooling.Mock && a.Output != "first" {
			t.Errorf("before: %+v", a)
		}
		next, err := set.Next(load("second", "nod"), "", own.Files{})
		if err != nil {
			t.Fatal(err)
		}
		set.Go(next)
		if a := ask("hands:wave"); mode == tooling.Mock && a.Output != "second" {
			t.Errorf("after: %+v", a)
		}
		if a := ask("hands:nod"); mode == tooling.Mock && a.Output != "second" {
			t.Errorf("a new tool: %+v", a)
		}
		if given, missed := set.Replayed(); mode == tooling.Replay && (given != 0 || missed != 3) {
			t.Errorf("%d given, %d missed", given, missed)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}
