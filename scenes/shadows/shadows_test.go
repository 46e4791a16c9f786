package shadows_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/shadows"
)

// thinking is a model that takes its time. Its answer depends on the question and nothing else, and
// names it: whoever got the answer to another question would keep other facts.
type thinking struct {
	script llm.Instant
	mu     sync.Mutex
	rng    *rand.Rand
	most   time.Duration
	calls  int
}

func newThinking(tb testing.TB, s *scenestest.Scene, seed uint64, most time.Duration) *thinking {
	tb.Helper()
	m, err := scenestest.Model(s.Project, s.Def)
	if err != nil {
		tb.Fatal(err)
	}
	return &thinking{script: m.(llm.Instant), rng: rand.New(rand.NewPCG(seed, 0)), most: most}
}

func (m *thinking) Name() string { return "thinking" }
func (m *thinking) Close() error { return nil }

func (m *thinking) Complete(ctx context.Context, q *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	m.mu.Lock()
	m.calls++
	wait := time.Duration(m.rng.Int64N(int64(m.most)))
	m.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return protocol.ModelAnswer{}, context.Cause(ctx)
	}
	own := *q
	own.Variables, own.Events, own.Asker = nil, nil, nil
	h := fnv.New64a()
	h.Write(llm.AppendQuestion(nil, q))
	a, err := m.script.Answer(&own)
	if err == nil {
		a.Text += fmt.Sprintf(" #%x", h.Sum64())
	}
	return a, err
}

// asksAll is the workflow of random projects with everything that an agent perceives in its prompt.
const asksAll = `
-- workflows/think.yaml --
interfaceInputs:
  turn: {dataFlowType: INTEGER}
  self: {dataFlowType: OBJECT}
  now: {dataFlowType: STRING}
  world_state: {dataFlowType: OBJECT}
  private_state: {dataFlowType: OBJECT}
  active_goals: {dataFlowType: ARRAY}
  interaction_history: {dataFlowType: ARRAY}
  incoming_events: {dataFlowType: ARRAY}
  observations: {dataFlowType: ARRAY}
interfaceOutputs:
  response: {dataFlowType: STRING}
  calls: {dataFlowType: ARRAY}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "Turn {{.turn}} of {{.self.instance_id}} at {{.now}}: {{json .world_state}} {{json .private_state}} {{json .active_goals}} {{json .interaction_history}} {{json .incoming_events}} {{json .observations}}"}}
  - {id: model, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: text, target: model, targetHandle: prompt}
  - {source: model, sourceHandle: text, target: out, targetHandle: response}
  - {source: model, sourceHandle: calls, target: out, targetHandle: calls}
`

// Promise 1. One history under every schedule: random projects whose prompts show everything, answers in random
// order, random workers, interrupted and resumed, and shadows that are lied to.
func TestOneDigestUnderEverySchedule(t *testing.T) {
	var sum shadows.Counts
	rapid.Check(t, func(rt *rapid.T) {
		text := scenestest.RandomProject(rt, 1, 2, 3, 4)
		archives := []*txtar.Archive{scenestest.Base(), txtar.Parse([]byte(text))}
		if rapid.Bool().Draw(rt, "prompts show all") {
			archives = append(archives, txtar.Parse([]byte(asksAll)))
		}
		p, err := scenestest.Load(scenestest.Files(archives...), nil)
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		var orders []*machines.Order // from outside: a proof or a bet knows nothing of them
		if rapid.Bool().Draw(rt, "orders") {
			orders = ordersFromOutside()
		}
		underEverySchedule(t, rt, p, orders, drawn(rt), text, &sum)
	})
	// Of random projects there may be none in which much runs ahead. In this one it does, and lies waste calls.
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(desks))), nil)
	if err != nil {
		t.Fatal(err)
	}
	underEverySchedule(t, t, p, nil, &course{seed: 1, lies: true, interrupt: 3, workers: []int{2, 2}, closing: settled}, "desks", &sum)
	c := sum.Calls
	t.Logf("%d turns ran ahead; %d calls were used, %d wasted, and %d times the committed run did something else", sum.Turns, c.Used, c.Wasted, sum.Missed)
	if sum.Turns == 0 || c.Used == 0 || c.Wasted == 0 {
		t.Error("nothing is tested")
	}
}

// course is how the runs of one scene go.
type course struct {
	seed      uint64 // of the order of answers
	lies      bool
	interrupt uint64 // the wave; 0 = none
	workers   []int  // of each schedule
	closing   func() // scenestest.Settings.Closing
}

func drawn(rt *rapid.T) *course {
	workers := rapid.SampledFrom([]int{1, 2, 7})
	c := &course{
		seed: rapid.Uint64().Draw(rt, "order of answers"), lies: rapid.Bool().Draw(rt, "lies"), interrupt: uint64(rapid.IntRange(0, 6).Draw(rt, "interrupt")),
		workers: []int{workers.Draw(rt, "workers"), workers.Draw(rt, "workers")},
	}
	if rapid.Bool().Draw(rt, "settled") { // otherwise driver and committed run race
		c.closing = settled
	}
	return c
}

// underEverySchedule holds the digest of a scene under each schedule to that of the barrier, and adds up what ran ahead.
func underEverySchedule(t *testing.T, tb interface{ Errorf(string, ...any) }, p *project.Project, orders []*machines.Order, how *course, text string, sum *shadows.Counts) {
	run := func(schedule scenes.Schedule, workers int, interrupt uint64) (end scenestest.Result) {
		s := scenestest.New(t, p, "")
		synctest.Test(t, func(t *testing.T) {
			for _, at := range []uint64{interrupt, 0} {
				set := scenestest.Settings{Workers: workers, InterruptAt: at, Model: newThinking(t, s, how.seed, 3*time.Second), Orders: orders, Closing: how.closing}
				r, err := s.StartWith(set, func(o *scenes.Options) {
					if o.Schedule = schedule; how.lies {
						o.Lie = lying(how.seed)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				end = r.Close()
				if c := r.Ahead(); c != nil {
					sum.Turns, sum.Missed, sum.Calls.Used, sum.Calls.Wasted = sum.Turns+c.Turns, sum.Missed+c.Missed, sum.Calls.Used+c.Calls.Used, sum.Calls.Wasted+c.Calls.Wasted
					if failed(c) {
						t.Errorf("it gave up: %s", c.Off)
					}
				}
				if end.Final || end.Err != nil {
					break
				}
			}
		})
		return end
	}
	want := run(scenes.Barrier, 1, 0)
	for i, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		if got := run(schedule, how.workers[i], how.interrupt); got.Err != nil || got.Digest() != want.Digest() || got.DeadLetters > want.DeadLetters {
			tb.Errorf("%s: %v %s, at the barrier %v %s\n%s", schedule, got.Err, got.Digest(), want.Err, want.Digest(), text)
		}
	}
}

// ordersFromOutside change the world and tell everybody who hears of it.
func ordersFromOutside() []*machines.Order {
	change := func(n int64) protocol.Raw {
		return protocol.Encode([]any{
			map[string]any{"world": map[string]any{"path": "ordered", "op": "add", "value": n}},
			map[string]any{"event": map[string]any{"type": "agent.said", "payload": map[string]any{"text": "An order."}}},
		})
	}
	return []*machines.Order{
		{Intervened: &agenda.Intervened{ID: "wave", Do: change(1)}, Wave: 4},
		{Intervened: &agenda.Intervened{ID: "time", Do: change(2)}, After: 3 * time.Second},
		{Intervened: &agenda.Intervened{ID: "later", Do: change(3)}, Wave: 9, After: 5 * time.Second},
	}
}

// lying makes turns that run ahead see another time now and then.
func lying(seed uint64) func(string, *agent.Wake) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(_ string, w *agent.Wake) {
		mu.Lock()
		defer mu.Unlock()
		if rng.IntN(7) == 0 {
			w.Now = w.Now.Add(time.Hour)
		}
	}
}

// desks is a scene whose agents have nothing to do with one another: what each does is in its own
// prompt, and nobody hears or reads of it.
const desks = `
-- project.json --
{"id": "test", "model": "models/voices.yaml"}
-- models/voices.yaml --
rules: []
otherwise: {text: "Done."}
-- workflows/work.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}, self: {dataFlowType: OBJECT}, private_state: {dataFlowType: OBJECT}, interaction_history: {dataFlowType: ARRAY}, now: {dataFlowType: STRING}}
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: TextTemplate, configValues: {template: "{{.self.instance_id}} {{.turn}} {{.now}} {{json .private_state}}"}}
  - {id: model, type: LLMCompletion}
  - {id: d, type: Expression, configValues: {type: OBJECT, expression: "({private_state: {last: a}, world: {path: 'desks.' + self.instance_id, value: a}})"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: text, target: model, targetHandle: prompt}
  - {source: model, sourceHandle: text, target: d, targetHandle: a}
  - {source: in, sourceHandle: self, target: d, targetHandle: self}
  - {source: d, sourceHandle: value, target: out, targetHandle: decision}
-- agent_profiles/clerk.yaml --
id: clerk
name: Clerk
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: work
tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool]
custom_runtime_config: {deliberation_frequency_hz: 0.1}
-- scenes/s.yaml --
id: s
name: Desks
schema_version: "1.0"
agent_instances:
  - {instance_id: "a_{n}", profile_id: clerk, count: 8}
initial_world_state: {desks: {}}
simulation: {seed: 3, stop: {ticks: 200}}
`

// played runs a scene under a schedule in time of its own, and gives how long it took.
func played(t *testing.T, text string, schedule scenes.Schedule, change ...func(*scenes.Options)) (end scenestest.Result, made *shadows.Counts, took time.Duration) {
	t.Helper()
	return playedBy(t, text, schedule, func(m *thinking) llm.Provider { return m }, change...)
}

// playedBy is played with the model wrapped.
func playedBy(t *testing.T, text string, schedule scenes.Schedule, wrap func(*thinking) llm.Provider, change ...func(*scenes.Options)) (end scenestest.Result, made *shadows.Counts, took time.Duration) {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		set := scenestest.Settings{Workers: 2, Model: wrap(newThinking(t, s, 1, 8*time.Second)), Closing: settled}
		r, err := s.StartWith(set, append(change, func(o *scenes.Options) { o.Schedule = schedule })...)
		if err != nil {
			t.Fatal(err)
		}
		end = r.Close()
		made, took = r.Ahead(), time.Since(began)
	})
	if end.Err != nil {
		t.Fatal(end.Err)
	}
	return end, made, took
}

// settled gives what runs ahead the time between two waves. Without it the committed run and the driver race for
// each question of the next wave, and how many are asked ahead depends on the machine. In a bubble nobody sleeps as
// long as anybody else has something to do.
func settled() { <-time.After(1) }

// Promise 2. Agents that have nothing to do with one another never wait for one another, and no call is made in
// vain.
func TestWhoIsIndependentDoesNotWait(t *testing.T) {
	want, none, barrier := played(t, desks, scenes.Barrier)
	if none != nil {
		t.Errorf("the barrier counts what runs ahead: %+v", none)
	}
	for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
		got, c, took := played(t, desks, schedule)
		if got.Digest() != want.Digest() {
			t.Errorf("%s: digest %s, want %s", schedule, got.Digest(), want.Digest())
		}
		if c.Calls.Wasted != 0 || c.Off != "" || c.Missed != 0 || c.Calls.Used < 100 {
			t.Errorf("%s: %+v", schedule, c)
		}
		if took > barrier*3/4 {
			t.Errorf("%s took %v, the barrier %v", schedule, took, barrier)
		}
		if near := c.Calls.Barrier - barrier; near < -barrier/10 || near > barrier/10 {
			t.Errorf("%s: the barrier is said to take %v, and takes %v", schedule, c.Calls.Barrier, barrier)
		}
		t.Logf("%s: %v of %v, %+v", schedule, took, barrier, *c)
	}
}

// The paths of a run say how long the barrier takes, and how long it takes if a turn waits only for those that
// may touch it.
func TestPathsSayWhatAScheduleCanGain(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(desks))), nil)
	if err != nil {
		t.Fatal(err)
	}
	took := map[scenes.Schedule]time.Duration{}
	for _, schedule := range []scenes.Schedule{scenes.Barrier, scenes.Tracked} {
		s := scenestest.New(t, p, "")
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			r, err := s.StartWith(scenestest.Settings{Workers: 2, Model: newThinking(t, s, 1, 8*time.Second)}, func(o *scenes.Options) { o.Schedule = schedule })
			if err != nil {
				t.Fatal(err)
			}
			end := r.Close()
			took[schedule] = time.Since(began)
			paths, of := r.Paths()
			near := paths.Barrier
			if schedule == scenes.Tracked {
				near = paths.Declared
			}
			if off := took[schedule] - near; end.Err != nil || off < -time.Second/10 || off > took[schedule]/10 {
				t.Errorf("%s took %v, by its paths %v: %+v", schedule, took[schedule], near, paths)
			}
			if paths.Declared != paths.Longest || paths.Model < 5*paths.Barrier/2 || len(paths.Agents) != 8 || of.Name(paths.LongestOf) == "" { // the desks have nothing to do with one another
				t.Errorf("%s: %+v", schedule, paths)
			}
		})
	}
}

// mirage fails when it is looked at.
type mirage struct{}

func (mirage) Shown(string) any { panic("a mirage") }

// Promise 3. A shadow that panics, and a driver that does, change nothing but speed.
func TestPanicsStayInTheShadow(t *testing.T) {
	want, _, _ := played(t, desks, scenes.Barrier)
	got, c, _ := played(t, desks, scenes.Tracked, func(o *scenes.Options) {
		o.Lie = func(agent string, w *agent.Wake) {
			if agent == "a_1" {
				w.View = mirage{}
			}
		}
	})
	if got.Digest() != want.Digest() || c.Panics != 1 || c.Off != "" || c.Used < 50 {
		t.Errorf("one panicked: %s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
	got, c, _ = played(t, desks, scenes.Tracked, func(o *scenes.Options) { o.Lie = func(string, *agent.Wake) { panic("no view") } })
	if got.Digest() != want.Digest() || !strings.Contains(c.Off, "no view") || c.Used > 0 {
		t.Errorf("the driver panicked: %s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
}

// once is a model that must not be asked twice.
type once struct{ *thinking }

func (once) MayRepeat(*protocol.ModelRequest) bool { return false }

// Promise 4: what must not be repeated is asked by the committed run alone.
func TestWhatMustNotBeRepeatedIsNotAskedAhead(t *testing.T) {
	got, c, _ := playedBy(t, desks, scenes.Tracked, func(m *thinking) llm.Provider { return once{m} })
	if c.Calls.Asked != 0 || c.Turns != 0 || c.Off != "" || got.State.Tally.ModelCalls != 160 {
		t.Errorf("%d calls, %+v", got.State.Tally.ModelCalls, c)
	}
}

// An interrupted run waits for the answers that turns ahead have asked for, and the resumed one finds them: no call
// is made twice.
func TestAnInterruptKeepsWhatWasAsked(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(desks))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	synctest.Test(t, func(t *testing.T) {
		m := newThinking(t, s, 1, 8*time.Second)
		for _, at := range []uint64{3, 0} {
			r, err := s.StartWith(scenestest.Settings{Workers: 2, Model: m, InterruptAt: at}, func(o *scenes.Options) { o.Schedule = scenes.Tracked })
			if err != nil {
				t.Fatal(err)
			}
			end := r.Close()
			if c := r.Ahead(); at > 0 && (end.Final || c.Calls.Asked <= c.Calls.Used) {
				t.Errorf("nothing was ahead when it was interrupted: %+v", c)
			}
			if c := r.Ahead().Calls; at == 0 && int64(m.calls)-(c.Asked-c.Used) != end.State.Tally.ModelCalls { // but for what is ahead when the scene ends
				t.Errorf("%d calls for %d: %+v", m.calls, end.State.Tally.ModelCalls, *r.Ahead())
			}
		}
	})
}

// A scene that may end at any wave does not run ahead without bound.
func TestAnEndWastesLittle(t *testing.T) {
	text := strings.Replace(desks, "stop: {ticks: 200}", "stop: {deliberations: 400}", 1)
	want, _, _ := played(t, text, scenes.Barrier)
	got, c, _ := played(t, text, scenes.Tracked)
	if left := c.Calls.Wasted + c.Calls.Ahead(); c.Calls.Ahead() == 0 || c.Calls.Asked != c.Calls.Used+left || got.Digest() != want.Digest() || c.Calls.Used < 50 || left > 50+c.Calls.Used/10 {
		t.Errorf("%s, want %s, %+v", got.Digest(), want.Digest(), c)
	}
}

// What cannot run ahead is refused before anything is written.
func TestWhatCannotRunAheadIsRefused(t *testing.T) {
	for _, c := range []struct{ was, is, want string }{
		{"stop: {ticks: 200}", "clock: realtime, stop: {after: 1s}", "realtime clock"},
		{"schema_version", "schema_version", "want barrier, tracked or speculative"},
	} {
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.Replace(desks, c.was, c.is, 1)))), nil)
		if err != nil {
			t.Fatal(err)
		}
		schedule := scenes.Tracked
		if c.was == c.is {
			schedule = "hurried"
		}
		s := scenestest.New(t, p, "")
		_, err = s.StartWith(scenestest.Settings{Model: newThinking(t, s, 1, time.Second)}, func(o *scenes.Options) { o.Schedule = schedule })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.is, err, c.want)
		}
	}
}
