package interview_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/control"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/interview"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/inspect"
)

const village = `
-- scenes/s.yaml --
id: s
name: Village
schema_version: "1.0"
agent_instances:
  - {instance_id: "v_{n}", profile_id: villager, count: 10}
  - {instance_id: guest, profile_id: villager, spawnable: true}
simulation: {seed: 1, stop: {ticks: 400}}
-- agent_profiles/villager.yaml --
id: villager
name: Villager
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [UpdatePrivateStateTool, PublishEventTool, RequestWorldStateUpdateTool]
custom_runtime_config: {deliberation_frequency_hz: 1}
-- models/voices.yaml --
rules:
  - match: {events: interview.question}
    answer:
      text: "I am {{.agent}}, asked {{range .variables.incoming_events}}{{.payload.question}}{{end}}, work {{.variables.private_state.work}}"
      calls: [{tool: RequestWorldStateUpdateTool, params: {path: broken, value: true}}, {tool: NoTool}]
otherwise: {calls: [{tool: UpdatePrivateStateTool, params: {path: work, op: add, value: 1}}, {tool: RequestWorldStateUpdateTool, params: {path: work, op: add, value: 1}}]}
`

// twice is one whose turn asks a model two times.
const twice = `
-- scenes/s.yaml --
id: s
name: Village
schema_version: "1.0"
agent_instances: [{instance_id: deep, profile_id: twice}]
simulation: {seed: 1, stop: {ticks: 4}}
-- agent_profiles/twice.yaml --
id: twice
name: T
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: twice
custom_runtime_config: {deliberation_frequency_hz: 1}
-- workflows/twice.yaml --
interfaceInputs:
  turn: {dataFlowType: INTEGER}
interfaceOutputs:
  response: {dataFlowType: STRING}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "Turn {{.turn}}."}}
  - {id: first, type: LLMCompletion}
  - {id: again, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: text, target: first, targetHandle: prompt}
  - {source: first, sourceHandle: text, target: again, targetHandle: prompt}
  - {source: again, sourceHandle: text, target: out, targetHandle: response}
-- models/voices.yaml --
otherwise: I think.
`

func load(t *testing.T, more ...string) *project.Project {
	t.Helper()
	p, err := runner.LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(village+strings.Join(more, "")))), "village", true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asking opens a run for one interview, as a process of its own would.
func asking(t *testing.T, dir string, q interview.Question) (*interview.Answer, error) {
	t.Helper()
	return askingBy(t, context.Background(), dir, q, func(p llm.Provider) llm.Provider { return p })
}

func askingBy(t *testing.T, ctx context.Context, dir string, q interview.Question, by func(llm.Provider) llm.Provider) (*interview.Answer, error) {
	t.Helper()
	run, err := inspect.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	s, err := run.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	set, err := interview.Models(run, s.ID, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	return interview.Run(ctx, s, by(set.Provider()), q)
}

func lines(t *testing.T, dir string) (list []interview.Answer) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, interview.File))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var a interview.Answer
		if json.Unmarshal(s.Bytes(), &a) == nil {
			list = append(list, a)
		}
	}
	return list
}

// Ten agents are asked at ten moments of a run that goes on. Its digest is that of a run that
// nobody asked, and each interview is a line. Promises 1 and 3; doors §17, row 5.
func TestInterviewsOfALiveRun(t *testing.T) {
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "run")
	want := finish(t, start(t, whole, nil))
	r := start(t, dir, []control.Command{{Do: control.Pause}})
	tell := func(c control.Command) {
		t.Helper()
		if _, err := r.Scenes[0].Run.Control(context.Background(), &c); err != nil {
			t.Fatal(err)
		}
	}
	tell(control.Command{Do: control.Step, Waves: 60})
	asked := 0
	for agent := 1; agent <= 10; agent++ {
		for moment := uint64(2); moment <= 20; moment += 2 {
			if asked == 50 { // the second half while waves begin
				tell(control.Command{Do: control.Pace, Pace: 40})
				tell(control.Command{Do: control.Resume})
			}
			q := interview.Question{Agent: fmt.Sprint("v_", agent), Text: "how much?", By: "me", Wave: moment}
			a, err := asking(t, dir, q)
			if err != nil {
				t.Fatal(err)
			}
			// Each wave after the first is a turn of everybody.
			if want := fmt.Sprintf("I am %s, asked how much?, work %d", q.Agent, moment-1); a.Answer != want {
				t.Fatalf("after wave %d: %q, want %q", moment, a.Answer, want)
			}
			if a.Wave != moment || a.Outcome != "ok" || len(a.Models) != 1 || a.Models[0].Input == 0 || len(a.Calls) != 2 {
				t.Fatalf("%+v", a)
			}
			asked++
		}
	}
	tell(control.Command{Do: control.Pace})
	if got := finish(t, r); got != want {
		t.Errorf("digest %s, of a run that nobody asked %s", got, want)
	}
	if list := lines(t, dir); len(list) != asked || asked != 100 || list[99].Agent != "v_10" || list[99].Question != "how much?" || list[99].By != "me" {
		t.Errorf("%d interviews are on record, want %d", len(list), asked)
	}
	rep, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true})
	if err != nil || rep.Scenes[0].Differs() {
		t.Error(rep, err)
	}
}

func start(t *testing.T, dir string, c []control.Command) *runner.Runner {
	t.Helper()
	r, err := runner.Start(load(t), runner.Options{Dir: dir, Control: c})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func finish(t *testing.T, r *runner.Runner) string {
	t.Helper()
	s, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return s.Digests()
}

// Promise 1, to the byte: the files of a run are what they were, but for the interviews. What
// cannot be asked is refused, and half of a line that a kill left is passed over.
func TestInterviewLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	finish(t, start(t, dir, nil))
	before := hashes(t, dir)
	if err := os.WriteFile(filepath.Join(dir, interview.File), []byte(`{"asked": "half`), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := asking(t, dir, interview.Question{Agent: "v_3", Text: "now?"})
	if err != nil || !strings.Contains(a.Answer, "now?") {
		t.Fatal(a, err)
	}
	for text, q := range map[string]interview.Question{
		"no agent \"nobody\"":                  {Agent: "nobody", Text: "?"},
		"the question is empty":                {Agent: "v_1", Text: " "},
		"the last wave is":                     {Agent: "v_1", Text: "?", Wave: 1 << 40},
		"guest is not in the scene at wave":    {Agent: "guest", Text: "?"},
		"or has more than 65536 bytes (65537)": {Agent: "v_1", Text: strings.Repeat("?", interview.MaxQuestion+1)},
	} {
		if _, err := asking(t, dir, q); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	if list := lines(t, dir); len(list) != 1 || list[0].Agent != "v_3" {
		t.Errorf("%+v", list)
	}
	if err := os.Remove(filepath.Join(dir, interview.File)); err != nil {
		t.Fatal(err)
	}
	if after := hashes(t, dir); after != before {
		t.Errorf("the run is another:\n%s\nit was\n%s", after, before)
	}
}

func hashes(t *testing.T, dir string) (text string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		text += fmt.Sprintf("%s %x\n", path, sha256.Sum256(data))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return text
}

// Promise 2: a call that leaves the process is not made, and the agent is told so.
func TestNobodyElseIsAsked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	p, err := runner.LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.NewReplacer("{tool: NoTool}", "{tool: weather, params: {}}", "RequestWorldStateUpdateTool]", "weather]").Replace(village)+`
-- tools/weather.tool.yaml --
id: weather
implementation: {type: service, name: weather}
-- tools/mock.yaml --
otherwise: {output: rain}
`))), "village", true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.Start(p, runner.Options{Dir: dir, Tools: tooling.Mock})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, r)
	a, err := asking(t, dir, interview.Question{Agent: "v_1", Text: "rain?"})
	if err != nil {
		t.Fatal(err)
	}
	if x := a.Calls[len(a.Calls)-1]; x.Tool != "weather" || x.Status != "denied" || !strings.Contains(x.Error, "this is an interview") {
		t.Errorf("%+v", a.Calls)
	}
}

// counted counts what a provider is asked, and does something after each answer.
type counted struct {
	llm.Provider
	n     int
	after func()
}

func (c *counted) Complete(ctx context.Context, q *protocol.ModelRequest, s llm.Sink) (protocol.ModelAnswer, error) {
	c.n++
	defer c.after()
	return c.Provider.Complete(ctx, q, s)
}

// What a model has answered is kept also if the interview is given up, and a file that cannot be
// written is known before anybody is asked.
func TestPaidAnswers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(load(t, twice), runner.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, r)
	ctx, giveUp := context.WithCancel(t.Context())
	c := &counted{after: giveUp}
	by := func(p llm.Provider) llm.Provider { c.Provider = p; return c }
	q := interview.Question{Agent: "deep", Text: "how much?"}
	a, err := askingBy(t, ctx, dir, q, by)
	if protocol.KindOf(err) != protocol.KindTimeout || a == nil || len(a.Models) != 1 || a.Models[0].Input == 0 || a.Error == "" {
		t.Errorf("%+v, %v", a, err)
	}
	if list := lines(t, dir); len(list) != 1 || len(list[0].Models) != 1 {
		t.Errorf("%+v", list)
	}
	file := filepath.Join(dir, interview.File)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	c.n = 0
	if a, err := askingBy(t, t.Context(), dir, q, by); err == nil || c.n != 0 {
		t.Errorf("%+v, %v, and %d questions to the model", a, err, c.n)
	}
}
