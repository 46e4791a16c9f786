package tooling_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/hook"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/grants"
)

// around is a scene whose turns, workflows and moments have hooks: skills with other inputs
// and outputs, forbidden ones, wrong answers, one that stays away, and an agent that may not
// deliberate in its second turn.
const around = `
-- project.json --
{"id": "test", "model": "models/m.yaml", "plugins": [{"name": "guard"}, {"name": "late"}]}
-- plugins/guard/plugin.yaml --
name: guard
version: 1.0.0
services: {g: {command: python3 ./guard.py}}
permissions: {hooks: ["hook:agent:before-deliberate", "hook:workflow:before-execute", "hook:workflow:after-execute", "hook:scene:start", "hook:scene:end"]}
hooks:
  - {hook: "agent:before-deliberate", service: g, fail: closed, timeout: 60s}
  - {hook: "workflow:before-execute", service: g, fail: FAIL, timeout: 60s, priority: 1}
  - {hook: "workflow:after-execute", service: g, fail: open, timeout: 60s}
  - {hook: "scene:start", service: g, fail: open, timeout: 60s}
  - {hook: "scene:end", service: g, fail: open, timeout: 60s}
-- plugins/guard/guard.py --
import json, sys
def asked(p):
    hook, flow = p["hook"], p.get("workflow")
    if hook == "agent:before-deliberate":
        if p["turn"] == 2 and p["agent"] == "a_1": return {"veto": "a_1 rests"}
        return {"observations": ["told of " + str(len(p["events"]))]} if p["turn"] == 1 else {}
    if hook == "workflow:before-execute" and flow == "skills/brew":
        what = p["inputs"]["what"]
        return {"mint": {"inputs": {"what": "sage"}}, "poison": {"veto": "nobody brews that"}, "wrong": {"inputs": {"what": {"a": 1}}},
                "unknown": {"inputs": {"who": 1}}, "odd": {"outputs": {}}, "list": [1], "silent": {"veto": " "}}.get(what, {})
    if hook == "workflow:after-execute" and flow == "skills/brew":
        made = p.get("outputs", {}).get("made")
        return {"outputs": {"made": made.upper()}} if made == "a cup of sage+" else {"veto": "it is spilled"} if made == "a cup of tea+" else {}
    return {}
for line in sys.stdin:
    q = json.loads(line)
    result = {"protocol": 1} if q["method"] == "initialize" else asked(q["params"]) if q["method"] == "hook/call" else {}
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
-- plugins/late/plugin.yaml --
name: late
version: 1.0.0
services: {l: {command: python3 ./late.py}}
permissions: {hooks: ["hook:workflow:before-execute"]}
hooks: [{hook: "workflow:before-execute", service: l, fail: open, timeout: 60s}]
-- plugins/late/late.py --
import json, sys
for line in sys.stdin:
    q = json.loads(line)
    result = {"protocol": 1}
    if q["method"] == "hook/call":
        p = q["params"]
        result = {"inputs": {"what": p["inputs"]["what"] + "+"}} if p["workflow"] == "skills/brew" else {}
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
-- workflows/skills/brew.yaml --
interfaceInputs: {what: {dataFlowType: STRING, required: true}}
interfaceOutputs: {made: {dataFlowType: STRING}}
nodes:
  - {id: in, type: GroupInput}
  - {id: made, type: TextTemplate, configValues: {template: "a cup of {{.what}}"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: what, target: made, targetHandle: what}
  - {source: made, sourceHandle: text, target: out, targetHandle: made}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
skill_workflow_ids_inventory: [skills/brew]
tool_ids_inventory: [UpdatePrivateStateTool]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: "a_{n}", profile_id: a, count: 3, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {seed: 1, stop: {ticks: 4}}
-- models/m.yaml --
rules:
  - match: {variables: {turn: 1}}
    answer: {calls: [{tool: brew, params: {what: mint}}, {tool: brew, params: {what: poison}}, {tool: brew, params: {what: tea}}, {tool: brew, params: {what: wrong}}, {tool: brew, params: {what: unknown}}, {tool: brew, params: {what: odd}}, {tool: brew, params: {what: list}}, {tool: brew, params: {what: silent}}]}
otherwise: {text: "{{range .variables.observations}}{{.kind}} {{.value}}; {{end}}"}
`

func loadAround(t testing.TB, fail string) *project.Project {
	t.Helper()
	p, err := projectAround(fail)
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

func projectAround(fail string) (*project.Project, error) {
	return scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.ReplaceAll(around, "FAIL", fail)))), nil)
}

// Hooks of turns, workflows and the scene are asked in their order, what they say is checked
// and used, and kept: the same digest with every number of workers and with an interruption,
// and the history is decided again without a program.
func TestHooksOfTurns(t *testing.T) {
	box, digest := withPython(t), ""
	for _, workers := range []int{1, 7} {
		s := scenestest.New(t, loadAround(t, "closed"), "")
		set := scenestest.Settings{Tools: tooling.Live, Sandbox: box, Workers: workers, Snapshots: int64(10 * workers)}
		first := set
		if workers > 1 {
			first.InterruptAt = 2
		}
		r := s.Run(t, first)
		if r.Err == nil && !r.Final {
			r = s.Run(t, set)
		}
		if r.Err != nil || !r.Final {
			t.Fatal(r.Err, r.Reason)
		}
		if digest == "" {
			digest = r.Digest()
		}
		if r.Digest() != digest {
			t.Errorf("%d workers: %s, before %s", workers, r.Digest(), digest)
		}
		mustVerify(t, s, scenestest.Settings{Tools: tooling.Off}) // nothing that could start a program
		if workers == 1 {
			checkAround(t, s)
		}
	}
}

// agentFacts are those of agents.
func agentFacts(t testing.TB, s *scenestest.Scene) (list []protocol.Fact) {
	t.Helper()
	codec, kinds := protocol.NewCodec(agentfact.Facts()), []string{}
	for _, typ := range agentfact.Facts() {
		kinds = append(kinds, typ.Kind)
	}
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{Kinds: kinds}, func(r protocol.Record) error {
			r.Data = append(protocol.Raw(nil), r.Data...)
			f, err := codec.ReadFact(r.Kind, r.Data)
			list = append(list, f)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
	return list
}

func checkAround(t *testing.T, s *scenestest.Scene) {
	t.Helper()
	places, vetoes, calls, said := map[string]int{}, map[string]bool{}, []string{}, ""
	var cancelled []string
	for _, f := range agentFacts(t, s) {
		switch x := f.(type) {
		case *agentfact.HookAnswered:
			places[x.Place]++
			if x.Veto != "" {
				vetoes[x.Veto] = true
			}
		case *agentfact.CallMade:
			if x.Tool == "workflow:brew" || strings.HasSuffix(x.Tool, "brew") {
				out, _ := x.Output.Value()
				calls = append(calls, fmt.Sprint(out, x.Error))
			}
		case *agentfact.Said:
			said += x.Text
		case *agentfact.TurnEnded:
			if x.Outcome == agentfact.OutcomeCancelled {
				cancelled = append(cancelled, fmt.Sprint(x.Turn, " ", x.Error))
			}
		}
	}
	if places[hook.SceneStart] != 1 || places[hook.SceneEnd] != 1 || places[hook.BeforeDeliberate] < 9 || places[hook.AfterExecute] < 9 {
		t.Errorf("asked: %v", places)
	}
	all := strings.Join(calls, "\n")
	for _, want := range []string{
		"made:A CUP OF SAGE+", "the hook of the plugin guard forbids it: nobody brews that", "it is spilled",
		"inputs.what:", `inputs.who: the workflow skills/brew has no such name; it has what`, `the answer has the field "outputs"; want veto or inputs`, "the answer is no object", "veto says why",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the calls:\n%s", want, all)
		}
	}
	if !slices.Equal(cancelled, []string{"2 the hook of the plugin guard forbids it: a_1 rests"}) {
		t.Errorf("cancelled: %q", cancelled)
	}
	for _, want := range []string{`"tool":"brew"}; deliberation_forbidden {"reason":"the hook of the plugin guard forbids it: a_1 rests"}`} {
		if !strings.Contains(said, want) {
			t.Errorf("nobody said %q: %s", want, said)
		}
	}
}

// A hook that is open and fails lets the workflow go on.
func TestHooksThatAreOpen(t *testing.T) {
	s := scenestest.New(t, loadAround(t, "open"), "")
	if r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Sandbox: withPython(t)}); r.Err != nil || !r.Final {
		t.Fatal(r.Err)
	}
	made := map[string]bool{}
	for _, f := range agentFacts(t, s) {
		if x, ok := f.(*agentfact.CallMade); ok {
			v, _ := x.Output.Value()
			out, _ := v.(map[string]any)
			text, _ := out["made"].(string)
			made[text] = true
		}
	}
	for _, what := range []string{"wrong", "unknown", "odd", "list", "silent"} {
		if !made["a cup of "+what+"+"] {
			t.Errorf("%s: %v", what, protocol.SortedKeys(made))
		}
	}
}

// On the realtime clock hooks are asked in the same places, and what they said is decided again
// without them.
func TestHooksInRealtime(t *testing.T) {
	box := withPython(t)
	s := scenestest.New(t, loadAround(t, "closed"), "")
	set := scenestest.Settings{Tools: tooling.Live, Sandbox: box, Clock: agenda.Realtime, Stop: &agenda.Stop{Deliberations: 12}}
	if r := s.Run(t, set); r.Err != nil || !r.Final {
		t.Fatal(r.Err, r.Reason)
	}
	checkAround(t, s)
	mustVerify(t, s, scenestest.Settings{Tools: tooling.Off, Clock: agenda.Realtime, Stop: set.Stop})
}

// Hooks without a grant are not asked and fail as they say; with mocks nobody is asked.
func TestHooksOfTurnsWantGrants(t *testing.T) {
	for _, c := range []struct {
		set                 scenestest.Settings
		cancelled, answered bool
	}{
		{scenestest.Settings{Tools: tooling.Live, Sandbox: withPython(t), Grants: &grants.Store{}}, true, true},
		{scenestest.Settings{Tools: tooling.Off}, false, true},
	} {
		s := scenestest.New(t, loadAround(t, "closed"), "")
		r := s.Run(t, c.set)
		if r.Err != nil || !r.Final {
			t.Fatal(r.Err)
		}
		cancelled, answered := false, false
		for _, f := range agentFacts(t, s) {
			switch x := f.(type) {
			case *agentfact.TurnEnded:
				cancelled = cancelled || x.Outcome == agentfact.OutcomeCancelled && strings.Contains(x.Error, "grant")
			case *agentfact.HookAnswered:
				answered = true
			}
		}
		if cancelled != c.cancelled || answered != c.answered {
			t.Errorf("%s: cancelled %t, answered %t", c.set.Tools, cancelled, answered)
		}
		mustVerify(t, s, scenestest.Settings{Tools: tooling.Off})
	}
}
