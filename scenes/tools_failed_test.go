package scenes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// reaches is a scene like falls, whose agent asks a tool instead of a model.
var reaches = strings.NewReplacer(
	"\n  - {id: m, type: LLMCompletion}", "\n  - {id: m, type: CallTool, configValues: {tool: ask}}",
	"target: m, targetHandle: prompt", "target: m, targetHandle: q", "{source: m, sourceHandle: text,", "{source: m, sourceHandle: result,",
	"tool_ids_inventory: [", "tool_ids_inventory: [ask, ",
	"-- knowledgebases/notes.yaml --", "-- tools/ask.tool.yaml --\nid: ask\nimplementation: {type: service, name: lab}\nparameters: {properties: {q: {type: string}}}\nexecution: {repeat: free, latency: 300ms, timeout: 1m}\ncost: 0.25\n-- knowledgebases/notes.yaml --",
).Replace(falls)

// lab is a tool that counts what it carries out.
type lab struct {
	calls  atomic.Int64
	answer func(ctx context.Context, c *tools.Call) tools.Result
}

func (l *lab) Do(ctx context.Context, c *tools.Call) tools.Result {
	l.calls.Add(1)
	return l.answer(ctx, c)
}

// toolsCharged holds that the ledger of tools has what they took, live and folded, and that the history verifies. So many calls
// at most were not made, because others were in their place.
func toolsCharged(t *testing.T, s *scenestest.Scene, res scenestest.Result, l *lab, most int64) {
	t.Helper()
	for name, lines := range map[string][]budget.Line{"live": res.State.Spending.Lines(), "folded": s.Fold(t, scenestest.Settings{}).Spending.Lines()} {
		if len(lines) != 1 || lines[0].Name != budget.OfTools {
			t.Fatal(name, lines)
		}
		used := lines[0].Used
		if calls := l.calls.Load(); used.Calls < calls || used.Calls > calls+most || used.Nano != used.Calls*budget.Dollar/4 {
			t.Errorf("%s: tools have used %+v; they were called %d times", name, used, calls)
		}
		if used.Micro != l.calls.Load()*300_000 || used.Bytes != l.calls.Load()*5 {
			t.Errorf("%s: tools have used %+v", name, used)
		}
	}
	mustVerify(t, s, scenestest.Settings{})
	mustRestore(t, s, scenestest.Settings{})
	logEmpty(t, s)
}

// Calls of a turn that failed are charged once, though the turn that was begun anew made others, was given up, or went on
// after an interruption.
func TestCallsOfFailedTurnsAreCharged(t *testing.T) {
	for name, c := range map[string]struct {
		budget    string
		limit     int64 // of calls; 0 = none that is reached
		falls     int64 // so often
		restarts  string
		interrupt uint64
	}{
		"begun anew":                {"{calls: 100}", 0, 1, "3", 0},
		"twice":                     {"{calls: 100}", 0, 2, "3", 0},
		"begun anew, interrupted":   {"{money: 100}", 0, 2, "3", 2},
		"given up":                  {"{calls: 100}", 0, 100, "1", 0},
		"given up, interrupted":     {"{calls: 100}", 0, 100, "2", 2},
		"not begun anew":            {"{calls: 100}", 0, 100, "9", 0},
		"no room for another":       {"{calls: 1}", 1, 1, "3", 0},
		"no room, interrupted":      {"{money: 0.25}", 1, 1, "3", 2},
		"room for two, interrupted": {"{money: 0.5, seconds: 100}", 2, 2, "3", 3},
		"no time for another":       {"{seconds: 0.3}", 1, 1, "3", 2},
		"no bytes for another":      {"{bytes: 5}", 1, 1, "3", 2},
	} {
		for _, repeat := range []string{"free", "never"} {
			if !scenestest.Long() && repeat == "never" && !slices.Contains([]string{"begun anew", "given up, interrupted", "no room, interrupted"}, name) {
				continue
			}
			t.Run(name+", "+repeat, func(t *testing.T) {
				text := strings.NewReplacer("simulation: {stop", "tool_budget: "+c.budget+"\nsimulation: {stop", "max_restarts: 3", "max_restarts: "+c.restarts, "repeat: free", "repeat: "+repeat).Replace(reaches)
				var fell atomic.Int64
				p := shakyProject(t, text, func(any) any {
					if fell.Add(1) <= c.falls {
						panic("falls")
					}
					return "ok"
				})
				play := func(interrupt uint64) (*scenestest.Scene, scenestest.Result, *lab) {
					fell.Store(0)
					l := &lab{answer: func(context.Context, *tools.Call) tools.Result { return tools.Output("noon") }}
					s := scenestest.New(t, p, "")
					set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": tools.Func(l.Do)}}
					var res scenestest.Result
					synctest.Test(t, func(t *testing.T) {
						set.InterruptAt = interrupt
						if res = s.Run(t, set); interrupt > 0 && !res.Final {
							set.InterruptAt = 0
							res = s.Run(t, set)
						}
					})
					return s, res, l
				}
				s, res, l := play(0)
				if res.Err != nil || !res.Final || l.calls.Load() == 0 {
					t.Fatal(res, l.calls.Load())
				}
				most := int64(0)
				if repeat == "never" {
					most = fell.Load()
				}
				toolsCharged(t, s, res, l, most)
				if c.limit > 0 && l.calls.Load() > c.limit {
					t.Errorf("%d calls under a budget of %d", l.calls.Load(), c.limit)
				}
				if c.interrupt > 0 {
					_, again, l := play(c.interrupt)
					if again.Digest() != res.Digest() {
						t.Errorf("digest %s, without an interruption %s", again.Digest(), res.Digest())
					}
					if c.limit > 0 && l.calls.Load() > c.limit {
						t.Errorf("interrupted, %d calls under a budget of %d", l.calls.Load(), c.limit)
					}
				}
			})
		}
	}
}

// farther is a scene like reaches, whose agents ask for something else at the same time, and say who they are.
var farther = strings.NewReplacer(
	"  - {id: p, type: TextTemplate, configValues: {template: \"it is {{.now}}\"}}", "  - {id: p, type: TextTemplate, configValues: {template: \"{{.self.instance_id}} at {{.now}}\"}}\n  - {id: far, type: CallTool, configValues: {tool: ask}, inputValues: {q: far}}",
	"  - {source: in, sourceHandle: now, target: p, targetHandle: now}", "  - {source: in, sourceHandle: now, target: p, targetHandle: now}\n  - {source: in, sourceHandle: self, target: p, targetHandle: self}",
	"  - {source: c, sourceHandle: value", "  - {source: far, sourceHandle: result, target: c, targetHandle: far}\n  - {source: c, sourceHandle: value",
	"agent_instances: [{instance_id: a_1, profile_id: shaky}]", "agent_instances: [{instance_id: \"a_{n}\", profile_id: shaky, count: 5}]", "restart_backoff: 2s", "restart_backoff: 5s",
).Replace(reaches)

// What the tools of a failed turn took is nobody else's: the budget is not exceeded, though others ask for all that is left of it
// meanwhile. Who is refused depends on neither workers nor interruptions, also if calls are out when a turn fails.
func TestAFailedTurnKeepsWhatItsToolsTook(t *testing.T) {
	for _, c := range []struct {
		budget, repeat string
		most           budget.Amount
	}{
		{"{calls: 14}", "free", budget.Amount{Calls: 14}},
		{"{calls: 25}", "never", budget.Amount{Calls: 25}},
		{"{money: 4}", "free", budget.Amount{Calls: 16}},
		{"{seconds: 3}", "free", budget.Amount{}},
		{"{bytes: 70}", "never", budget.Amount{}},
		{"{calls: 1000}", "free", budget.Amount{Calls: 1000}},
	} {
		fewAwake(t, c.budget+" "+c.repeat, func(t *testing.T, few *strings.Replacer, digest func(*testing.T, func(int, uint64) scenestest.Result)) {
			p := shakyProject(t, strings.NewReplacer("simulation: {stop", "tool_budget: "+c.budget+"\nsimulation: {stop", "repeat: free", "repeat: "+c.repeat).Replace(few.Replace(farther)), func(in any) any {
				if in == "falls" {
					panic(in)
				}
				return "ok"
			})
			play := func(workers int, interrupt uint64) (res scenestest.Result) {
				first := ""
				var mu sync.Mutex
				l := &lab{answer: func(ctx context.Context, c *tools.Call) tools.Result {
					who, now, _ := strings.Cut(fmt.Sprint(c.Params["q"]), " at ")
					mu.Lock()
					if now != "" && first == "" {
						first = now
					}
					falls := now == first && (who == "a_2" || who == "a_4")
					mu.Unlock()
					if now == "" {
						<-time.After(10 * time.Second)
						return tools.Output("far")
					}
					<-time.After(100 * time.Millisecond)
					if falls {
						return tools.Output("falls")
					}
					return tools.Output("noon")
				}}
				s := scenestest.New(t, p, "")
				set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": tools.Func(l.Do)}, Workers: workers}
				synctest.Test(t, func(t *testing.T) {
					set.InterruptAt = interrupt
					if res = s.Run(t, set); interrupt > 0 && !res.Final {
						set.InterruptAt = 0
						res = s.Run(t, set)
					}
				})
				if res.Err != nil || !res.Final {
					t.Fatal(res)
				}
				used := s.Fold(t, scenestest.Settings{}).Spending.Lines()[0].Used
				if live := res.State.Spending.Lines()[0].Used; live != used || used.Calls < l.calls.Load() {
					t.Errorf("tools have used %+v, folded %+v; they were called %d times", live, used, l.calls.Load())
				}
				if took := (budget.Amount{Calls: max(used.Calls, l.calls.Load())}); !took.Within(c.most) || l.calls.Load() < 8 {
					t.Errorf("%d workers, interrupted at %d: %d calls, %d count", workers, interrupt, l.calls.Load(), used.Calls)
				}
				mustVerify(t, s, scenestest.Settings{})
				mustRestore(t, s, scenestest.Settings{})
				logEmpty(t, s)
				return res
			}
			digest(t, play)
		})
	}
}

// A turn that fails may use the time and output of all tools up. No call leaves while it is begun anew, nor after that.
func TestNothingLeavesBesideAFailedTurnThatTookAll(t *testing.T) {
	for _, limit := range []string{"bytes: 90", "seconds: 0.5"} {
		text := strings.NewReplacer("simulation: {stop", "tool_budget: {"+limit+"}\nsimulation: {stop",
			"template: \"it is {{.now}}\"", "template: \"{{.self.instance_id}}\"",
			"  - {source: in, sourceHandle: now, target: p, targetHandle: now}", "  - {source: in, sourceHandle: self, target: p, targetHandle: self}",
			"agent_instances: [{instance_id: a_1, profile_id: shaky}]", "agent_instances: [{instance_id: \"a_{n}\", profile_id: shaky, count: 2}]").Replace(reaches)
		p := shakyProject(t, text, func(in any) any {
			if strings.HasPrefix(fmt.Sprint(in), "falls") {
				panic(in)
			}
			return "ok"
		})
		l := &lab{answer: func(_ context.Context, c *tools.Call) tools.Result {
			if c.Params["q"] == "a_2" {
				<-time.After(10 * time.Second)
				return tools.Output("falls" + strings.Repeat("x", 100))
			}
			<-time.After(100 * time.Millisecond)
			return tools.Output("noon")
		}}
		s := scenestest.New(t, p, "")
		var res scenestest.Result
		synctest.Test(t, func(t *testing.T) {
			res = s.Run(t, scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": tools.Func(l.Do)}})
		})
		if res.Err != nil || !res.Final || l.calls.Load() != 2 {
			t.Errorf("%s: %v; %d calls leave, want those of the first wave", limit, res.Err, l.calls.Load())
		}
	}
}

// fewAwake runs a test of a scene in which all agents deliberate at once, and at most one, with SIMD_TEST_LONG=1 also two and three.
// digest compares how it is played.
func fewAwake(t *testing.T, name string, test func(t *testing.T, few *strings.Replacer, digest func(*testing.T, func(workers int, interrupt uint64) scenestest.Result))) {
	for _, most := range []int{5, 1, 2, 3} {
		if !scenestest.Long() && (most == 2 || most == 3) {
			continue
		}
		t.Run(fmt.Sprint(name, ", ", most, " awake"), func(t *testing.T) {
			digest := func(t *testing.T, play func(workers int, interrupt uint64) scenestest.Result) { oneDigest(t, 6, play) }
			if most < 5 {
				digest = func(t *testing.T, play func(workers int, interrupt uint64) scenestest.Result) {
					if want, got := play(1, 0), play(8, 3); got.Digest() != want.Digest() {
						t.Errorf("with 8 workers, interrupted at 3: digest %s, want %s", got.Digest(), want.Digest())
					}
				}
			}
			test(t, strings.NewReplacer("limits: {restart_backoff", fmt.Sprintf("limits: {max_deliberating: %d, restart_backoff", most)), digest)
		})
	}
}

// oneDigest plays a scene with several workers, not interrupted (0) and interrupted at the places below a number. Only
// SIMD_TEST_LONG=1 plays each pair of them; else one worker is not interrupted, and others once each.
func oneDigest(t *testing.T, interrupts uint64, play func(workers int, interrupt uint64) scenestest.Result) {
	want := play(1, 0)
	for i, workers := range []int{1, 2, 8} {
		for interrupt := range interrupts {
			if !scenestest.Long() && (i == 0 || interrupt != uint64(i)*2%interrupts) {
				continue
			}
			if res := play(workers, interrupt); res.Digest() != want.Digest() {
				t.Errorf("%d workers, interrupted at %d: digest %s, want %s", workers, interrupt, res.Digest(), want.Digest())
			}
		}
	}
}

// Whatever fails, is killed or interrupted, on each clock: no more calls are carried out than a budget has, and all of them count.
func TestCallsAreWithinTheirBudget(t *testing.T) {
	outer, refused, midway := t, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		clock := rapid.SampledFrom([]agenda.ClockKind{agenda.Virtual, agenda.Realtime}).Draw(t, "clock")
		limit := rapid.Int64Range(1, 30).Draw(t, "calls")
		of := rapid.SampledFrom([]string{"calls: %d", "money: %d.00"}).Draw(t, "budget")
		repeat := rapid.SampledFrom([]string{"free", "never"}).Draw(t, "repeat")
		text := strings.NewReplacer("tool_budget: {calls: 6, money: 1.25}", fmt.Sprintf("tool_budget: {"+of+"}", limit), "cost: 0.25", "cost: 1\nparameters: {properties: {q: {type: string}}}",
			"repeat: free", "repeat: "+repeat, "clock: realtime", "clock: "+string(clock), "{after: 2m}", "{after: 20s}",
			"wake_on_start: false, interrupt: {by: high, then: drop}", "deliberation_frequency_hz: 0.5, max_restarts: 5, max_turn_bytes: 65536", "{instance_id: guest, profile_id: caller}", "{instance_id: \"a_{n}\", profile_id: caller, count: 3}",
			"{calls: [{tool: ask}]}", "{calls: [{tool: ask, params: {q: one}}, {tool: ask}, {tool: ask, params: {q: \"{{.now}}\"}}]}").Replace(cutTools)
		if rapid.Bool().Draw(t, "tasks") {
			text = strings.NewReplacer("-- agent_profiles/caller.yaml --", "-- tools/paint.tool.yaml --\nid: paint\nimplementation: {type: service, name: lab}\nexecution: {mode: async, repeat: free, timeout: 30s}\ncost: 1\n-- agent_profiles/caller.yaml --",
				"inventory: [ask]", "inventory: [ask, paint]", "otherwise: {", "rules: [{match: {variables: {turn: [1, 2, 4, 7]}}, answer: {calls: [{tool: paint}, {tool: ask}, {tool: paint}]}}]\notherwise: {").Replace(text)
		}
		p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var made atomic.Int64
		wait := rapid.SampledFrom([]time.Duration{0, 500 * time.Millisecond, 3 * time.Second}).Draw(t, "latency")
		ask := tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
			if c.Tool.ID == "ask" { // tasks count by their facts: one that a kill cut off is carried out again
				made.Add(1)
			}
			select {
			case <-ctx.Done():
				return tools.Fail(protocol.KindCancelled, "it was cut off")
			case <-time.After(wait):
				return tools.Output("done")
			}
		})
		set := scenestest.Settings{Clock: clock, Tools: tooling.Live, Services: map[string]tools.Executor{"lab": ask}, Workers: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "workers"), Snapshots: int64(rapid.IntRange(1, 20).Draw(t, "snapshots"))}
		kills := rapid.SliceOfN(rapid.IntRange(0, 60), 0, 2).Draw(t, "killed after operations")
		interrupt := uint64(rapid.IntRange(0, 6).Draw(t, "interrupt"))
		fails := rapid.MapOfN(rapid.SampledFrom([]string{"a_1", "a_2", "a_3"}), rapid.Int64Range(1, 30), 0, 3).Draw(t, "fails at its envelope")
		s, opened := scenestest.New(outer, p, ""), false
		synctest.Test(outer, func(inner *testing.T) {
			for _, after := range kills {
				left := int64(-1)
				s = killedAt(outer, s, set, after, func() { left = made.Load() }, scenes.FailAt(fails))
				if left >= 0 { // what the killed process did after its kill nobody has done
					midway++
					made.Store(left)
				}
			}
			for _, at := range []uint64{interrupt, 0} {
				set.InterruptAt = at
				r, err := s.StartWith(set, scenes.FailAt(fails))
				if err != nil {
					return // it has ended
				}
				opened = true
				if res := r.Close(); res.Err != nil {
					inner.Error(res.Err)
				}
			}
		})
		used := s.Fold(outer, set).Spending.Lines()[0]
		s.Facts(outer, func(_ protocol.Record, f protocol.Fact) {
			if _, is := f.(*tooltask.Opened); is {
				made.Add(1)
			}
		})
		within := used.Used.Calls <= limit
		if repeat == "never" { // a call in the place of one that must not be repeated counts beside it
			within = made.Load() <= limit
		}
		if refused += int(used.Refused); used.Used.Calls < made.Load() || !within || used.Used.Nano != used.Used.Calls*budget.Dollar {
			t.Errorf("%d calls were made; %+v count of %d; kills %v, fails %v\n%s", made.Load(), used.Used, limit, kills, fails, text)
		}
		set.InterruptAt = 0
		mustRestore(outer, s, set)
		mustVerify(outer, s, set)
		if opened {
			logEmpty(outer, s)
		}
		if outer.Failed() {
			t.Fatalf("%+v, kills %v, fails %v\n%s", set, kills, fails, text)
		}
	})
	if t.Logf("%d refused, %d kills before the end", refused, midway); refused == 0 {
		t.Error("nothing was refused: nothing is tested")
	}
}
