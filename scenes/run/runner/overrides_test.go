package runner_test

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
	"tavernsim/engine/budget"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/grants"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/toolstest"
)

const withOracle = `
-- project.json --
{"id": "test", "model": "models/far.yaml", "plugins": [{"name": "oracle"}], "tool_policy": {"rules": [{"id": "money", "tools": ["bank.pay"], "do": "ask"}]}}
-- models/far.yaml --
kind: openai
model: large
latency: none
-- tools/pay.tool.yaml --
id: bank.pay
parameters: {properties: {sum: {type: integer}}, required: [sum]}
implementation: {type: service, name: bank}
-- services/bank.yaml --
id: bank
command: python3 ./bank.py
-- services/bank.py --
import json, sys
for line in sys.stdin:
    q = json.loads(line)
    result = {"protocol": 1} if q["method"] == "initialize" else {"output": {"paid": q["params"]["params"]["sum"]}} if q["method"] == "tool/call" else {}
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
-- tools/mock.yaml --
{}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [bank.pay]
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 4}}
`

// withPlugin is a project with the plugin of the page, changed.
func withPlugin(t *testing.T, change ...string) *project.Project {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "formats", "plugin.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := withOracle
	for _, m := range regexp.MustCompile("(?s)<!-- file: (plugins/oracle/[^ ]+) -->\n+```[a-z]*\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		text += fmt.Sprintf("-- %s --\n%s", m[1], m[2])
	}
	p, err := runner.LoadFS(scenestest.Files(txtar.Parse([]byte(strings.NewReplacer(change...).Replace(text)))), "test", true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func boxWithPython(t *testing.T) *sandbox.Box {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	return toolstest.Sandbox(t)
}

// granted grants a project in a folder all that it asks for.
func granted(p *project.Project) *grants.Store {
	all := &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{}) {
		all.Give(&a)
	}
	return all
}

func runOracle(t *testing.T, p *project.Project, opt runner.Options) (dir string, said []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	opt.Dir, opt.Metrics = dir, metrics.New()
	r, err := runner.Start(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	return dir, facts(t, dir)
}

// facts are the answers of models, and what came of calls that were asked about.
func facts(t *testing.T, dir string) (list []string) {
	t.Helper()
	store, err := rundir.OpenStore(dir, persistence.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	journal, err := store.Journal("s")
	if err != nil {
		t.Fatal(err)
	}
	codec := protocol.NewCodec(agentfact.Facts())
	if err := journal.Scan(persistence.Query{Kinds: []string{agentfact.FactModelAnswered, agentfact.FactCallJudged}}, func(r protocol.Record) error {
		f, err := codec.ReadFact(r.Kind, r.Data)
		switch x := f.(type) {
		case *agentfact.ModelAnswered:
			at := "the program"
			if x.Origin != nil {
				at = x.Origin.Endpoint
			}
			list = append(list, fmt.Sprintf("%s of %s: %q %s", x.Model, at, x.Text, x.Error))
		case *agentfact.CallJudged:
			list = append(list, fmt.Sprintf("%+v", *x))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// The plugin of the page answers for the model, without a file of endpoints, and gives leave.
// Its answers are facts: who verifies the run starts no program, and comes to the same.
func TestThePluginOfThePage(t *testing.T) {
	box := boxWithPython(t)
	p := withPlugin(t)
	dir, said := runOracle(t, p, runner.Options{Sandbox: box, Grants: granted(p)})
	text := strings.Join(said, "\n")
	for _, want := range []string{"large of plugin:oracle/mind", "up to 50", "service"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	again, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{Verify: true})
	if err != nil || again.Scenes[0].Differs() {
		t.Fatalf("%v %+v", err, again)
	}
	m, err := rundir.ReadManifest(dir)
	if err != nil || len(m.Endpoints) > 0 || strings.Join(m.Grants[0].Tools["plugin:oracle"], " ") != "override:approver override:model" {
		t.Errorf("%+v %v", m, err)
	}
}

// What was not granted replaces nothing, and the run does not begin; with mocks, and with a
// script in the place of every model, nothing is replaced either.
func TestWhatIsNotReplaced(t *testing.T) {
	box, p := boxWithPython(t), withPlugin(t)
	dir := filepath.Join(t.TempDir(), "run")
	_, err := runner.Start(p, runner.Options{Dir: dir, Sandbox: box, Grants: &grants.Store{}})
	if err == nil || protocol.KindOf(err) != protocol.KindDenied || !strings.Contains(err.Error(), "the service oracle/mind replaces approver: plugin:oracle") || !strings.Contains(err.Error(), "simd plugin grant PROJECT oracle") {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("there is a run")
	}
	if _, err := runner.Start(p, runner.Options{Dir: dir, Grants: granted(p)}); err == nil || !strings.Contains(err.Error(), "the service oracle/mind replaces approver, and this program has no sandbox for it") {
		t.Error(err)
	}
	for name, opt := range map[string]runner.Options{
		"mock": {Tools: tooling.Mock}, "script": {Model: "scripted", Sandbox: box, Grants: granted(p)},
	} {
		_, said := runOracle(t, p, opt)
		if text := strings.Join(said, "\n"); strings.Contains(text, "plugin:oracle") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Answers of the service are recorded as those of endpoints: another run takes them before
// anybody is asked.
func TestAnswersOfAPluginAreTakenAgain(t *testing.T) {
	box, p := boxWithPython(t), withPlugin(t)
	from, first := runOracle(t, p, runner.Options{Sandbox: box, Grants: granted(p)})
	silent := withPlugin(t, "def model(p):", "def model(p):\n    sys.exit(1)")
	_, again := runOracle(t, silent, runner.Options{Sandbox: box, Grants: granted(silent), Answers: from})
	if strings.Join(first, "\n") != strings.Join(again, "\n") || len(first) < 2 {
		t.Errorf("%s\nwant\n%s", strings.Join(again, "\n"), strings.Join(first, "\n"))
	}
}

// A service that fails is a failure of the request: the model that it replaces is not asked.
func TestAPluginThatFails(t *testing.T) {
	box, p := boxWithPython(t), withPlugin(t, "def model(p):", "def model(p):\n    return {'words': 1}", "def approver(p):", "def approver(p):\n    return {'yes': 'of course'}")
	_, said := runOracle(t, p, runner.Options{Sandbox: box, Grants: granted(p)})
	if text := strings.Join(said, "\n"); !strings.Contains(text, `plugin:oracle/mind: the answer is no object with text`) || strings.Contains(text, "paid") {
		t.Error(text)
	}
}

// A budget in dollars counts the answers of a plugin that says what they cost, by the usage that
// it states, and lets none leave of one that does not.
func TestPriceOfAPlugin(t *testing.T) {
	box := boxWithPython(t)
	const plain = "{interface: model, service: mind}"
	for price, want := range map[string]struct {
		nano    int64 // dollars, of one answer
		refused bool
	}{
		"": {0, true}, ", price: {input: 2, output: 30}": {(100*2 + 1*30) * 1000, false}, ", price: {input: 0, output: 0}": {0, false},
	} {
		p := withPlugin(t, plain, "{interface: model, service: mind"+price+"}", `{"text": "", "usage"`, `{"text": "x", "usage"`, `if p["tools"] and p["turn"] == 1:`, "if False:")
		r, err := runner.Start(p, runner.Options{Dir: filepath.Join(t.TempDir(), "run"), Sandbox: box, Grants: granted(p), Budget: &budget.Budget{Dollars: 1, OnExhausted: "refuse"}})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := r.Wait()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(facts(t, r.Dir), "\n")
		if strings.Contains(said, "a plugin that answers in its place has a price in overrides") != want.refused {
			t.Errorf("%q: %s", price, said)
		}
		if b := sum.All()[0].Budgets[0]; b.Used.Nano != want.nano || want.refused != (b.Used.Tokens == 0) {
			t.Errorf("%q: %+v, want %d", price, b, want.nano)
		}
	}
}

const withVectors = `
-- project.json --
{"id": "test", "plugins": [{"name": "near"}]}
-- plugins/near/plugin.yaml --
name: near
version: 1.0.0
services: {sense: {command: python3 ./sense.py}}
overrides: [{interface: embedder, service: sense}]
permissions: {services: {override: [embedder]}}
-- plugins/near/sense.py --
import json, sys
def embed(p):
    if p["model"] != "small" or p["dimensions"] != 3:
        sys.exit(1)
    return {"vectors": [[1 if any(w in t for w in ("deep", "abyss")) else 0, 1 if "Taxes" in t else 0, 0.1] for t in p["texts"]], "usage": {"input": len(p["texts"])}}
for line in sys.stdin:
    q = json.loads(line)
    result = {"protocol": 1} if q["method"] == "initialize" else embed(q["params"]) if q["method"] == "vectors/embed" else {}
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
    if q["method"] == "shutdown":
        break
-- agent_profiles/scout.yaml --
id: scout
name: Scout
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
knowledge_base_references: [{source_id: lore, alias: lore, access_permissions: [read]}]
tool_ids_inventory: [QueryKnowledgeBaseTool]
-- knowledgebases/lore.yaml --
id: lore
schema_version: "1.0"
embedding: {model: near, above: 0.5}
entries:
  - {id: ford, entry_type: lore, content: The ford is deep.}
  - {id: tax, entry_type: lore, content: Taxes are due.}
-- models/near.yaml --
kind: embedder
model: small
dimensions: 3
-- models/voices.yaml --
rules:
  - match: {prompt_contains: The ford is deep.}
    answer: {text: It is the ford.}
  - answer: {text: Hm., calls: [{tool: QueryKnowledgeBaseTool, params: {query: abyss}}]}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: "s_{n}", profile_id: scout, count: 3, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {seed: 1, model: models/voices.yaml, stop: {ticks: 4}}
`

// A service gives the vectors of a knowledge base, without a file of endpoints: what has no word
// in common is found, the digest is one with 1 and 3 workers, and nobody is asked by a replay.
func TestVectorsOfAPlugin(t *testing.T) {
	box := boxWithPython(t)
	p, err := runner.LoadFS(scenestest.Files(txtar.Parse([]byte(withVectors))), "test", true)
	if err != nil {
		t.Fatal(err)
	}
	digest := ""
	for _, workers := range []int{1, 3} {
		dir, said := runOracle(t, p, runner.Options{Sandbox: box, Grants: granted(p), Workers: workers})
		if text := strings.Join(said, "\n"); !strings.Contains(text, "small of plugin:near/sense") || !strings.Contains(text, "It is the ford.") {
			t.Errorf("no vector came from the plugin, or nobody found the ford by it:\n%s", text)
		}
		r, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{Verify: true})
		if err != nil || r.Scenes[0].Differs() {
			t.Fatalf("%+v %v", r, err)
		}
		if digest == "" {
			digest = r.Scenes[0].Digest
		}
		if r.Scenes[0].Digest != digest {
			t.Errorf("%d workers: digest %s, want %s", workers, r.Scenes[0].Digest, digest)
		}
	}
	if _, err := runner.Start(p, runner.Options{Dir: filepath.Join(t.TempDir(), "run"), Sandbox: box, Grants: &grants.Store{}}); protocol.KindOf(err) != protocol.KindDenied || !strings.Contains(fmt.Sprint(err), "replaces embedder") {
		t.Error(err)
	}
}
