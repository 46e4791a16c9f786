package tooling_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/approvals"
)

// asking has calls with references that a person is asked about.
const asking = `
-- project.json --
{"id": "test", "model": "models/none.yaml", "tool_policy": {"rules": [{"id": "look", "tools": ["post"], "do": "ask"}]}}
-- models/none.yaml --
rules: []
-- tools/post.tool.yaml --
id: post
parameters: {properties: {text: {type: string, x-uri: text}}}
implementation: {type: service, name: post}
execution: {mode: sync}
-- tools/mock.yaml --
rules: []
-- workflows/work.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}}
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes:
  - {id: in, type: GroupInput}
  - {id: d, type: Expression, configValues: {type: OBJECT, expression: "({calls: n > 1 ? [] : [{tool: 'post', params: {text: 'fam://run/letter'}}]})"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: turn, target: d, targetHandle: n}
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
tool_ids_inventory: [post]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {stop: {ticks: 3}}
`

// yes says yes after it has changed the file.
type yes struct {
	change func()
	asked  []approvals.Question
}

func (y *yes) Ask(_ context.Context, q *approvals.Question) (approvals.Verdict, error) {
	y.asked = append(y.asked, *q)
	y.change()
	return approvals.Verdict{Yes: true}, nil
}

// What a person has allowed is what is used: a file that changes after the question is not
// sent, of a call within the turn and of a task.
func TestAllowedContents(t *testing.T) {
	for _, mode := range []string{"sync", "async"} {
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.Replace(asking, "mode: sync", "mode: "+mode, 1)))), nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]string{"same": "", "other": "evil", "gone": "-"} {
			s := scenestest.New(t, p, "")
			files := t.TempDir()
			letter := filepath.Join(files, "s", "run", "letter")
			if err := os.MkdirAll(filepath.Dir(letter), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(letter, []byte("good"), 0o644); err != nil {
				t.Fatal(err)
			}
			door := &yes{change: func() {
				switch change {
				case "":
				case "-":
					_ = os.Remove(letter)
				default:
					_ = os.WriteFile(letter, []byte(change), 0o644)
				}
			}}
			var sent []any
			mounts := tooling.Mounts{Project: t.TempDir(), Files: files}
			r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Mounts: mounts, Leave: tooling.Leave{Door: door}, Services: map[string]tools.Executor{
				"post": tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
					sent = append(sent, c.Params["text"])
					return tools.Output("ok")
				}),
			}})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if len(door.asked) != 1 || door.asked[0].Contents["fam://run/letter"] != "sha256-770e607624d689265ca6c44884d0807d9b054d23c473c106c72be9de08b7376c" {
				t.Errorf("%s %s: asked %+v", mode, name, door.asked)
			}
			if want := change == ""; want != (len(sent) == 1 && sent[0] == "good") || !want && len(sent) > 0 {
				t.Errorf("%s %s: sent %v", mode, name, sent)
			}
		}
	}
}
