package tooling_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools"
	"tavernsim/tools/artifact"
	"tavernsim/tools/mount"
)

// readers call scripts with references, by TAM and as values.
const readers = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/show.tool.yaml --
id: show
parameters:
  properties:
    text: {type: string, maxLength: 40}
    raw: {type: string, x-uri: bytes}
    file: {type: string, x-uri: path}
    link: {type: string, x-uri: pass}
    plain: {type: string}
implementation: {type: script, command: sh ./show.sh}
execution: {repeat: free}
-- tools/show.sh --
in=$(cat)
echo "$in"
path=$(printf '%s' "$in" | sed -n 's/.*"file":"\([^"]*\)".*/\1/p')
if [ -n "$path" ]; then echo "read $(cat "$path")"; echo x 2>/dev/null >"$path" && echo written; chmod 777 "$path" 2>/dev/null && echo changed; fi
exit 0
-- tools/mock.yaml --
otherwise: {output: "{{.params.plain}} of {{.params.file}}"}
-- workflows/work.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}, observations: {dataFlowType: ARRAY}}
interfaceOutputs: {decision: {dataFlowType: OBJECT}, response: {dataFlowType: STRING}}
nodes:
  - {id: in, type: GroupInput}
  - {id: d, type: Expression, configValues: {type: OBJECT, expression: "({private_state: {n: n}, calls: [{tool: 'show', params: {file: 'FILE', link: 'LINK', plain: 'fam://project/stays'}}]})"}}
  - {id: r, type: Expression, configValues: {type: STRING, expression: "'<|[REQUEST_TOOL]|>\\ncommand: »»»show«««\\nuri_text: »»»TEXT«««\\nraw: »»»RAW«««\\n<|[END_TOOL]|>' + (n > 0 ? '' : '')"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: turn, target: d, targetHandle: n}
  - {source: in, sourceHandle: turn, target: r, targetHandle: n}
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
  - {source: r, sourceHandle: value, target: out, targetHandle: response}
-- agent_profiles/reader.yaml --
id: reader
name: Reader
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
tool_ids_inventory: [UpdatePrivateStateTool, show]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: Readers
schema_version: "1.0"
agent_instances: [{instance_id: "ada.1", profile_id: reader}]
simulation: {stop: {ticks: 2}}
`

// read runs the readers and gives the facts of a run.
func read(t *testing.T, set scenestest.Settings, change ...string) (said string) {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.NewReplacer(change...).Replace(readers)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	if set.Mounts.Files != "" {
		set.Mounts.Project = filepath.Join(t.TempDir(), "inputs")
		if err := p.CopyTo(set.Mounts.Project); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.Run(t, set); r.Err != nil {
		t.Fatal(r)
	}
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Scan(persistence.Query{}, func(r protocol.Record) error {
			v, err := r.Data.Value()
			said += fmt.Sprintln(r.Kind, v)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		made := s.Made(t, set)
		if report, _, err := verify.Run(t.Context(), made, j, verify.Options{}); err != nil || report.Difference != nil {
			t.Errorf("%+v %v", report, err)
		}
	})
	return said
}

// References of all kinds, by TAM and as values: the tool gets what they refer to.
func TestReferences(t *testing.T) {
	box := sandboxed(t)
	files := t.TempDir()
	own := filepath.Join(files, "s", "agents", "ada%2E1")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"note.txt": "a note", "long.txt": strings.Repeat("long ", 20), "bin": "\xff\x00"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set := scenestest.Settings{Tools: tooling.Live, Sandbox: box, Mounts: tooling.Mounts{Files: files}}
	good := []string{"FILE", "fam://project/tools/show.sh", "LINK", "fam://agent/any", "TEXT", "fam://agent/note.txt", "RAW", "data:,ab"}
	said := read(t, set, good...)
	for _, want := range []string{"raw:YWI= text:a note", `"file":"/uri/file/show.sh"`, "read in=$(cat)", `"link":"fam://agent/any"`, `"plain":"fam://project/stays"`} {
		if !strings.Contains(said, want) {
			t.Errorf("no fact says %s:\n%.3000s", want, said)
		}
	}
	for _, bad := range []string{"written", "changed", files} {
		if strings.Contains(said, "\n"+bad) || bad == files && strings.Contains(said, bad) {
			t.Errorf("a fact says %s:\n%.3000s", bad, said)
		}
	}
	for from, want := range map[[2]string]string{
		{"fam://agent/note.txt", "fam://agent/none"}:             "parameter text: there is no",
		{"fam://agent/note.txt", "fam://agent/long.txt"}:         "/text: maxLength",
		{"fam://agent/note.txt", "fam://agent/bin"}:              "is no text",
		{"fam://agent/note.txt", "file:///etc/passwd"}:           "file: leads to the machine",
		{"fam://agent/note.txt", "/etc/passwd"}:                  "an absolute path leads to the machine",
		{"fam://project/tools/show.sh", "file:///etc/passwd"}:    "parameter file: the reference",
		{"fam://project/tools/show.sh", "fam://project/../../x"}: "an empty part",
		{"fam://project/tools/show.sh", "fam://project/tools"}:   "is a folder",
		{"fam://agent/any", "https://example.org/"}:              "references to servers are not carried out",
	} {
		if testing.Short() && want != "is no text" {
			continue
		}
		said := read(t, set, replaced(good, from[0], from[1])...)
		if !strings.Contains(said, want) {
			t.Errorf("%q: no fact says %s:\n%.2000s", from, want, said)
		}
	}
}

func replaced(list []string, old, with string) (out []string) {
	for _, s := range list {
		if s == old {
			s = with
		}
		out = append(out, s)
	}
	return out
}

// With mock tools nothing is fetched.
func TestReferencesOfMocks(t *testing.T) {
	said := read(t, scenestest.Settings{}, "FILE", "fam://project/none", "LINK", "fam://x", "TEXT", "fam://agent/none", "RAW", "data:,ab")
	if !strings.Contains(said, "fam://project/stays of fam://project/none") {
		t.Error(said)
	}
}

// Code finds files of references under names that it chooses.
func TestInputsOfCode(t *testing.T) {
	box := sandboxed(t)
	p, err := loadProgrammers(t)
	if err != nil {
		t.Fatal(err)
	}
	kept := artifacts.Of(t.TempDir())
	id, _, err := kept.Put(artifact.Owner{}, strings.NewReader("kept"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := tooling.New(tooling.Options{Project: p, Sandbox: box, Artifacts: kept})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tool, err := tooling.Find(p, "CodeInterpreter:execute")
	if err != nil {
		t.Fatal(err)
	}
	run := func(inputs map[string]any) string {
		r := set.Try(t.Context(), tool, map[string]any{"language": "sh", "code": "cat /uri/*; echo x >/uri/new", "inputs": inputs}, 0)
		if r.Error != nil {
			return r.Error.Message
		}
		return fmt.Sprint(r.Output)
	}
	for want, inputs := range map[string]map[string]any{
		"stdout:ab kept":            {"a.txt": "data:,ab%20", "b": "artifact:" + id},
		"want a plain name":         {"../x": "data:,ab"},
		"b: the reference \"/etc/p": {"b": "/etc/passwd"},
		"/inputs/b: got number":     {"b": int64(1)},
		"there is no mount agent":   {"b": "fam://agent/x"},
		"exit_code:2":               {"a": "data:,ab"},
		"is not there":              {"a": "artifact:sha256-" + strings.Repeat("0", 64)},
	} {
		if got := run(inputs); !strings.Contains(got, want) {
			t.Errorf("%v: %s, want %s", inputs, got, want)
		}
	}
}

// A tool that sends what it reads names the files among its needs; another one may name them, and has no others then.
func TestNeedsOfFiles(t *testing.T) {
	const http, script, service = `{type: http, url: "http://127.0.0.1:9/"}`, `{type: script, command: "true"}`, `{type: service, name: x}`
	for _, c := range []struct {
		implementation, needs, uri string
		may                        bool
	}{
		{http, "", "fam://run/a", false}, {http, "fs.read:run/*", "fam://run/a/b", true}, {http, "fs.read:run/a/*", "fam://run/b", false}, {http, "fs.read:run/*", "fam://agent/a", false}, {http, "", "data:,x", true},
		{script, "", "fam://agent/a", true}, {script, "fs.read:run/**", "fam://agent/a", false}, {script, "fs.read:run/**", "fam://run/x/y", true}, {service, "fs.read:agent/a", "fam://agent/a", true}, {service, "fs.read:agent/a", "fam://agent/ab", false},
	} {
		text := "-- project.json --\n{\"id\": \"p\"}\n-- scenes/s.yaml --\nid: s\nname: S\nagent_instances: []\nsimulation: {stop: {ticks: 1}}\n-- tools/t.tool.yaml --\nid: t\nparameters: {properties: {x: {type: string}}}\nimplementation: " + c.implementation + "\n"
		if c.needs != "" {
			text += "needs: [\"" + c.needs + "\"]\n"
		}
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
		if err != nil {
			t.Fatal(err)
		}
		tool, _ := p.Tool("t")
		got := true
		if m, name, err := mount.Path(c.uri); err == nil {
			got = tool.Definition.MayRead(m, name)
		}
		if got != c.may {
			t.Errorf("%s %s of %s: %v", c.uri, c.needs, c.implementation, got)
		}
	}
	for _, bad := range []string{"fs.read:", "fs.read:run", "fs.read:/etc/*", "fs.read:home/*", "fs.write:run/*", "fs.read:run/"} {
		text := "-- project.json --\n{\"id\": \"p\"}\n-- scenes/s.yaml --\nid: s\nname: S\nagent_instances: []\nsimulation: {stop: {ticks: 1}}\n-- tools/t.tool.yaml --\nid: t\nimplementation: " + script + "\nneeds: [\"" + bad + "\"]\n"
		if _, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil); err == nil {
			t.Errorf("%s is no fault", bad)
		}
	}
}

// A file that the tool may not have is not sent.
func TestFilesThatAreNotNeeded(t *testing.T) {
	for needs, want := range map[string]string{"": "file", "\nneeds: [\"fs.read:agent/*\"]": "its needs name no such files (fs.read:run/PATTERN)"} {
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.Replace(strings.Replace(asking, `, "tool_policy": {"rules": [{"id": "look", "tools": ["post"], "do": "ask"}]}`, "", 1), "implementation: {type: service, name: post}", "implementation: {type: service, name: post}"+needs, 1)))), nil)
		if err != nil {
			t.Fatal(err)
		}
		files := t.TempDir()
		if err := os.MkdirAll(filepath.Join(files, "s", "run"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(files, "s", "run", "letter"), []byte("file"), 0o644); err != nil {
			t.Fatal(err)
		}
		s := scenestest.New(t, p, "")
		sent := ""
		r := s.Run(t, scenestest.Settings{Tools: tooling.Live, Mounts: tooling.Mounts{Project: t.TempDir(), Files: files}, Services: map[string]tools.Executor{
			"post": tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
				sent = fmt.Sprint(c.Params["text"])
				return tools.Output("ok")
			}),
		}})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if (sent == "file") != (needs == "") {
			t.Errorf("%q: sent %q, want %s", needs, sent, want)
		}
	}
}
