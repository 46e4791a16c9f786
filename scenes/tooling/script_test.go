package tooling_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools"
	"tavernsim/tools/grants"
)

// programmers call a script that counts words by a library beside it, and run code.
const programmers = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/text/words.tool.yaml --
id: text.words
parameters: {properties: {text: {type: string}}, required: [text]}
outputSchema: {type: integer}
implementation: {type: script, command: sh ./words.sh 'in words', files: [lib]}
execution: {repeat: free}
-- tools/text/words.sh --
. ./lib/count.sh
tr -cd 'a-z ' | count
-- tools/text/lib/count.sh --
count() { wc -w | tr -d ' '; }
-- tools/text/lib/data.yaml --
a: data of the script is no definition
-- tools/mock.yaml --
rules: [{match: {tool: text.words}, answer: {output: {$expr: "4"}}}]
otherwise: {output: {stdout: "7\n", stderr: "", exit_code: 0}}
-- workflows/work.yaml --
interfaceInputs: {self: {dataFlowType: OBJECT}, turn: {dataFlowType: INTEGER}, observations: {dataFlowType: ARRAY}}
interfaceOutputs: {decision: {dataFlowType: OBJECT, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: q, type: Expression, configValues: {type: OBJECT, expression: "({text: 'one two ' + s.instance_id})"}}
  - {id: ask, type: CallTool, configValues: {tool: text.words}}
  - id: d
    type: Expression
    configValues:
      type: OBJECT
      expression: >-
        ({private_state: {heard: heard, seen: obs.map(o => o.value)},
        calls: [{tool: 'CodeInterpreter:execute', params: {language: 'sh', code: 'echo $((3+4))'}}, {tool: 'CodeInterpreter:execute', params: {language: 'ruby', code: '1'}}]})
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: self, target: q, targetHandle: s}
  - {source: q, sourceHandle: value, target: ask, targetHandle: params}
  - {source: ask, sourceHandle: result, target: d, targetHandle: heard}
  - {source: in, sourceHandle: observations, target: d, targetHandle: obs}
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
-- agent_profiles/programmer.yaml --
id: programmer
name: Programmer
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
tool_ids_inventory: [UpdatePrivateStateTool, text.words, "CodeInterpreter:execute"]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: Programmers
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: programmer}, {instance_id: bob, profile_id: programmer}]
simulation: {stop: {ticks: 3}}
`

func loadProgrammers(t *testing.T, change ...string) (*project.Project, error) {
	t.Helper()
	return scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.NewReplacer(change...).Replace(programmers)))), nil)
}

// Scripts and code of agents run in a scene, and its history is decided again without them.
func TestScripts(t *testing.T) {
	p, err := loadProgrammers(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range p.Warnings {
		t.Error(w)
	}
	box := shared()
	found := box.Probe(t.Context())
	mode := tooling.Live
	if len(found.Missing()) > 0 {
		mode = tooling.Mock
	}
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{Tools: mode, Sandbox: box}
	first := s.Run(t, set)
	if first.Err != nil || !first.Final {
		t.Fatal(first)
	}
	if by := first.State.Tally.ByTool; by["text.words"] != 6 || by["CodeInterpreter:execute"] < 6 {
		t.Errorf("%+v", by)
	}
	s.Journal(t, func(j *persistence.Journal) {
		said := ""
		if err := j.Scan(persistence.Query{Kinds: nil}, func(r protocol.Record) error {
			if r.Actor == "ada" && (r.Kind == "agent.call_made" || r.Kind == "agent.private_state_changed") {
				said += string(r.Data)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"7\n", "exit_code", "/language"} {
			if !strings.Contains(said, want) {
				t.Errorf("no fact of ada says %q", want)
			}
		}
		if r, _, err := verify.Run(t.Context(), s.Made(t, set), j, verify.Options{}); err != nil || r.Difference != nil {
			t.Errorf("%+v %v", r, err)
		}
	})
	if mode == tooling.Mock {
		t.Skipf("with mock tools: no sandbox here: %v", found.Missing())
	}
}

// A program that has no sandbox says so before a scene starts.
func TestScriptsWithoutABox(t *testing.T) {
	p, err := loadProgrammers(t)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tooling.New(tooling.Options{Project: p, Mode: tooling.Live}); protocol.KindOf(err) != protocol.KindNotFound || !strings.Contains(err.Error(), "sandbox") {
		t.Error(err)
	}
	if _, err := tooling.New(tooling.Options{Project: p, Mode: tooling.Off}); err != nil {
		t.Error(err)
	}
}

// What is wrong with a script is found before it runs.
func TestBadScripts(t *testing.T) {
	for bad, want := range map[string]string{
		"command: sh ./words.sh | cat":          "implementation.command: the command is more than one program",
		"command: sh ./words.sh >out":           "more than one program",
		"command: A=b sh ./words.sh":            "more than one program",
		"command: sh $HOME/x":                   "the word at column 4 has something that a shell would replace",
		"command: 'sh *.sh'":                    "would replace",
		"command: 'sh ~/x'":                     "would replace",
		"command: 'sh \"`id`\"'":                "would replace",
		"command: \"sh 'x\"":                    "cannot be read",
		"command: '# nothing'":                  "the command is empty",
		"command: words.sh":                     "the program words.sh is looked up among those of the system (write ./words.sh)",
		"command: sh x, files: [none]":          `there is no file or folder "none" in tools/text`,
		"command: sh x, files: [../../project]": `there is no file or folder "../../project" in tools/text`,
		"command: sh x, url: x":                 "url is not a field of the type script",
		"url: x":                                "the type script wants command",
	} {
		_, err := loadProgrammers(t, "command: sh ./words.sh 'in words', files: [lib]", bad)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
	for bad, want := range map[string]string{
		"{type: code, languages: [cobol]}":                  `"cobol" is no language; want python, javascript, sh`,
		"{type: code, command: x}":                          "command is not a field of the type code",
		"{type: code, languages: [sh]}\ndescription: \"x\"": "parameters: the type code has parameters of its own",
	} {
		_, err := loadProgrammers(t, "{type: script, command: sh ./words.sh 'in words', files: [lib]}", bad)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}

// A program that needs leave to run is not started before it is granted.
func TestAProgramNeedsLeaveToRun(t *testing.T) {
	box := sandboxed(t)
	p, err := loadProgrammers(t, "execution: {repeat: free}\n-- tools/text/words.sh", "execution: {repeat: free}\nneeds: [exec]\n-- tools/text/words.sh")
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := p.Tool("text.words")
	for want, store := range map[string]*grants.Store{"asks for exec, which nobody has granted": nil, "": grantAll(p)} {
		set, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: box, Grants: store})
		if err != nil {
			t.Fatal(err)
		}
		r := set.Try(t.Context(), tool, map[string]any{"text": "a b"}, 0)
		if want == "" && r.Status != tools.OK || want != "" && (r.Status != tools.Denied || !strings.Contains(r.Error.Message, want)) {
			t.Errorf("%q: %s %+v", want, r.Status, r.Error)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}
