package scenes_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/engine/tooltask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools"
)

// withTask is a scene whose agents call a tool and open a task, again and again.
var withTask = strings.NewReplacer(
	"-- agent_profiles/caller.yaml --", "-- tools/paint.tool.yaml --\nid: paint\nimplementation: {type: service, name: lab}\nexecution: {mode: async, repeat: free, timeout: 30s}\ncost: 0.25\n-- agent_profiles/caller.yaml --",
	"tool_ids_inventory: [ask]", "tool_ids_inventory: [ask, paint]",
	"wake_on_start: false, interrupt: {by: high, then: drop}", "deliberation_frequency_hz: 0.7",
	"{instance_id: guest, profile_id: caller}", "{instance_id: \"a_{n}\", profile_id: caller, count: 3}",
	"{after: 2m}", "{after: 20s}", "otherwise: {calls: [{tool: ask}]}", "rules: [{match: {variables: {turn: [1, 2, 3, 4]}}, answer: {calls: [{tool: ask}, {tool: paint}]}}]\notherwise: {text: enough}",
).Replace(cutTools)

// On the realtime clock a task gets nothing of a budget of tools that calls have which are out meanwhile.
func TestRealtimeTasksUnderABudgetOfTools(t *testing.T) {
	for limit, most := range map[string]int64{"{calls: 5}": 5, "{calls: 6, money: 100}": 6, "{money: 1.75}": 7, "{calls: 1}": 1} {
		t.Run(limit, func(t *testing.T) {
			p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.Replace(withTask, "{calls: 6, money: 1.25}", limit, 1)))), nil)
			if err != nil {
				t.Fatal(err)
			}
			s := scenestest.New(t, p, "")
			var made atomic.Int64
			lab := tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
				n := time.Duration(made.Add(1))
				select {
				case <-ctx.Done():
					return tools.Fail(protocol.KindCancelled, "it was cut off")
				case <-time.After(n % 4 * time.Second):
					return tools.Output("done")
				}
			})
			set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": lab}}
			synctest.Test(t, func(t *testing.T) {
				if res := s.Run(t, set); res.Err != nil || !res.Final {
					t.Error(res)
				}
			})
			tasks, refused := 0, 0
			s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
				switch x := fact.(type) {
				case *tooltask.Opened:
					tasks++
				case *tooltask.Ended:
					if x.ErrorKind == protocol.KindLimit {
						refused++
					}
				}
			})
			if n := made.Load(); n != most || refused == 0 {
				t.Errorf("%d calls were made, %d of them tasks, under a budget for %d; %d tasks were refused", n, tasks, most, refused)
			}
			mustRestore(t, s, set)
			mustVerify(t, s, set)
		})
	}
}

// A task that is refused before anything leaves gives back what it counted, on each clock; one that was carried out counts, whatever its
// error. The history says which it was, so that the same answers count the same in a replay.
func TestRefusedTasksAreFree(t *testing.T) {
	denied := func(kind protocol.ErrorKind, carried bool) tools.Result {
		r := tools.Fail(kind, "no")
		r.Carried = carried
		return r
	}
	for name, c := range map[string]struct {
		answer tools.Result
		used   int64
	}{
		"done":                {tools.Output("done"), 1},
		"denied":              {denied(protocol.KindDenied, false), 0},
		"invalid":             {denied(protocol.KindInvalid, false), 0},
		"no such thing":       {denied(protocol.KindNotFound, false), 0},
		"denied after it":     {denied(protocol.KindDenied, true), 1},
		"failed":              {denied(protocol.KindInternal, false), 1},
		"a limit of the tool": {denied(protocol.KindLimit, false), 0},
	} {
		for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
			t.Run(name+", "+string(clock), func(t *testing.T) {
				text := strings.NewReplacer("{calls: 6, money: 1.25}", "{calls: 1}", "clock: realtime", "clock: "+string(clock), "count: 3", "count: 1", "[1, 2, 3, 4]", "1", "{calls: [{tool: ask}, {tool: paint}]}", "{calls: [{tool: paint}]}",
					"mode: async, repeat: free, timeout: 30s}", "mode: async, repeat: free, latency: 300ms, timeout: 30s}").Replace(withTask)
				p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
				if err != nil {
					t.Fatal(err)
				}
				s := scenestest.New(t, p, "")
				set := scenestest.Settings{Clock: clock, Tools: tooling.Live, Services: map[string]tools.Executor{"lab": tools.Func(func(context.Context, *tools.Call) tools.Result { return c.answer })}}
				var res scenestest.Result
				synctest.Test(t, func(t *testing.T) { res = s.Run(t, set) })
				if res.Err != nil || !res.Final {
					t.Fatal(res)
				}
				opened := 0
				s.Facts(t, func(_ protocol.Record, f protocol.Fact) {
					if _, is := f.(*tooltask.Opened); is {
						opened++
					}
				})
				want := budget.Amount{Calls: c.used, Nano: c.used * budget.Dollar / 4}
				for at, lines := range map[string][]budget.Line{"live": res.State.Spending.Lines(), "folded": s.Fold(t, set).Spending.Lines()} {
					used := lines[0].Used
					if c.used > 0 {
						used.Micro, used.Bytes = 0, 0
					}
					if used != want || opened != 1 {
						t.Errorf("%s: %+v count of %d tasks; want %+v", at, lines[0].Used, opened, want)
					}
				}
				mustRestore(t, s, set)
				mustVerify(t, s, set)
			})
		}
	}
}

// painter is a tool whose calls are tasks, and the profile of an agent that has it, but for its last lines.
const painter = `-- tools/paint.tool.yaml --
id: paint
implementation: {type: service, name: lab}
execution: {mode: async, repeat: free, latency: 300ms, timeout: 1m}
cost: 0.25
-- agent_profiles/painter.yaml --
id: painter
name: Painter
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
`

// On the virtual clock a task gets nothing of what the calls of a failed turn took, though no fact says it yet.
func TestTasksBesideAFailedTurn(t *testing.T) {
	for limit, most := range map[string]int64{"{calls: 1}": 1, "{money: 0.25}": 1, "{calls: 2}": 2} {
		t.Run(limit, func(t *testing.T) {
			text := strings.NewReplacer("simulation: {stop", "tool_budget: "+limit+"\nsimulation: {stop", "agent_instances: [", "agent_instances: [{instance_id: b, profile_id: painter}, ",
				"-- models/voices.yaml --\nrules: []", painter+`tool_ids_inventory: [paint]
-- models/voices.yaml --
rules: [{match: {variables: {turn: 1}}, answer: {calls: [{tool: paint}]}}]
otherwise: {text: enough}`).Replace(reaches)
			var fell atomic.Bool
			p := shakyProject(t, text, func(any) any {
				if !fell.Swap(true) {
					panic("falls")
				}
				return "ok"
			})
			var made atomic.Int64
			lab := tools.Func(func(context.Context, *tools.Call) tools.Result {
				made.Add(1)
				return tools.Output("noon")
			})
			digest := ""
			for interrupt := range uint64(5) {
				if !scenestest.Long() && interrupt%2 == 1 {
					continue
				}
				fell.Store(false)
				made.Store(0)
				s := scenestest.New(t, p, "")
				set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": lab}, Workers: int(interrupt + 1)}
				var res scenestest.Result
				synctest.Test(t, func(t *testing.T) {
					set.InterruptAt = interrupt
					if res = s.Run(t, set); interrupt > 0 && !res.Final {
						set.InterruptAt = 0
						res = s.Run(t, set)
					}
				})
				if digest = cmp.Or(digest, res.Digest()); res.Err != nil || !res.Final || res.Digest() != digest {
					t.Errorf("interrupted at %d: %+v; digest %s, want %s", interrupt, res.Outcome, res.Digest(), digest)
				}
				if used := s.Fold(t, set).Spending.Lines()[0].Used.Calls; made.Load() != most || used != most || !fell.Load() {
					t.Errorf("interrupted at %d: %d calls were made, and %d count, under a budget for %d", interrupt, made.Load(), used, most)
				}
				mustRestore(t, s, set)
				mustVerify(t, s, set)
			}
		})
	}
}

// besideFalls is a scene like farther, with agents that open tasks meanwhile.
var besideFalls = strings.NewReplacer(
	"agent_instances: [", "agent_instances: [{instance_id: \"b_{n}\", profile_id: painter, count: 2}, ",
	"-- models/voices.yaml --\nrules: []", painter+`custom_runtime_config: {deliberation_frequency_hz: 1}
tool_ids_inventory: [paint]
-- models/voices.yaml --
otherwise: {calls: [{tool: paint}]}`).Replace(farther)

// What tasks are offered beside failed turns depends on neither workers nor interruptions, also if calls were out when a turn failed
// and the budget is one of time or output.
func TestTasksBesideTurnsThatFailWithCallsOut(t *testing.T) {
	for i, limit := range []string{"{calls: 24}", "{money: 6}", "{seconds: 6}", "{bytes: 120}"} {
		for k, repeat := range []string{"free", "never"} {
			if !scenestest.Long() && i > 0 && i%2 == k {
				continue
			}
			t.Run(limit+" "+repeat, func(t *testing.T) {
				p := shakyProject(t, strings.NewReplacer("simulation: {stop", "tool_budget: "+limit+"\nsimulation: {stop", "repeat: free", "repeat: "+repeat).Replace(besideFalls), func(in any) any {
					if in == "falls" {
						panic(in)
					}
					return "ok"
				})
				play := func(workers int, interrupt uint64) (res scenestest.Result) {
					first := ""
					var mu sync.Mutex
					lab := tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
						who, now, _ := strings.Cut(fmt.Sprint(c.Params["q"]), " at ")
						mu.Lock()
						if now != "" && first == "" {
							first = now
						}
						falls := now == first && (who == "a_2" || who == "a_4")
						mu.Unlock()
						switch {
						case c.Tool.ID == "paint":
							return tools.Output("a house")
						case now == "":
							<-time.After(10 * time.Second)
							return tools.Output("far")
						case falls:
							<-time.After(100 * time.Millisecond)
							return tools.Output("falls")
						}
						return tools.Output("noon")
					})
					s := scenestest.New(t, p, "")
					set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": lab}, Workers: workers}
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
					opened, refused, failed := 0, 0, 0
					s.Facts(t, func(_ protocol.Record, f protocol.Fact) {
						switch x := f.(type) {
						case *tooltask.Opened:
							opened++
						case *tooltask.Ended:
							if x.ErrorKind == protocol.KindLimit {
								refused++
							}
						case *agenda.AgentFailed:
							failed++
						}
					})
					if opened == 0 || refused == 0 || failed == 0 {
						t.Errorf("%d tasks were opened, %d refused, and %d turns failed: nothing is tested", opened, refused, failed)
					}
					mustVerify(t, s, scenestest.Settings{})
					mustRestore(t, s, scenestest.Settings{})
					logEmpty(t, s)
					return res
				}
				interrupts := uint64(6)
				if repeat == "never" { // nobody would know what became of a call that is out then
					interrupts = 1
				}
				oneDigest(t, interrupts, play)
			})
		}
	}
}

// A kill while tasks are offered changes nothing, if no call was out: the log of effects, which may be ahead of the journal, says the
// same of the open wave when that is opened again. SIMD_TEST_LONG=1 kills at each operation.
func TestKilledWhileTasksAreOffered(t *testing.T) {
	step := 4
	if scenestest.Long() {
		step = 1
	}
	for _, limit := range []string{"{calls: 24}", "{seconds: 6}", "{bytes: 120}"} {
		t.Run(limit, func(t *testing.T) {
			p := shakyProject(t, strings.Replace(besideFalls, "simulation: {stop", "tool_budget: "+limit+"\nsimulation: {stop", 1), func(in any) any {
				if in == "falls" {
					panic(in)
				}
				return "ok"
			})
			var mu sync.Mutex
			first := ""
			lab := tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
				who, now, _ := strings.Cut(fmt.Sprint(c.Params["q"]), " at ")
				mu.Lock()
				defer mu.Unlock()
				if now != "" && first == "" {
					first = now
				}
				if now == first && (who == "a_2" || who == "a_4") {
					return tools.Output("falls")
				}
				return tools.Output("noon")
			})
			set := scenestest.Settings{Tools: tooling.Live, Services: map[string]tools.Executor{"lab": lab}, Workers: 2}
			var want scenestest.Result
			whole := scenestest.New(t, p, "")
			synctest.Test(t, func(t *testing.T) { want = whole.Run(t, set) })
			same, ahead, others := 0, 0, 0
			for after := 0; ; after += step {
				ended, quiet := false, true
				synctest.Test(t, func(t *testing.T) {
					s := killed(t, scenestest.New(t, p, ""), set, after)
					s.Journal(t, func(j *persistence.Journal) { ended = j.Durable().Number >= want.Wave.Number })
					if ended {
						return
					}
					turns := map[string]uint64{}
					for _, m := range s.Fold(t, set).Agents {
						turns[m.ID.Instance] = m.State.Turn
					}
					out, spent := inLog(t, s, func(agent string) uint64 { return turns[agent] })
					if quiet = len(out) == 0; !quiet {
						return
					}
					if len(spent) > 0 {
						ahead++
					}
					if res := s.Run(t, set); res.Err != nil || res.Digest() != want.Digest() {
						t.Errorf("killed after %d operations: digest %s, want %s; %v\n%s", after, res.Digest(), want.Digest(), res.Err, difference(t, s, whole))
					}
				})
				if ended {
					break
				}
				if quiet {
					same++
				} else {
					others++
				}
			}
			if t.Logf("%d kills without calls that were out, %d with; at %d the log was ahead", same, others, ahead); same == 0 {
				t.Error("calls were out at each kill: nothing is tested")
			}
		})
	}
}
