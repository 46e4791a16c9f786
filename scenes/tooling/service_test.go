package tooling_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/effect"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/sandbox"
)

// pageFiles are the files of the page of services.
func pageFiles(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats", "service.md"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range regexp.MustCompile("(?s)<!-- file: ([^ ]+) -->\n+```[a-z]*\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		fmt.Fprintf(&b, "-- %s --\n%s", m[1], m[2])
	}
	return b.String()
}

// withPython skips where no service in Python can run.
func withPython(t testing.TB) *sandbox.Box {
	t.Helper()
	box := sandboxed(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	return box
}

// The service of the page keeps what it counted between calls, within a scene; the same key
// gets the same answer.
func TestTheServiceOfThePage(t *testing.T) {
	box := withPython(t)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(minimal+pageFiles(t)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for i, want := range []int64{2, 3, 3} {
		turn := uint64(min(i, 1)) // the third call has the key of the second
		r := set.Call(t.Context(), &effect.Ask{
			Kind: "tool", Number: 1, First: 1, Call: &protocol.Call{Tool: "tally.add", Params: map[string]any{"name": "a", "by": int64(2 - turn)}},
			Model: protocol.ModelRequest{Agent: "a", Turn: 1 + turn, Draw: protocol.NewDraw(1)},
		})
		if m, _ := r.Output.(map[string]any); r.Status != tools.OK || m["value"] != want {
			t.Errorf("call %d: %+v %+v", i, r, r.Error)
		}
	}
	if _, err := tooling.New(tooling.Options{Project: p}); err == nil || !strings.Contains(err.Error(), "the service tally of the tool tally.add is a program") {
		t.Error(err)
	}
}

const minimal = `
-- project.json --
{"id": "test"}
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
simulation: {seed: 1, stop: {ticks: 2}}
`

const served = `
-- project.json --
{"id": "test", "model": "models/m.yaml", "plugins": [{"name": "sea", "config": {"unit": "feet"}}]}
-- plugins/sea/plugin.yaml --
name: sea
version: 1.0.0
services: {tides: {command: python3 ./tides.py}}
configOptions:
  - {key: extensions.sea.unit, type: string, default: metres}
  - {key: extensions.sea.token, type: string, secret: true}
-- plugins/sea/tides.py --
import json, sys
config, seen = None, 0
for line in sys.stdin:
    q = json.loads(line)
    result = {}
    if q["method"] == "initialize":
        config, result = q["params"]["config"], {"protocol": 1}
    elif q["method"] == "tool/call":
        seen += 1
        result = {"output": {"seen": seen, "config": config, "method": q["params"]["method"]}}
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
-- plugins/sea/tools/next.tool.yaml --
id: sea:next
implementation: {type: service, name: tides, method: next}
-- tools/own.tool.yaml --
id: own
implementation: {type: service, name: sea/tides, method: own}
-- models/m.yaml --
rules: [{match: {variables: {turn: 1}}, answer: {calls: [{tool: "sea:next"}, {tool: own}]}}]
otherwise: {text: ""}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: ["sea:next", own]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: "a_{n}", profile_id: a, count: 4}]
simulation: {seed: 1, stop: {ticks: 2}}
`

// A service of a plugin answers tools of the plugin and of the project; one process for the
// scene, with the options of the plugin; none is left.
func TestServicesOfPlugins(t *testing.T) {
	box := withPython(t)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(served))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Sandbox: box})
	if r.Err != nil || !r.Final || r.State.Tally.CallsFailed > 0 || r.State.Tally.ByTool["own"] != 4 {
		t.Fatalf("%v %+v", r.Err, r.State.Tally)
	}
	mustVerify(t, s, scenestest.Settings{Tools: tooling.Live, Sandbox: box})
	out := ""
	codec := protocol.NewCodec(agentfact.Facts())
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{Kinds: []string{agentfact.FactCallAnswered}}, func(r protocol.Record) error {
			f, err := codec.ReadFact(r.Kind, r.Data)
			if err == nil {
				v, _ := f.(*agentfact.CallAnswered).Output.Value()
				out += fmt.Sprint(v)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
	for _, want := range []string{"seen:8", "config:map[unit:feet]", "method:next", "method:own"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}
