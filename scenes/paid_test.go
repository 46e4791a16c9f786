package scenes_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/scenestest"
)

// charging is a model of an endpoint that charges for each request when it comes.
type charging struct {
	calls, tokens atomic.Int64
	answer        func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error)
}

func (m *charging) Name() string { return "charging" }
func (m *charging) Close() error { return nil }
func (m *charging) Bound(*protocol.ModelRequest) llm.Bound {
	return llm.Bound{Input: 30, Output: 30, Priced: true, Parts: []llm.Part{{Endpoint: "far", Tokens: 60, Priced: true, First: true}}}
}

func (m *charging) Complete(ctx context.Context, req *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	took := 20 + m.calls.Add(1)
	m.tokens.Add(took)
	a, err := m.answer(ctx, req)
	a.Origin = &protocol.ModelOrigin{Endpoint: "far"}
	if err == nil {
		a.Usage = protocol.Usage{Input: took}
	}
	return a, err
}

// falls is a scene of one agent, which asks what time it is and may fall over the answer.
var falls = strings.NewReplacer(
	"agent_instances:\n  - {instance_id: \"a_{n}\", profile_id: shaky, count: 3}", "agent_instances: [{instance_id: a_1, profile_id: shaky}]",
	"subscribed_event_types: [agent.failed, tick]", "subscribed_event_types: []",
	"interfaceInputs: {self", "interfaceInputs: {now: {dataFlowType: STRING}, self",
	"  - {id: shaky, type: \"test:Shaky\"}", "  - {id: p, type: TextTemplate, configValues: {template: \"it is {{.now}}\"}}\n  - {id: m, type: LLMCompletion}\n  - {id: shaky, type: \"test:Shaky\"}",
	"  - {source: in, sourceHandle: self, target: shaky, targetHandle: in}", "  - {source: in, sourceHandle: now, target: p, targetHandle: now}\n  - {source: p, sourceHandle: text, target: m, targetHandle: prompt}\n  - {source: m, sourceHandle: text, target: shaky, targetHandle: in}",
).Replace(shaky)

// charged holds that each ledger has what the model took, live and folded, and that the history verifies.
func charged(t *testing.T, s *scenestest.Scene, res scenestest.Result, m *charging, most int64, clock agenda.ClockKind) {
	t.Helper()
	for name, lines := range map[string][]budget.Line{"live": res.State.Spending.Lines(), "folded": s.Fold(t, scenestest.Settings{}).Spending.Lines()} {
		if len(lines) == 0 {
			t.Error(name, "has no ledgers")
		}
		for _, l := range lines {
			if calls, tokens := m.calls.Load(), m.tokens.Load(); l.Used.Calls != calls || l.Used.Tokens < tokens || l.Used.Tokens > tokens+most {
				t.Errorf("%s: %s has used %v; the model took %d calls, %d tokens", name, l.Name, l.Used, calls, tokens)
			}
		}
	}
	mustVerify(t, s, scenestest.Settings{Clock: clock})
	mustRestore(t, s, scenestest.Settings{Clock: clock})
	logEmpty(t, s)
}

// logEmpty holds that the log of effects has nothing of a scene that has ended: its facts have charged all that was asked.
func logEmpty(t *testing.T, s *scenestest.Scene) {
	t.Helper()
	if out, spent := inLog(t, s, func(string) uint64 { return 0 }); len(out)+len(spent) > 0 {
		t.Errorf("the log has open turns, of requests %+v and answers %+v", out, spent)
	}
}

// inLog is what the log of effects has of open turns under budgets: requests that are out, and what answers took. ended is the last turn of an
// agent that has ended.
func inLog(t *testing.T, s *scenestest.Scene, ended func(agent string) uint64) (out, spent []outside.Lost) {
	t.Helper()
	store, err := persistence.Open(s.Dir, persistence.Options{ReadOnly: true, Traces: history.Traces()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j, err := store.Journal(outside.JournalID("s"))
	if err != nil {
		t.Fatal(err)
	}
	if out, spent, err = outside.OpenTurns(j, ended); err != nil {
		t.Fatal(err)
	}
	return out, spent
}

// What a turn was answered that failed is charged once, though the turn that was begun anew asked something else, was
// given up, or went on after a kill.
func TestAnswersOfFailedTurnsAreCharged(t *testing.T) {
	for name, c := range map[string]struct {
		budget    string
		limit     int64 // of calls; 0 = none that is reached
		falls     int64 // so often
		restarts  string
		interrupt uint64
	}{
		"begun anew":                {"{calls: 100}", 0, 1, "3", 0},
		"twice":                     {"{calls: 100}", 0, 2, "3", 0},
		"begun anew, few tokens":    {"{tokens: 300}", 0, 1, "3", 0},
		"begun anew, interrupted":   {"{calls: 100}", 0, 2, "3", 2},
		"given up":                  {"{calls: 100}", 0, 100, "1", 0},
		"given up, few tokens":      {"{tokens: 300}", 0, 100, "1", 0},
		"given up, interrupted":     {"{calls: 100}", 0, 100, "2", 2},
		"not begun anew":            {"{calls: 100}", 0, 100, "9", 0},
		"no room for another":       {"{calls: 1, on_exhausted: refuse}", 1, 1, "3", 0},
		"no room, interrupted":      {"{calls: 1, on_exhausted: refuse}", 1, 1, "3", 2},
		"room for two, interrupted": {"{calls: 2, on_exhausted: refuse}", 2, 2, "3", 3},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("simulation: {stop", "budget: "+c.budget+"\nsimulation: {stop", "max_restarts: 3", "max_restarts: "+c.restarts).Replace(falls)
			var fell atomic.Int64
			p := shakyProject(t, text, func(any) any {
				if fell.Add(1) <= c.falls {
					panic("falls")
				}
				return "ok"
			})
			play := func(interrupt uint64) (*scenestest.Scene, scenestest.Result, *charging) {
				fell.Store(0)
				m := &charging{answer: after(100*time.Millisecond, "noon")}
				s := scenestest.New(t, p, "")
				set := scenestest.Settings{Model: m}
				var res scenestest.Result
				synctest.Test(t, func(t *testing.T) {
					set.InterruptAt = interrupt
					if res = s.Run(t, set); interrupt > 0 {
						set.InterruptAt = 0
						res = s.Run(t, set)
					}
				})
				return s, res, m
			}
			s, res, m := play(0)
			if res.Err != nil || !res.Final {
				t.Fatal(res)
			}
			charged(t, s, res, m, 0, agenda.Virtual)
			if c.limit > 0 && m.calls.Load() > c.limit {
				t.Errorf("the model took %d calls under a budget of %d", m.calls.Load(), c.limit)
			}
			if c.interrupt > 0 {
				_, again, m := play(c.interrupt)
				if again.Digest() != res.Digest() {
					t.Errorf("digest %s, without an interruption %s", again.Digest(), res.Digest())
				}
				if c.limit > 0 && m.calls.Load() > c.limit {
					t.Errorf("interrupted, the model took %d calls under a budget of %d", m.calls.Load(), c.limit)
				}
			}
		})
	}
}

// What a turn has asked and takes no answer of, because it made more than it may, is charged, too.
func TestDroppedRequestsAreCharged(t *testing.T) {
	for _, scene := range []string{"budget: {calls: 100}\n", "budget: {tokens: 5000}\n", "budget: {tokens: 100000, on_exhausted: refuse}\n"} {
		for _, later := range []time.Duration{0, time.Millisecond, time.Second} {
			t.Run(fmt.Sprint(scene, later), func(t *testing.T) {
				text := strings.Replace(branching, "custom_runtime_config: {", "custom_runtime_config: {max_turn_bytes: 65536, ", 1)
				s := scenestest.New(t, realtimeScene(t, scene+text), "")
				m := &charging{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
					if strings.HasPrefix(req.Messages[len(req.Messages)-1].Text, "a") {
						return after(later, strings.Repeat("much ", 1<<14))(ctx, req)
					}
					return after(500*time.Millisecond, "little")(ctx, req)
				}}
				var res scenestest.Result
				synctest.Test(t, func(t *testing.T) { res = s.Run(t, scenestest.Settings{Model: m}) })
				if res.Err != nil || !res.Final || res.State.Tally.Deliberations == 0 {
					t.Fatal(res)
				}
				charged(t, s, res, m, 0, agenda.Virtual)
			})
		}
	}
}

// even takes the same for each request.
type even struct{ charging }

func (m *even) Complete(ctx context.Context, req *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	m.calls.Add(1)
	m.tokens.Add(20)
	a, err := m.answer(ctx, req)
	a.Origin = &protocol.ModelOrigin{Endpoint: "far"}
	if err == nil {
		a.Usage = protocol.Usage{Input: 20}
	}
	return a, err
}

// What a turn drops, which makes too much, does not depend on which of its answers comes first, nor which agent is last.
func TestDroppedRequestsDoNotDependOnSpeed(t *testing.T) {
	for _, limits := range []string{"", "budget: {calls: 100000}\n", "budget: {tokens: 1000000000000}\n", "budget: {tokens: 1000, on_exhausted: refuse}\n", "budget: {calls: 9, on_exhausted: refuse}\n"} {
		t.Run(limits, func(t *testing.T) {
			want := ""
			speeds := [][3]time.Duration{{}, {time.Second, time.Millisecond, 0}, {time.Millisecond, time.Second, time.Minute}, {time.Millisecond, time.Second, 0}, {time.Second, time.Millisecond, time.Minute}}
			if !scenestest.Long() {
				speeds = speeds[:3]
			}
			for _, d := range speeds {
				text := strings.Replace(branching, "custom_runtime_config: {", "custom_runtime_config: {max_turn_bytes: 65536, ", 1)
				s := scenestest.New(t, realtimeScene(t, limits+text), "")
				m := &even{charging{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
					more := time.Duration(0)
					if req.Agent == "ada" {
						more = d[2]
					}
					if strings.HasPrefix(req.Messages[len(req.Messages)-1].Text, "b") {
						return after(d[1]+more, strings.Repeat("much ", 1<<14))(ctx, req)
					}
					return after(d[0]+more, "little")(ctx, req)
				}}}
				var res scenestest.Result
				synctest.Test(t, func(t *testing.T) { res = s.Run(t, scenestest.Settings{Model: m}) })
				if res.Err != nil || !res.Final {
					t.Fatal(res)
				}
				if limits != "" {
					charged(t, s, res, &m.charging, 0, agenda.Virtual)
				}
				if want == "" {
					want = res.Digest()
				} else if res.Digest() != want {
					t.Errorf("%v: digest %s, want %s", d, res.Digest(), want)
				}
			}
		})
	}
}

// What turns took counts that the end of a scene abandons on the realtime clock.
func TestAbandonedByTheEndAreCharged(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, `agent_instances: [{instance_id: "a_{n}", profile_id: person, count: 3}]
budget: {calls: 100}
simulation: {clock: realtime, stop: {after: 5s}}
`), "")
	m := &charging{answer: after(time.Minute, "late")}
	var res scenestest.Result
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: m})
		res = r.Close()
	})
	if res.Err != nil || !res.Final || m.calls.Load() < 3 {
		t.Fatal(res, m.calls.Load())
	}
	charged(t, s, res, m, 60*m.calls.Load(), agenda.Realtime)
}

// So does what a turn took that failed, and whose agent leaves before it is begun anew.
func TestFailedAndRemovedIsCharged(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		t.Run(string(clock), func(t *testing.T) {
			text := strings.NewReplacer("simulation: {stop", "budget: {calls: 100}\nsimulation: {stop", "restart_backoff: 2s", "restart_backoff: 30s",
				"agent_instances: [{instance_id: a_1, profile_id: shaky}]", "agent_instances: [{instance_id: host, profile_id: shaky}, {instance_id: a_1, profile_id: shaky, spawnable: true}]").Replace(falls)
			if clock == agenda.Realtime {
				text = strings.Replace(text, "simulation: {stop: {ticks: 12}", "simulation: {clock: realtime, stop: {after: 12s}", 1)
			}
			order := func(id string, at time.Duration, do map[string]any) *machines.Order {
				return &machines.Order{Intervened: doing(id, do), After: at}
			}
			m := &charging{answer: after(100*time.Millisecond, "noon")}
			set := scenestest.Settings{Model: m, Clock: clock, Orders: []*machines.Order{
				order("come", time.Second, map[string]any{"spawn": map[string]any{"agent": "a_1"}}),
				order("leave", 5*time.Second, map[string]any{"remove": map[string]any{"agents": "a_1"}}),
			}}
			s := scenestest.New(t, shakyProject(t, text, func(any) any { panic("falls") }), "")
			var res scenestest.Result
			synctest.Test(t, func(t *testing.T) { res = s.Run(t, set) })
			if res.Err != nil || !res.Final || m.calls.Load() != 2 {
				t.Fatal(res, m.calls.Load())
			}
			charged(t, s, res, m, 60*m.calls.Load(), clock)
		})
	}
}

// afar is a scene like falls, whose agent asks for something else, too.
var afar = strings.NewReplacer(
	"  - {id: m, type: LLMCompletion}", "  - {id: m, type: LLMCompletion}\n  - {id: far, type: LLMCompletion, inputValues: {prompt: far}}",
	"  - {source: c, sourceHandle: value", "  - {source: far, sourceHandle: text, target: c, targetHandle: far}\n  - {source: c, sourceHandle: value",
).Replace(falls)

// A request of a failed turn that was out counts by its bound when the scene ends before the turn is begun anew.
func TestRequestsOutOfFailedTurnsAreCharged(t *testing.T) {
	text := strings.NewReplacer("simulation: {stop", "budget: {calls: 100}\nsimulation: {stop", "restart_backoff: 2s", "restart_backoff: 60s", "max_restarts: 3", "max_restarts: 9").Replace(afar)
	s := scenestest.New(t, shakyProject(t, text, func(any) any { panic("falls") }), "")
	m := &charging{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		if req.Messages[len(req.Messages)-1].Text == "far" {
			return after(time.Hour, "late")(ctx, req)
		}
		return after(100*time.Millisecond, "noon")(ctx, req)
	}}
	var res scenestest.Result
	synctest.Test(t, func(t *testing.T) { res = s.Run(t, scenestest.Settings{Model: m}) })
	if res.Err != nil || !res.Final || m.calls.Load() != 2 {
		t.Fatal(res, m.calls.Load())
	}
	charged(t, s, res, m, 60, agenda.Virtual)
}

// What a failed turn took is nobody else's until it is begun anew: no budget is exceeded, though others ask for all that is left
// of it meanwhile. Who is refused depends on neither workers nor interruptions, also if requests are out when a turn fails.
func TestAFailedTurnKeepsWhatItTook(t *testing.T) {
	for _, c := range []struct {
		scene, budget string
		most          budget.Amount
	}{
		{falls, "{calls: 9, on_exhausted: refuse}", budget.Amount{Calls: 9}},
		{falls, "{tokens: 230, on_exhausted: refuse}", budget.Amount{Tokens: 230}},
		{falls, "{calls: 12, on_exhausted: refuse}", budget.Amount{Calls: 12}},
		{afar, "{calls: 14, on_exhausted: refuse}", budget.Amount{Calls: 14}},
		{afar, "{calls: 25, on_exhausted: refuse}", budget.Amount{Calls: 25}},
	} {
		fewAwake(t, fmt.Sprint(c.most.Calls, " calls, ", c.most.Tokens, " tokens"), func(t *testing.T, few *strings.Replacer, digest func(*testing.T, func(int, uint64) scenestest.Result)) {
			text := strings.NewReplacer("simulation: {stop", "budget: "+c.budget+"\nsimulation: {stop", "restart_backoff: 2s", "restart_backoff: 5s",
				"agent_instances: [{instance_id: a_1, profile_id: shaky}]", "agent_instances: [{instance_id: \"a_{n}\", profile_id: shaky, count: 5}]").Replace(few.Replace(c.scene))
			p := shakyProject(t, text, func(in any) any {
				if in == "falls" {
					panic(in)
				}
				return "ok"
			})
			play := func(workers int, interrupt uint64) (res scenestest.Result) {
				first := ""
				var mu sync.Mutex
				m := &even{charging{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
					mu.Lock()
					now := req.Messages[len(req.Messages)-1].Text
					if now == "far" {
						mu.Unlock()
						return after(10*time.Second, "far")(ctx, req)
					}
					if first == "" {
						first = now
					}
					falls := now == first && (req.Agent == "a_2" || req.Agent == "a_4")
					mu.Unlock()
					if falls {
						return after(100*time.Millisecond, "falls")(ctx, req)
					}
					return after(100*time.Millisecond, "noon")(ctx, req)
				}}}
				s := scenestest.New(t, p, "")
				set := scenestest.Settings{Model: m, Workers: workers}
				synctest.Test(t, func(t *testing.T) {
					set.InterruptAt = interrupt
					if res = s.Run(t, set); interrupt > 0 && !res.Final { // on a busy machine it may end first
						set.InterruptAt = 0
						res = s.Run(t, set)
					}
				})
				if res.Err != nil || !res.Final {
					t.Fatal(res)
				}
				charged(t, s, res, &m.charging, 0, agenda.Virtual)
				if took := (budget.Amount{Calls: m.calls.Load(), Tokens: m.tokens.Load()}); !took.Within(c.most) || took.Calls < 8 {
					t.Errorf("%d workers, interrupted at %d: the model took %+v", workers, interrupt, took)
				}
				return res
			}
			digest(t, play)
		})
	}
}

// The calls of the tally are what turns asked of models, also what left for none: because a budget refused it, which is a failure,
// or because the turn dropped it while it waited for its grant, which is none.
func TestCallsThatDoNotLeaveCount(t *testing.T) {
	for name, c := range map[string]struct {
		budget, b           string
		calls, failed, left int64
	}{
		"dropped": {"{calls: 5, on_exhausted: refuse}", strings.Repeat("much ", 1<<14), 3, 0, 2},
		"refused": {"{calls: 3, on_exhausted: refuse}", "little", 4, 1, 3},
		"neither": {"{calls: 5, on_exhausted: refuse}", "little", 4, 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("custom_runtime_config: {", "custom_runtime_config: {max_turn_bytes: 65536, ", "ticks: 3", "ticks: 1", ", {instance_id: bob, profile_id: fork}", "").Replace(branching)
			s := scenestest.New(t, realtimeScene(t, "budget: "+c.budget+"\n"+text), "")
			m := &charging{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
				if strings.HasPrefix(req.Messages[len(req.Messages)-1].Text, "b") {
					return after(2*time.Second, c.b)(ctx, req)
				}
				return after(time.Second, "little")(ctx, req)
			}}
			var res scenestest.Result
			synctest.Test(t, func(t *testing.T) { res = s.Run(t, scenestest.Settings{Model: m}) })
			if res.Err != nil || !res.Final {
				t.Fatal(res)
			}
			if got := res.State.Tally; got.ModelCalls != c.calls || got.ModelFailed != c.failed || m.calls.Load() != c.left {
				t.Errorf("%d calls, %d failed, %d left; want %+v", got.ModelCalls, got.ModelFailed, m.calls.Load(), c)
			}
		})
	}
}
