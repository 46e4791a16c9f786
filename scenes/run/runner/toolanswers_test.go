package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/permit"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/recorded"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
	"tavernsim/tools/toolreplay"
)

// fickle are tools that answer otherwise each time: inline, inline and parallel, with a
// question, with a reference, and as tasks.
const fickle = `
-- project.json --
{"id": "test", "model": "models/voices.yaml", "tool_policy": {"otherwise": "allow", "rules": [{"id": "r", "tools": ["pay"], "do": "ask"}]}}
-- tools/look.tool.yaml --
id: look
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
execution: {repeat: free, parallel: true, latency: 300ms}
-- tools/pay.tool.yaml --
id: pay
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
-- tools/paint.tool.yaml --
id: paint
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
execution: {mode: async, repeat: free, latency: 2500ms, timeout: 5s}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [UpdatePrivateStateTool, SayTool, CancelTaskTool, look, pay, paint]
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: "a_{n}", profile_id: a, count: 3}]
simulation: {seed: 3, stop: {ticks: 40}}
-- models/voices.yaml --
rules:
  - match: {variables: {turn: 1}}
    answer:
      calls: [{tool: look, params: {q: one}}, {tool: look, params: {q: two}}, {tool: look, params: {q: "no"}}, {tool: look, params: {q: one}}, {tool: paint, params: {q: mill}}]
  - match: {variables: {turn: 2}}
    answer:
      calls: [{tool: pay, params: {q: one}}, {tool: pay, params: {q: two}}, {tool: look, params: {q: "fam://project/project.json"}}, {tool: paint, params: {q: late}}]
  - match: {variables: {turn: 3}}
    answer:
      calls: [{tool: look, params: {q: one}}, {tool: look, params: {q: picture}}, {tool: CancelTaskTool, params: {task_id: a_1/2.1}}, {tool: paint, params: {q: latest}}]
otherwise: {text: ""}
`

func loadFickle(t *testing.T, change ...string) *project.Project {
	t.Helper()
	p, err := LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.NewReplacer(change...).Replace(fickle)))), "test", true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lab answers each call otherwise.
func lab(calls *atomic.Int64) map[string]tools.Executor {
	return map[string]tools.Executor{"lab": tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
		n, q := calls.Add(1), c.Params["q"]
		switch q {
		case "no":
			return tools.Fail(tools.KindTool, fmt.Sprintf("no %d", n))
		case "picture":
			r := tools.Output(strings.Repeat(fmt.Sprint("long ", n), 20_000))
			r.Attach("pic", "image/png", []byte{byte(n)})
			return r
		}
		return tools.Output(map[string]any{"q": q, "n": n, "half": 0.5, "whole": float64(n), "list": []any{nil, true, "ä"}})
	})}
}

func yesMostly(t *testing.T) tooling.Leave {
	t.Helper()
	answers, faults := permit.New(&permit.Policy{Otherwise: permit.Ask, Rules: []permit.Rule{
		{ID: "yes", Tools: []string{"*"}, Do: permit.Allow}, {ID: "no", Tools: []string{"pay"}, Params: map[string]any{"/q": "two"}, Do: permit.Deny},
	}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return tooling.Leave{Answers: answers}
}

// The answers of a run's tools are given again: the same digest with any number of workers,
// also when the run was stopped on the way and the first one is gone. Nothing is carried out,
// and nobody is asked.
func TestToolAnswersAreGivenAgain(t *testing.T) {
	p, from := loadFickle(t), filepath.Join(t.TempDir(), "from")
	calls := &atomic.Int64{}
	first := run(t, p, Options{Dir: from, Services: lab(calls), Leave: yesMostly(t)})
	made := calls.Load()
	if first.Tools.Failed == 0 || made < 20 || first.Tools.Replayed > 0 {
		t.Fatalf("%d calls, %+v", made, first.Tools)
	}
	for _, workers := range []int{1, 7} {
		dir := filepath.Join(t.TempDir(), "again")
		s := run(t, p, Options{Dir: dir, Workers: workers, Tools: tooling.Replay, ToolAnswers: from})
		if s.Digest != first.Digest || s.Tools.Missed > 0 || s.Tools.Replayed != made {
			t.Errorf("%d workers: digest %s, want %s; %+v", workers, s.Digest, first.Digest, s.Tools)
		}
		if got, want := ids(t, dir), ids(t, from); len(want) < 6 || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("artifacts %v, want %v", got, want)
		}
		if m, err := rundir.ReadManifest(dir); err != nil || m.Tools != "replay" {
			t.Error(m.Tools, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "stopped")
	r, err := Start(p, Options{Dir: dir, Tools: tooling.Replay, ToolAnswers: from})
	if err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	wait(t, r)
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(dir, Options{Finish: true}); err != nil {
		t.Fatal(err)
	}
	if s := wait(t, r); s.Digest != first.Digest || !s.Ended {
		t.Errorf("resumed: %s, want %s", s.Digest, first.Digest)
	}
	if calls.Load() != made {
		t.Errorf("%d calls were carried out", calls.Load()-made)
	}
	forked := filepath.Join(t.TempDir(), "fork")
	if _, err := rundir.Fork(t.Context(), dir, forked, rundir.ForkOptions{At: "wave:0"}); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(forked, Options{Finish: true}); err != nil {
		t.Fatal(err)
	}
	if s := wait(t, r); s.Digest != first.Digest {
		t.Errorf("a fork from the beginning: %s, want %s", s.Digest, first.Digest)
	}
}

// A call that was not recorded fails, with the nearest one of its agent; the run goes on.
func TestACallThatWasNotRecorded(t *testing.T) {
	from := filepath.Join(t.TempDir(), "from")
	run(t, loadFickle(t), Options{Dir: from, Services: lab(&atomic.Int64{}), Leave: yesMostly(t)})
	other := loadFickle(t, `"id": "test"`, `"id": "another"`, "q: two", "q: three", "q: mill", "q: wheel")
	dir := filepath.Join(t.TempDir(), "again")
	s := run(t, other, Options{Dir: dir, Tools: tooling.Replay, ToolAnswers: from})
	if s.Tools.Missed < 6 || s.Tools.Replayed < 12 || !s.Ended {
		t.Errorf("%+v", s.Tools)
	}
	a, err := recorded.Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &protocol.Call{Tool: "look", Params: map[string]any{"q": "three"}}
	e, ok := a.Find(toolreplay.Question("tool", c), toolreplay.Place{Scene: "s", Agent: "a_2", Turn: 1, Number: 2})
	if !ok || e.ErrorKind != protocol.KindNotFound || !strings.Contains(e.Error, `has no answer to this call of look; the nearest of this agent is request`) || !strings.Contains(e.Error, `of turn 1: look {"q":"one"}`) {
		t.Errorf("%+v", e)
	}
}

// What cannot be given again is refused before a run directory is made.
func TestRunsWithoutToolAnswers(t *testing.T) {
	p, dir := loadFickle(t), filepath.Join(t.TempDir(), "dir")
	none := filepath.Join(t.TempDir(), "none")
	run(t, loadTown(t), Options{Dir: none, Ticks: 2})
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Tools: tooling.Replay}, "wants the run"},
		{Options{Tools: tooling.Replay, ToolAnswers: filepath.Join(dir, "absent")}, "absent"},
		{Options{Tools: tooling.Replay, ToolAnswers: none}, "has no answers of tools"},
		{Options{Tools: tooling.Mock, ToolAnswers: none}, "wants the run"},
		{Options{Tools: "dry"}, `want live, mock, replay or off`},
	} {
		c.opt.Dir = dir
		if _, err := Start(p, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.opt.Tools, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("%s: a run directory was made", c.want)
		}
	}
}

// A run that is being written gives what it has.
func TestToolAnswersOfARunThatGoesOn(t *testing.T) {
	p, from := loadFickle(t), filepath.Join(t.TempDir(), "from")
	stuck, go_ := make(chan struct{}, 99), make(chan struct{})
	lab := lab(&atomic.Int64{})["lab"]
	r, err := Start(p, Options{Dir: from, Leave: yesMostly(t), Services: map[string]tools.Executor{"lab": tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
		if c.Params["q"] == "picture" {
			stuck <- struct{}{}
			<-go_
		}
		return lab.Call(ctx, c)
	})}})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-stuck:
	case <-time.After(5 * time.Minute):
		t.Fatal("no call came")
	}
	a, err := recorded.Read(t.Context(), from)
	close(go_)
	wait(t, r)
	if err != nil {
		t.Fatal(err)
	}
	all, err := recorded.Read(t.Context(), from)
	if err != nil || a.Len() < 12 || a.Len() >= all.Len() {
		t.Errorf("%d answers while it ran, %d at its end, %v", a.Len(), all.Len(), err)
	}
}

// So it is with a run that was killed while a task was out that must not be repeated: it ends when it was due.
func TestATaskThatAKillLeftIsGivenAgain(t *testing.T) {
	p := loadFickle(t, "mode: async, repeat: free", "mode: async, repeat: never")
	live, killed := filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "killed")
	calls, first, out, end := &atomic.Int64{}, sync.Once{}, make(chan struct{}), make(chan struct{})
	all := lab(calls)["lab"]
	stuck := map[string]tools.Executor{"lab": tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
		if c.Params["q"] == "mill" {
			first.Do(func() {
				close(out)
				<-end
			})
		}
		return all.Call(ctx, c)
	})}
	r, err := Start(p, Options{Dir: live, Services: stuck, Leave: yesMostly(t)})
	if err != nil {
		t.Fatal(err)
	}
	<-out
	if err := os.CopyFS(killed, os.DirFS(live)); err != nil { // as a kill leaves it
		t.Fatal(err)
	}
	close(end)
	wait(t, r)
	if r, err = Resume(killed, Options{Finish: true, Services: lab(calls), Leave: yesMostly(t)}); err != nil {
		t.Fatal(err)
	}
	was := wait(t, r)
	if was.Tools.Failed == 0 {
		t.Fatalf("nothing was lost: %+v", was.Tools)
	}
	for range 2 {
		dir := filepath.Join(t.TempDir(), "again")
		s := run(t, p, Options{Dir: dir, Tools: tooling.Replay, ToolAnswers: killed})
		if s.Digest != was.Digest || s.Tools.Missed > 0 {
			t.Errorf("digest %s, want %s; %+v", s.Digest, was.Digest, s.Tools)
		}
		killed = dir // whose answers are given again, too
	}
}
