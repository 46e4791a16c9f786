package tooling_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools/approvals"
	"tavernsim/tools/mount"
	"tavernsim/tools/secrets"
	"tavernsim/tools/shell/folders"
	"tavernsim/tools/toolstest"
)

// workers say one text in each turn.
const workers = `
-- project.json --
{"id": "test", "model": "models/none.yaml"}
-- models/none.yaml --
rules: []
-- tools/mock.yaml --
otherwise: {output: {status: ok, output: "mocked", exit_code: 0}}
-- workflows/work.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}}
interfaceOutputs: {response: {dataFlowType: STRING}}
nodes:
  - {id: in, type: GroupInput}
  - {id: r, type: Expression, configValues: {type: STRING, expression: "TEXTS[n - 1]"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: turn, target: r, targetHandle: n}
  - {source: r, sourceHandle: value, target: out, targetHandle: response}
-- agent_profiles/worker.yaml --
id: worker
name: Worker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
tool_ids_inventory: [command, input, ctrl, get_value, read, edit]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: Workers
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: worker}]
simulation: {stop: {ticks: TICKS}}
`

// work runs a worker and gives a line for each call: its tool, status, output and error.
func work(t *testing.T, set scenestest.Settings, policy string, texts ...string) (said []string) {
	t.Helper()
	list, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	quoted := strings.ReplaceAll(strings.ReplaceAll(string(list), `\`, `\\`), `"`, `\"`)
	text := strings.NewReplacer("TEXTS", quoted, "TICKS", fmt.Sprint(len(texts)), `"models/none.yaml"}`, `"models/none.yaml"`+policy+"}").Replace(workers)
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	if r := s.Run(t, set); r.Err != nil {
		t.Fatal(r)
	}
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Scan(persistence.Query{}, func(r protocol.Record) error {
			v, err := r.Data.Value()
			if r.Kind == "agent.call_answered" || r.Kind == "tool.task_ended" || r.Kind == "agent.call_judged" {
				said = append(said, fmt.Sprint(r.Kind, " ", v))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if report, _, err := verify.Run(t.Context(), s.Made(t, set), j, verify.Options{}); err != nil || report.Difference != nil {
			t.Errorf("%+v %v", report, err)
		}
	})
	return said
}

func live(t *testing.T) scenestest.Settings {
	t.Helper()
	box := sandboxed(t)
	return scenestest.Settings{Tools: tooling.Live, Sandbox: box, Mounts: tooling.Mounts{Files: t.TempDir()}}
}

func has(t *testing.T, said []string, want ...string) {
	t.Helper()
	for i, w := range want {
		if i >= len(said) || !strings.Contains(said[i], w) {
			t.Errorf("call %d: want %s\n%s", i+1, w, strings.Join(said, "\n"))
			return
		}
	}
	if len(said) != len(want) {
		t.Errorf("%d calls, want %d\n%s", len(said), len(want), strings.Join(said, "\n"))
	}
}

// A session goes on from turn to turn, in the order of its block, and read and edit work on
// the same files.
func TestASessionInAScene(t *testing.T) {
	said := work(t, live(t), "",
		`<tools><command>export X=5; mkdir d; cd d; echo text >a.txt</command><command>echo $X; pwd</command><read><file src="d/a.txt"/></read></tools>`,
		`<tools><edit><file src="d/a.txt"><find>text</find><replace>new</replace></file></edit><command>cat a.txt; echo more >>a.txt; read -p "name? " n; echo "hi $n"</command></tools>`,
		`<tools><input>bob\n</input></tools>`,
		`<tools><command>sleep 100 & cat a.txt; exit 3</command></tools>`,
		`<tools><command>echo "[$X]"; pwd</command></tools>`)
	has(t, said, "status:ok", `output:5
/fam/agent/d
`, "text", "edited", "output:new\nname?  status:awaiting_input", "output:hi bob\n status:ok", "exit_code:3", "output:[]\n/fam/agent\n session_restarted:true")
}

// Rules of a project judge the commands of a script.
func TestThePolicyReadsScripts(t *testing.T) {
	rules := `, "tool_policy": {"rules": [{"id": "some", "tools": ["command"], "params": {"/content": ["echo *", "cd *"]}, "do": "allow"}, {"id": "no-rm", "tools": ["command"], "params": {"/content": "rm *"}, "do": "deny", "reason": "files stay"}]}`
	has(t, work(t, live(t), rules, `<tools><command>cd /tmp && echo fine</command><command>echo $(rm -rf x)</command><command>echo $HOME</command></tools>`),
		"output:fine", "by:never") // the second was denied at once
}

// Modes.
func TestSessionsHaveModes(t *testing.T) {
	set := live(t)
	set.Tools = tooling.Mock
	has(t, work(t, set, "", `<tools><command>echo x</command></tools>`), "mocked")
	set.Tools = tooling.Off
	has(t, work(t, set, "", `<tools><command>echo x</command></tools>`), "tools are off")
	if entries, _ := os.ReadDir(set.Mounts.Files); len(entries) > 0 {
		t.Error(entries)
	}
}

// person answers what is asked.
type person struct{ values []string }

func (p *person) Ask(_ context.Context, q *approvals.Question) (approvals.Verdict, error) {
	if q.Kind != approvals.KindValue || q.Params["reason"] != "to push" || len(p.values) == 0 {
		return approvals.Verdict{Reason: "not for this"}, nil
	}
	value := p.values[0]
	p.values = p.values[1:]
	return approvals.Verdict{Yes: true, Value: value}, nil
}

// A secret that a person gives can be used from the next turn on, and nothing that is kept
// has it.
func TestGetValue(t *testing.T) {
	const first, value = "x", "hunter2-Sesame-99x"
	set := live(t)
	set.Leave = tooling.Leave{Door: &person{[]string{first, value}}}
	said := work(t, set, "",
		`<tools><get_value key="TOKEN" reason="no reason"/><get_value key="TOKEN" reason="to push"/><command>echo $KARYI{OTHER}</command></tools>`,
		`<tools><get_value key="TOKEN" reason="to push"/></tools>`,
		`<tools><command>true</command></tools>`, // the answer comes beside this turn
		`<tools><command>echo "$KARYI{TOKEN}"; echo $KARYI{TOKEN} >file; env | grep -c Sesame</command></tools>`,
		`<tools><command>echo $KARYI{TOKEN} | base64</command><read><file src="."/></read></tools>`,
		`<tools><get_value key="TOKEN" reason="again"/></tools>`,
		`<tools><command>true</command></tools>`,
		`<tools><command>read -r x; echo "$x" | cut -c 5-</command></tools>`,
		`<tools><input>$KARYI{TOKEN}\n</input></tools>`)
	all := strings.Join(said, "\n")
	for _, want := range []string{"ask for it with get_value", "not for this", "at least 8 are needed", "status:given", "output:$KARYI{TOKEN}\n0\n", "removed, for there was a secret in it: file", "written as base64", "an empty folder", "status:available", "status:awaiting_input", "output:$KARYI{TOKEN}\n status:ok"} {
		if !strings.Contains(all, want) {
			t.Errorf("want %s\n%s", want, all)
		}
	}
	if strings.Contains(all, "Sesame") && strings.Contains(all, "hunter2") {
		t.Error(all)
	}
	_ = filepath.WalkDir(set.Mounts.Files, func(name string, d fs.DirEntry, err error) error {
		text, _ := os.ReadFile(name)
		if strings.Contains(string(text), "hunter2") {
			t.Errorf("%s: %s", name, text)
		}
		return err
	})
	set.Leave = tooling.Leave{}
	has(t, work(t, set, "", `<tools><get_value key="TOKEN" reason="to push"/></tools>`, ""), "nobody answers in this run")
}

// Secrets of the operator are for the tools that the file names.
func TestSecretsOfSessions(t *testing.T) {
	set := live(t)
	var err error
	if set.Secrets, err = secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"A": {Value: "alpha-secret-1", Tools: []string{"command"}}, "B": {Value: "beta-secret-22", Tools: []string{"deploy"}}}}); err != nil {
		t.Fatal(err)
	}
	has(t, work(t, set, "", `<tools><command>echo $KARYI{A}</command><command>echo $KARYI{B}</command><input>$KARYI{A}</input></tools>`), "output:$KARYI{A}\n", "B is not granted to command", "A is not granted to input")
	has(t, work(t, set, "", `<tools><command>echo $KARYI{A} > key.txt; echo $KARYI{A} | base64 >/fam/run/b; echo fine >fine; (sleep 0.2; echo $KARYI{A} >late) &</command></tools>`, ""), "removed, for there was a secret in it: ")
	fine := 0
	_ = filepath.WalkDir(set.Mounts.Files, func(name string, d fs.DirEntry, err error) error {
		switch d.Name() {
		case "fine":
			fine++
		case "key.txt", "b", "late":
			t.Errorf("%s was kept", name)
		}
		return err
	})
	if fine != 1 {
		t.Errorf("%d files without a secret", fine)
	}
}

// What a reference or a URI puts into a script names no secret.
func TestPutInNamesNoSecret(t *testing.T) {
	set := live(t)
	var err error
	if set.Secrets, err = secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"A": {Value: "alpha-secret-1", Tools: []string{"command"}}}}); err != nil {
		t.Fatal(err)
	}
	block := func(fields ...string) string {
		return "<|[REQUEST_TOOL]|>\n" + strings.Join(fields, "«««\n") + "«««\n<|[END_TOOL]|>"
	}
	has(t, work(t, set, "", block("command_1:»»»command", "content_1:»»»echo 'echo $$KARYI{A} | wc -c' >'$$KARYI{A}'; printf %s '$$KARYI{A}'",
		"command_2:»»»command", "content_2:»»»echo one @{step_1.output.output} | wc -c; echo two $KARYI{A} | wc -c",
		"command_3:»»»command", "uri_content_3:»»»fam://agent/$KARYI{A}"), ""), "output:$KARYI{A}", "output:14\n19\n", "output:10\n")
}

// The outputs of one session count together, whatever tag asked for them, and the third that spells
// a secret in another form ends them.
func TestSessionsLeakThrice(t *testing.T) {
	set := live(t)
	var err error
	if set.Secrets, err = secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"A": {Value: "alpha-secret-1", Tools: []string{"command"}}}}); err != nil {
		t.Fatal(err)
	}
	const spell = `<tools><command>echo $KARYI{A} | base64</command></tools>`
	said := work(t, set, "", spell, `<tools><command>x=$KARYI{A}; read n; echo $x | base64</command></tools>`, `<tools><input>go\n</input></tools>`, spell, `<tools><command>echo fine</command></tools>`, `<tools><input>go\n</input></tools>`)
	has(t, said, "the output is withheld", "awaiting_input", "the output is withheld", "secret_exfiltration: it is the output number 3", "3 of its outputs spelled a secret", "3 of its outputs spelled a secret")
}

// A file of an agent refers to a secret; its commands find the value there, and nothing that is
// kept has it. Another tool is not led to the file meanwhile.
func TestSecretsInFilesOfAgents(t *testing.T) {
	set := live(t)
	var err error
	if set.Secrets, err = secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"A": {Value: "alpha-secret-1", Tools: []string{"edit"}}, "B": {Value: "beta-secret-22", Tools: []string{"command"}}}}); err != nil {
		t.Fatal(err)
	}
	said := work(t, set, "",
		`<tools><edit><file src="etc/rc"><find></find><replace>token=$KARYI{A}
</replace></file></edit><edit><file src="x"><find></find><replace>$KARYI{B}</replace></file></edit><command>wc -c <etc/rc; grep -c "token=alpha-sec""ret-1" etc/rc; cat etc/rc; cp etc/rc copy; sed -i s/token/key/ etc/rc</command><read><file src="etc/rc"/></read></tools>`,
		`<tools><command>grep -c "key=alpha-sec""ret-1" etc/rc; read -r x; ls</command><edit><file src="etc/rc"><find>key</find><replace>name</replace></file></edit><input>go on\n</input><read><file src="etc/rc"/></read></tools>`)
	all := strings.Join(said, "\n")
	for _, want := range []string{"secrets:[A] status:created", "B is not granted to edit", "output:21\n1\ntoken=$KARYI{A}\n", "removed, for there was a secret in it: copy", "of 1\nkey=$KARYI{A}", "output:1\n status:awaiting_input", "output:etc\n status:ok", "of 1\nname=$KARYI{A}"} {
		if !strings.Contains(all, want) {
			t.Errorf("want %s\n%s", want, all)
		}
	}
	_ = filepath.WalkDir(set.Mounts.Files, func(name string, d fs.DirEntry, err error) error {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), "alpha-secret-1") {
			t.Errorf("%s: %s", name, text)
		}
		return err
	})
}

// While a program has a secret the run says what a kill would leave; the next process cleans
// that before the scene begins.
func TestSecretsOfKilledSessions(t *testing.T) {
	set := live(t)
	var err error
	if set.Secrets, err = secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"A": {Value: "alpha-secret-1", Tools: []string{"command"}}}}); err != nil {
		t.Fatal(err)
	}
	marks := func() []string {
		list, _ := filepath.Glob(filepath.Join(set.Mounts.Files, ".sessions", "*.unclean.json"))
		return list
	}
	mark, done := []byte(nil), make(chan struct{})
	go func() { // what a kill in the middle of the command would leave
		defer close(done)
		for end := time.Now().Add(toolstest.Long); mark == nil && time.Now().Before(end); <-time.After(time.Millisecond) { // another process
			if list := marks(); len(list) == 1 {
				mark, _ = os.ReadFile(list[0])
			}
		}
	}()
	has(t, work(t, set, "", `<tools><command>echo $KARYI{A} > key.txt; sleep 0.3</command></tools>`, ""), "removed, for there was a secret in it: ")
	<-done
	if len(marks()) > 0 || !strings.Contains(string(mark), `"names":["A"]`) || strings.Contains(string(mark), "alpha") {
		t.Fatalf("%v; the mark was %s", marks(), mark)
	}
	var m folders.Mark
	if err := json.Unmarshal(mark, &m); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(set.Mounts.Files, m.Folders[0], "key.txt")
	if err := errors.Join(os.WriteFile(filepath.Join(set.Mounts.Files, ".sessions", "x.unclean.json"), mark, 0o600), os.WriteFile(left, []byte("alpha-secret-1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(minimal))), nil)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	next, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: set.Sandbox, Secrets: set.Secrets, Mounts: set.Mounts, Warn: func(text string) { said = text }})
	if err != nil || next != nil || said != "1 files were removed that programs with secrets had written when simd was killed: key.txt" {
		t.Errorf("%s, %v", said, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) || len(marks()) > 0 {
		t.Errorf("%v, %v", err, marks())
	}
}

// A file that refers to a secret had the value when the process was killed: the next process takes it
// out again, and the file keeps the reference.
func TestLoansOfKilledSessions(t *testing.T) {
	set := live(t)
	var err error
	if set.Secrets, err = secrets.New(&secrets.File{Secrets: map[string]*secrets.Grant{"A": {Value: "alpha-secret-1", Tools: []string{"command", "edit"}}}}); err != nil {
		t.Fatal(err)
	}
	has(t, work(t, set, "", `<tools><edit><file src="rc"><find></find><replace>token=$KARYI{A}</replace></file></edit></tools>`, ""), "secrets:[A]")
	own := set.Mounts.Source("s", "ada", nil).Folders[mount.Agent]
	lent, copied := filepath.Join(own, "rc"), filepath.Join(own, "copy")
	for _, name := range []string{lent, copied} { // what a kill in the middle of a command leaves
		if err := os.WriteFile(name, []byte("token=alpha-secret-1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := folders.Mark{Folders: []string{own}, Since: time.Now().Add(-time.Minute), Names: []string{"A"}}
	if err := m.Note(filepath.Join(set.Mounts.Files, ".sessions"), set.Mounts.Files, mount.Folder("s\x00ada")); err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(minimal))), nil)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	if _, err := tooling.New(tooling.Options{Project: p, Run: "r", Sandbox: set.Sandbox, Secrets: set.Secrets, Mounts: set.Mounts, Warn: func(text string) { said = text }}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(lent); string(text) != "token=$KARYI{A}" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(copied); !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(said, "was killed: copy") {
		t.Errorf("%s, %v", said, err)
	}
}

// stopped is an Approver that waits for the end.
type stopped struct{}

func (stopped) Ask(ctx context.Context, _ *approvals.Question) (approvals.Verdict, error) {
	<-ctx.Done()
	return approvals.Verdict{}, context.Cause(ctx)
}

// Silence is no answer.
func TestNobodyGivesAValue(t *testing.T) {
	set := live(t)
	set.Leave = tooling.Leave{Door: stopped{}, Timeout: 50 * time.Millisecond}
	has(t, work(t, set, "", `<tools><get_value key="TOKEN" reason="to push"/></tools>`, ""), "nobody answered in time")
}
