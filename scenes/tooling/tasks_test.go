package tooling_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/tooltask"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/view/verify"
	"tavernsim/tools"
)

// tasked is a scene whose agents call a task in their first turns, and keep what they hear.
const tasked = `
-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [UpdatePrivateStateTool, SayTool, TaskStatusTool, CancelTaskTool, paint, order]
-- tools/paint.tool.yaml --
id: paint
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
execution: {mode: async, repeat: free, latency: 2500ms, timeout: 5s}
-- tools/order.tool.yaml --
id: order
parameters: {properties: {q: {type: string}}}
implementation: {type: service, name: lab}
execution: {mode: async, repeat: by_key, latency: 1s, timeout: 5s}
-- tools/mock.yaml --
rules:
  - match: {tool: paint}
    latency: {min: 1s, max: 4s}
    answer: {output: {picture: "{{.params.q}}"}}
  - match: {tool: order, chance: 0.5}
    answer: {fail: tool, message: "no {{.params.q}}"}
otherwise: {output: done}
-- scenes/s.yaml --
id: s
name: Tasks
schema_version: "1.0"
agent_instances:
  - {instance_id: "a_{n}", profile_id: person, count: 5}
simulation: {seed: 3, CLOCK}
-- models/voices.yaml --
rules:
  - match: {variables: {turn: [1, 2]}}
    answer: |
      <|[REQUEST_TOOL]|>
      command_1: »»»paint«««
      q_1: »»»one @{self.instance_id} @{timestamp}«««
      command_2: »»»order«««
      q_2: »»»two @{self.instance_id} @{timestamp}«««
      retry_2: »»»2«««
      command_3: »»»UpdatePrivateStateTool«««
      path_3: »»»task«««
      value_3: »»»@{step_1.output.task_id}«««
      command_4: »»»TaskStatusTool«««
      <|[END_TOOL]|>
otherwise: {text: ""}
`

const ticks = "stop: {ticks: 12}"

func taskProject(t testing.TB, clock string) *project.Project {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.Replace(tasked, "CLOCK", clock, 1)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// slowly answers, later to questions that begin with a word.
func slowly(word string) tools.Executor {
	return tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
		q, _ := c.Params["q"].(string)
		if word != "" && strings.HasPrefix(q, word) {
			time.Sleep(20 * time.Millisecond) //nolint:forbidigo // so that others answer before
		}
		return tools.Output(map[string]any{"q": q})
	})
}

// factsOf lists the facts of the service of tasks as they are read.
func factsOf(t testing.TB, s *scenestest.Scene) (list []protocol.Fact) {
	t.Helper()
	codec := protocol.NewCodec(tooltask.Facts())
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{}, func(r protocol.Record) error {
			if r.Actor != "$tools" {
				return nil
			}
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

func mustVerify(t testing.TB, s *scenestest.Scene, set scenestest.Settings) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		if r, _, err := verify.Run(context.Background(), s.Made(t, set), j, verify.Options{}); err != nil || r.Difference != nil {
			b, _ := json.Marshal(r.Difference)
			t.Errorf("verify: %v %s", err, b)
		}
	})
}

// Tasks end when they are due, whatever takes how long: the same digest with every number of
// workers, in whatever order the answers come, mocked and live, and interrupted.
func TestTasksEndWhenTheyAreDue(t *testing.T) {
	for _, mode := range []tooling.Mode{tooling.Live, tooling.Mock} {
		digest := ""
		for i, slow := range []string{"", "one", "two"} {
			if mode == tooling.Mock && slow != "" {
				continue // it asks no executor
			}
			for _, workers := range []int{1, 7} {
				set := scenestest.Settings{Tools: mode, Workers: workers, Snapshots: int64(20 * i), Services: map[string]tools.Executor{"lab": slowly(slow)}}
				s := scenestest.New(t, taskProject(t, ticks), "")
				first := set
				if workers > 1 {
					first.InterruptAt = uint64(2 + i%2) // it may be over before
				}
				r := s.Run(t, first)
				if r.Err == nil && !r.Final {
					r = s.Run(t, set)
				}
				if r.Err != nil || !r.Final {
					t.Fatal(r)
				}
				if digest == "" {
					digest = r.Digest()
				}
				if r.Digest() != digest {
					t.Errorf("%s, %d workers, %q is slow: %s, before %s", mode, workers, slow, r.Digest(), digest)
				}
				mustVerify(t, s, set)
				ended := 0
				for _, f := range factsOf(t, s) {
					if x, ok := f.(*tooltask.Ended); ok {
						ended++
						if x.Tool == "paint" && x.Status != "ok" {
							t.Errorf("%+v", x)
						}
					}
				}
				if ended != 20 {
					t.Errorf("%s: %d tasks ended, want 20", mode, ended)
				}
			}
		}
	}
}

// On the realtime clock tasks end as their answers come; the scene waits for them, and its
// history is decided again.
func TestTasksInRealtime(t *testing.T) {
	set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": slowly("one")}}
	s := scenestest.New(t, taskProject(t, "clock: realtime, stop: {after: 2s}"), "")
	r := s.Run(t, set)
	if r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	opened, ended := 0, 0
	for _, f := range factsOf(t, s) {
		switch f.(type) {
		case *tooltask.Opened:
			opened++
		case *tooltask.Ended:
			ended++
		}
	}
	if opened != 20 || ended != opened {
		t.Errorf("%d tasks opened, %d ended", opened, ended)
	}
	mustVerify(t, s, set)
}

// A fork takes over no task: it ends there as cancelled, and its agent hears of it. The
// parent keeps its own.
func TestTasksOfAFork(t *testing.T) {
	set := scenestest.Settings{Tools: tooling.Mock}
	s := scenestest.New(t, taskProject(t, ticks), "")
	if r := s.Run(t, set); r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	store, err := persistence.Open(s.Dir, persistence.Options{Traces: history.Traces()})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CutAfter("s", 2); err != nil {
		t.Fatal(err)
	}
	j, err := store.Journal("s")
	if err != nil {
		t.Fatal(err)
	}
	state, err := history.FoldTo(s.Made(t, set), j, 2, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	open := state.Tasks().State.Len()
	if _, err := history.Fork(s.Made(t, set), j, history.Options{}, &agenda.Forked{Parent: "p", Wave: 2, Seed: 3}, nil); err != nil || open != 10 {
		t.Fatal(open, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := s.Run(t, set); r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	cancelled := 0
	for _, f := range factsOf(t, s) {
		if x, ok := f.(*tooltask.Cancelled); ok && x.Reason == tooltask.ReasonForked {
			cancelled++
		}
	}
	if cancelled != open {
		t.Errorf("%d tasks were open and %d are cancelled", open, cancelled)
	}
	mustVerify(t, s, set)
}

// A task that its agent cancels ends at once; nobody waits for its answer, which never
// comes.
func TestACancelledTask(t *testing.T) {
	hangs := make(chan struct{})
	text := strings.Replace(tasked, "  - match: {variables: {turn: [1, 2]}}\n", `  - match: {variables: {turn: 1}}
    answer:
      calls: [{tool: paint, params: {q: slow}}, {tool: UpdatePrivateStateTool, params: {path: n, value: 1}}]
  - match: {variables: {turn: 2}}
    answer:
      calls: [{tool: CancelTaskTool, params: {task_id: a_1/1.1}}]
  - match: {variables: {turn: 99}}
`, 1)
	text = strings.NewReplacer("CLOCK", "clock: realtime, stop: {after: 1500ms}", "count: 5", "count: 1", "latency: 2500ms", "latency: 20s", "tool_ids_inventory: [", "custom_runtime_config: {deliberation_frequency_hz: 2}\ntool_ids_inventory: [").Replace(text)
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": tools.Func(func(ctx context.Context, _ *tools.Call) tools.Result {
		<-ctx.Done()
		close(hangs)
		return tools.Fail(protocol.KindCancelled, "cancelled")
	})}}
	r := s.Run(t, set)
	select {
	case <-hangs:
	default:
		t.Error("the call was not cancelled")
	}
	if r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	var got []string
	for _, f := range factsOf(t, s) {
		got = append(got, f.FactKind())
	}
	if strings.Join(got, " ") != "tool.task_opened tool.task_sent tool.task_cancelled" {
		t.Errorf("%v", got)
	}
	mustVerify(t, s, set)
}

// A task that is due and has no answer is overdue: the clock waits, and metrics say so.
func TestOverdueTasksAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
			if c.Tool.ID == "paint" {
				<-answer
			}
			return tools.Output("done")
		})}}
		s := scenestest.New(t, taskProject(t, ticks), "")
		r, err := s.Start(set)
		if err != nil {
			t.Fatal(err)
		}
		got := func() map[string]int {
			m := map[string]int{}
			r.Sources().Tasks.TaskStates(func(state string, n int) { m[state] += n })
			return m
		}
		synctest.Wait() // the pictures of the first turn are due, with the orders of the second
		if want := map[string]int{metrics.TaskQueued: 0, metrics.TaskOut: 5, metrics.TaskOverdue: 5, metrics.TaskAnswered: 5}; !maps.Equal(got(), want) {
			t.Errorf("while the clock waits: %v, want %v", got(), want)
		}
		close(answer)
		if res := r.Close(); res.Err != nil || !res.Final {
			t.Error(res)
		}
		if m := got(); m[metrics.TaskOut]+m[metrics.TaskOverdue]+m[metrics.TaskQueued]+m[metrics.TaskAnswered] != 0 {
			t.Errorf("at the end: %v", m)
		}
	})
}
