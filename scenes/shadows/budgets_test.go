package shadows_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/shadows"
)

// spending is a thinking model at an endpoint that takes something. What an answer takes depends on
// its question, and some questions fail after they have taken all that they may.
type spending struct {
	*thinking
	tokens, calls atomic.Int64
}

// most is what a request to it takes at most.
const most = 60

func (m *spending) Bound(*protocol.ModelRequest) llm.Bound {
	return llm.Bound{Input: most / 2, Output: most / 2, Priced: true, Parts: []llm.Part{{Endpoint: "far", Tokens: most, Priced: true, First: true}}}
}

func (m *spending) Complete(ctx context.Context, q *protocol.ModelRequest, to llm.Sink) (protocol.ModelAnswer, error) {
	a, err := m.thinking.Complete(ctx, q, to)
	if ctx.Err() != nil {
		return a, err
	}
	h := fnv.New32a()
	h.Write(llm.AppendQuestion(nil, q))
	took := int64(10 + h.Sum32()%(most-10))
	if h.Sum32()%17 == 0 {
		a, err, took = protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeServerError, Message: "gone"}, most
	}
	m.tokens.Add(took)
	m.calls.Add(1)
	a.Origin = &protocol.ModelOrigin{Endpoint: "far"}
	if err == nil {
		a.Usage = protocol.Usage{Input: took, Output: 0}
	}
	return a, err
}

// Promise 5, and promise 1 where budgets run out: one digest, so the same refusals; no ledger is
// exceeded; and the waste is a small share of each limit.
func TestBudgetsUnderEverySchedule(t *testing.T) {
	var refused, used, wasted int64
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Replace(desks, "ticks: 200", "ticks: 120", 1)
		archives := []*txtar.Archive{}
		if rapid.Bool().Draw(rt, "random project") {
			text = scenestest.RandomProject(rt, 2, 4)
			archives = append(archives, scenestest.Base())
			if rapid.Bool().Draw(rt, "prompts show all") {
				archives = append(archives, txtar.Parse([]byte(asksAll)))
			}
		}
		limit := func(name string) *budget.Budget {
			b := &budget.Budget{OnExhausted: rapid.SampledFrom([]string{budget.Refuse, budget.End, ""}).Draw(rt, name+" at its end")}
			if name == "far" {
				b.OnExhausted = ""
			}
			switch rapid.IntRange(0, 3).Draw(rt, name+" limits") {
			case 0:
				b.Calls = int64(rapid.IntRange(3, 120).Draw(rt, name+" calls"))
			case 1:
				b.Tokens = int64(rapid.IntRange(most, 5000).Draw(rt, name+" tokens"))
			case 2:
				b.Calls, b.Tokens = int64(rapid.IntRange(20, 120).Draw(rt, name+" calls")), int64(rapid.IntRange(700, 5000).Draw(rt, name+" tokens"))
			default:
				return nil
			}
			return b
		}
		of := func(b *budget.Budget) string {
			return fmt.Sprintf("{%s}", strings.ReplaceAll(strings.ReplaceAll(b.String(), "=", ": "), ",", ", "))
		}
		scene, each := limit("scene"), limit("agent")
		set := scenestest.Settings{Endpoints: map[string]*budget.Budget{}}
		if far := limit("far"); far != nil {
			set.Endpoints["far"] = far
		}
		if scene != nil {
			text = strings.Replace(text, "\nsimulation:", "\nbudget: "+of(scene)+"\nsimulation:", 1)
		}
		archives = append(archives, txtar.Parse([]byte(text)))
		if each != nil {
			for _, a := range archives {
				for i := range a.Files {
					if f := &a.Files[i]; strings.HasPrefix(f.Name, "agent_profiles/") {
						f.Data = append(slices.Clip(f.Data), "\nbudget_per_agent: "+of(each)+"\n"...)
					}
				}
			}
		}
		p, err := scenestest.Load(scenestest.Files(archives...), nil)
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		seed := rapid.Uint64().Draw(rt, "order of answers")
		run := func(schedule scenes.Schedule, workers int, interrupt uint64) (end scenestest.Result, m *spending, starts int64, counts []*shadows.Counts) {
			s := scenestest.New(t, p, "")
			synctest.Test(t, func(t *testing.T) {
				m = &spending{thinking: newThinking(t, s, seed, 3*time.Second)}
				for _, at := range []uint64{interrupt, 0} {
					starts++
					mine := set
					mine.Workers, mine.InterruptAt, mine.Model = workers, at, m
					r, err := s.StartWith(mine, func(o *scenes.Options) { o.Schedule = schedule })
					if err != nil {
						t.Fatal(err)
					}
					end = r.Close()
					if c := r.Ahead(); c != nil {
						counts = append(counts, c)
					}
					if end.Final || end.Err != nil {
						break
					}
				}
			})
			return end, m, starts, counts
		}
		want, _, _, _ := run(scenes.Barrier, 1, 0)
		for _, schedule := range []scenes.Schedule{scenes.Tracked, scenes.Speculative} {
			workers := rapid.SampledFrom([]int{1, 2, 7}).Draw(rt, "workers")
			interrupt := uint64(rapid.IntRange(0, 30).Draw(rt, "interrupt"))
			got, m, starts, counts := run(schedule, workers, interrupt)
			if got.Err != nil || got.Digest() != want.Digest() {
				rt.Errorf("%s, %d workers, interrupted at %d: %v %s, at the barrier %v %s\n%s", schedule, workers, interrupt, got.Err, got.Digest(), want.Err, want.Digest(), text)
			}
			for _, l := range got.State.Spending.Lines() {
				refused += l.Refused
				if !l.Used.Within(l.Amount) {
					rt.Errorf("%s: %s has used %v of %v", schedule, l.Name, l.Used, l.Amount)
				}
				if l.Name == budget.OfScene && (l.Tokens > 0 && m.tokens.Load()-l.Used.Tokens > starts*max(1, l.Tokens/10) || l.Calls > 0 && m.calls.Load()-l.Used.Calls > starts*max(1, l.Calls/10)) {
					rt.Errorf("%s: %d calls and %d tokens were paid in %d starts, and %v are used of %v\n%s", schedule, m.calls.Load(), m.tokens.Load(), starts, l.Used, l.Amount, text)
				}
			}
			for _, c := range counts {
				if c.Off != "" {
					rt.Errorf("it gave up: %s", c.Off)
				}
				used, wasted = used+c.Calls.Used, wasted+c.Calls.Wasted
			}
		}
	})
	t.Logf("%d requests were refused; of calls of shadows %d were used and %d wasted", refused, used, wasted)
	if scenestest.Long() && (refused == 0 || used == 0 || wasted == 0) {
		t.Error("nothing is tested")
	}
}

// Promise 5, without shadows: with fewer places than agents, whose first request belongs to a round does not depend on
// which message of two turns comes first.
func TestRoundsWithFewPlaces(t *testing.T) {
	const text = `
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances: [{instance_id: "a_{n}", profile_id: person, count: 4, custom_runtime_config: {deliberation_frequency_hz: 0.5, max_tool_rounds: 3, subscribed_event_types: [talk.z]}}]
scene_lifecycle_workflows: {on_scene_start: note}
initial_world_state: {n: 0}
simulation: {seed: 3, tick: 1s, stop: {ticks: 7}, limits: {max_deliberating: 2}}
-- workflows/note.yaml --
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes: [{id: c, type: Constant, configValues: {value: {world: {path: n, op: add, value: 1}, events: {type: talk.z}}}}, {id: out, type: GroupOutput}]
edges: [{source: c, sourceHandle: value, target: out, targetHandle: decision}]
-- models/voices.yaml --
rules:
  - match: {chance: 0.5}
    answer: {text: "{{randInt 1 6}}", calls: [{tool: RequestWorldStateUpdateTool, params: {path: n.x, value: 1}}]}
  - match: {chance: 0.5}
    answer: {text: "", calls: [{tool: PublishEventTool, params: {type: talk.q, target_agent_instance_id: "a_{{randInt 1 5}}", task_id: "t{{randInt 1 3}}", expects_reply: true}}]}
otherwise: {text: ""}
`
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(asksAll)), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	digests, seeds, times := map[string]int{}, uint64(10), 3
	if scenestest.Long() {
		times = 10
	} else if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		for range times {
			s := scenestest.New(t, p, "")
			synctest.Test(t, func(t *testing.T) {
				m := &spending{thinking: newThinking(t, s, seed, 3*time.Second)}
				r, err := s.StartWith(scenestest.Settings{Endpoints: map[string]*budget.Budget{"far": {Calls: 4}}, Workers: 1 + int(seed)%2*6, Model: m})
				if err != nil {
					t.Fatal(err)
				}
				digests[r.Close().Digest()]++
			})
		}
	}
	if len(digests) != 1 { // answers do not depend on their order either
		t.Errorf("one project has %d histories: %v", len(digests), digests)
	}
}

// sharing is a spending model that says which share of the budgets of its agent is used.
type sharing struct{ *spending }

func (m sharing) Complete(ctx context.Context, q *protocol.ModelRequest, to llm.Sink) (protocol.ModelAnswer, error) {
	a, err := m.spending.Complete(ctx, q, to)
	a.Text += fmt.Sprintf(" %.3f", q.BudgetUsed)
	return a, err
}

// What a request is told of budgets is what was used when its wave began, also of an agent that is woken when others
// have ended their turns: there are fewer places than agents.
func TestSharesWithFewPlaces(t *testing.T) {
	const text = `
-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
budget: LIMIT
agent_instances: [{instance_id: "a_{n}", profile_id: person, count: 6, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {seed: 3, tick: 1s, stop: {ticks: 4}, limits: {max_deliberating: 2}}
-- models/voices.yaml --
otherwise: {text: Hm.}
`
	for name, limit := range map[string]string{"wide": "{tokens: 1000000, calls: 100}", "tight": "{calls: 20}"} {
		t.Run(name, func(t *testing.T) {
			p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(asksAll)), txtar.Parse([]byte(strings.Replace(text, "LIMIT", limit, 1)))), nil)
			if err != nil {
				t.Fatal(err)
			}
			digests, seeds := map[string]int{}, uint64(6)
			if scenestest.Long() {
				seeds = 20
			}
			for seed := range seeds {
				s := scenestest.New(t, p, "")
				synctest.Test(t, func(t *testing.T) {
					m := sharing{&spending{thinking: newThinking(t, s, seed, 3*time.Second)}}
					r, err := s.StartWith(scenestest.Settings{Workers: 1 + int(seed)%2*6, Model: m})
					if err != nil {
						t.Fatal(err)
					}
					end := r.Close()
					if end.Err != nil {
						t.Fatal(end.Err)
					}
					digests[end.Digest()]++
				})
			}
			if len(digests) != 1 {
				t.Errorf("one project has %d histories: %v", len(digests), digests)
			}
		})
	}
}

// recalling is a spending model that has recorded answers to every second turn: they come at once.
type recalling struct{ *spending }

func recalls(q *protocol.ModelRequest) bool { return q.Turn%2 == 0 }

func (m recalling) Route(q *protocol.ModelRequest) llm.Route {
	if recalls(q) {
		return llm.Route{Instant: true}
	}
	return llm.Route{Endpoint: "far"}
}

func (m recalling) Next(*protocol.ModelRequest, *protocol.ModelAnswer, error) (llm.Route, bool) {
	return llm.Route{}, false
}

func (m recalling) AppendChoice(b []byte, _ *protocol.ModelRequest) []byte { return b }

func (m recalling) Now(q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	own := *q
	own.Variables, own.Events, own.Asker = nil, nil, nil
	return m.script.Answer(&own)
}

func (m recalling) Bound(q *protocol.ModelRequest) llm.Bound {
	if recalls(q) {
		return llm.Bound{Priced: true, Saved: true}
	}
	return m.spending.Bound(q)
}

// A turn that runs ahead notes what a recorded answer saves as the turn itself does: none is lost by it.
func TestRecordedAnswersAhead(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(desks))), nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func(schedule scenes.Schedule) (end scenestest.Result, c shadows.Counts) {
		s := scenestest.New(t, p, "")
		synctest.Test(t, func(t *testing.T) {
			m := recalling{&spending{thinking: newThinking(t, s, 1, 3*time.Second)}}
			r, err := s.StartWith(scenestest.Settings{Endpoints: map[string]*budget.Budget{"far": {Calls: 1_000_000}}, Workers: 2, Model: m}, func(o *scenes.Options) { o.Schedule = schedule })
			if err != nil {
				t.Fatal(err)
			}
			end = r.Close()
			if ahead := r.Ahead(); ahead != nil {
				c = *ahead
			}
		})
		return end, c
	}
	want, _ := run(scenes.Barrier)
	got, c := run(scenes.Tracked)
	if got.Err != nil || got.Digest() != want.Digest() || c.Used == 0 || c.Missed != 0 {
		t.Errorf("%v, digest %s, at the barrier %s; %+v", got.Err, got.Digest(), want.Digest(), c)
	}
}
