package scenes_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/budget"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

const guarded = `agent_instances:
  - {instance_id: host, profile_id: person, custom_runtime_config: {wake_on_start: false}}
  - {instance_id: "guest_{n}", profile_id: person, count: 6, spawnable: true, custom_runtime_config: {max_tool_rounds: 20}}
budget: {calls: 8, on_exhausted: refuse}
simulation: {clock: realtime, stop: {after: 2m}}
`

// bounded is a model whose requests the log of effects counts as lost if nobody has their answers.
type bounded struct{ *slow }

// Bound implements llm.Bounder.
func (bounded) Bound(*protocol.ModelRequest) llm.Bound {
	return llm.Bound{Input: 50, Output: 50, Priced: true}
}

// On the realtime clock what a turn takes of budgets counts although its agent leaves in the middle of it: what
// was answered, and the most that the request takes which is out. So no coming and going exceeds a budget.
func TestRealtimeRemovedUnderABudget(t *testing.T) {
	for name, c := range map[string]struct {
		answers time.Duration // a model
		stays   time.Duration // the guest
	}{"while the first request is out": {4 * time.Second, time.Second}, "after answers": {time.Second, 2500 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			s := scenestest.New(t, realtimeScene(t, guarded), "")
			m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
				a, err := after(c.answers, "")(ctx, req)
				a.Calls = []protocol.Call{{ID: "c", Tool: "ReadPrivateStateTool", Params: map[string]any{}}}
				return a, err
			}}
			come, leave := map[string]any{"spawn": map[string]any{"agent": "guest_1"}}, map[string]any{"remove": map[string]any{"agents": "guest_1"}}
			asked := 0
			synctest.Test(t, func(t *testing.T) {
				var r *scenestest.Running
				give := func(id string, do map[string]any) {
					if got, err := r.Order(t.Context(), doing(id, do)); err != nil || got.Refused != "" {
						t.Error(got, err)
					}
				}
				for life := range 2 { // which is no other history than one
					r = live(t, s, scenestest.Settings{Model: bounded{m}})
					for i := range 6 {
						give(fmt.Sprint("come ", life, i), come)
						<-time.After(c.stays)
						give(fmt.Sprint("leave ", life, i), leave)
						<-time.After(time.Second)
					}
					if life == 0 {
						r.Interrupt()
					}
					if res := r.Close(); res.Err != nil || res.Final != (life == 1) {
						t.Error(res)
					}
				}
				asked, _ = m.count()
			})
			if asked != 8 {
				t.Errorf("models were asked %d times under a budget of 8 calls", asked)
			}
			var took budget.Amount
			s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
				if x, is := fact.(*agenda.TurnAbandoned); is {
					for _, l := range x.Took {
						if x.Agent == 1 && l.Ledger == budget.OfScene {
							took = took.Plus(l.Took())
						}
					}
				}
			})
			if took.Calls < 6 {
				t.Errorf("the facts have %v of abandoned turns", took)
			}
			for _, l := range s.Fold(t, scenestest.Settings{}).Spending.Lines() {
				if l.Name == budget.OfScene && (l.Used.Calls != 8 || l.Refused == 0) {
					t.Errorf("used %v, refused %d", l.Used, l.Refused)
				}
			}
			mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
			mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
		})
	}
}

// What a turn takes that a more urgent event interrupts counts, too: with its own facts.
func TestRealtimeInterruptedUnderABudget(t *testing.T) {
	for name, c := range map[string]struct {
		answers []time.Duration // in turn; the last ends a turn that nothing interrupts
		pauses  time.Duration
		lost    int
	}{
		"while the first request is out": {[]time.Duration{4 * time.Second, 0}, time.Second, 4},
		"after answers":                  {[]time.Duration{time.Second, 4 * time.Second, 0}, 2500 * time.Millisecond, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenestest.New(t, realtimeScene(t, `agent_instances:
  - {instance_id: guest, profile_id: person, custom_runtime_config: {wake_on_start: false, interrupt: {by: high, then: drop}, max_tool_rounds: 20}}
budget: {calls: 8, on_exhausted: refuse}
simulation: {clock: realtime, stop: {after: 2m}}
`), "")
			var made atomic.Int64
			m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
				takes := c.answers[int(made.Add(1)-1)%len(c.answers)]
				a, err := after(takes, "")(ctx, req)
				if takes > 0 {
					a.Calls = []protocol.Call{{ID: "c", Tool: "ReadPrivateStateTool", Params: map[string]any{}}}
				}
				return a, err
			}}
			asked := 0
			synctest.Test(t, func(t *testing.T) {
				r := live(t, s, scenestest.Settings{Model: bounded{m}})
				for i := range 24 {
					<-time.After(c.pauses)
					call := map[string]any{"publish": map[string]any{"type": "call", "to": "guest", "priority": []string{"normal", "high"}[i%2]}}
					if got, err := r.Order(t.Context(), doing(fmt.Sprint(i), call)); err != nil || got.Refused != "" {
						t.Error(got, err)
					}
				}
				if res := r.Close(); res.Err != nil || !res.Final {
					t.Error(res)
				}
				asked, _ = m.count()
			})
			interrupted, lost := 0, 0
			s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
				switch x := fact.(type) {
				case *agentfact.TurnEnded:
					if x.Outcome == agentfact.OutcomeInterrupted {
						interrupted++
					}
				case *agentfact.ModelAnswered:
					if x.Cut() {
						lost++
					}
				}
			})
			if asked != 8 || lost != c.lost || interrupted < lost {
				t.Errorf("models were asked %d times under a budget of 8 calls; %d turns were interrupted, and %d requests lost", asked, interrupted, lost)
			}
			for _, l := range s.Fold(t, scenestest.Settings{}).Spending.Lines() {
				if l.Name == budget.OfScene && (l.Used.Calls != 8 || l.Refused == 0) {
					t.Errorf("used %v, refused %d", l.Used, l.Refused)
				}
			}
			mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
			mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
		})
	}
}

// So it is of a turn that fails until its agent is given up: what it took counts once, however often it was begun anew.
func TestRealtimeGivenUpUnderABudget(t *testing.T) {
	text := strings.NewReplacer(
		`{instance_id: "a_{n}", profile_id: shaky, count: 3}`, `{instance_id: host, profile_id: shaky, custom_runtime_config: {wake_on_start: false, deliberation_frequency_hz: 0}}
  - {instance_id: "a_{n}", profile_id: shaky, count: 2, spawnable: true}`,
		"simulation: {stop: {ticks: 12}", "budget: {calls: 4, on_exhausted: refuse}\nsimulation: {clock: realtime, stop: {after: 2m}",
		"subscribed_event_types: [agent.failed, tick]", "subscribed_event_types: []",
		"max_restarts: 3", "max_restarts: 1",
		"  - {id: shaky, type: \"test:Shaky\"}", "  - {id: m, type: LLMCompletion, inputValues: {prompt: hello}}\n  - {id: shaky, type: \"test:Shaky\"}",
		"  - {source: in, sourceHandle: self, target: shaky, targetHandle: in}", "  - {source: m, sourceHandle: text, target: shaky, targetHandle: in}",
	).Replace(shaky)
	s := scenestest.New(t, shakyProject(t, text, func(any) any { panic("falls") }), "")
	m := &slow{answer: after(100*time.Millisecond, "hm")}
	come, leave := map[string]any{"spawn": map[string]any{"agent": "a_1"}}, map[string]any{"remove": map[string]any{"agents": "a_1"}}
	asked := 0
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: bounded{m}})
		for i := range 6 {
			for at, do := range []map[string]any{come, leave} {
				if got, err := r.Order(t.Context(), doing(fmt.Sprint(i, at), do)); err != nil || got.Refused != "" {
					t.Error(got, err)
				}
				<-time.After(8 * time.Second)
			}
		}
		if res := r.Close(); res.Err != nil || !res.Final {
			t.Error(res)
		}
		asked, _ = m.count()
	})
	failed, took := 0, []int64{}
	s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
		switch x := fact.(type) {
		case *agenda.AgentFailed:
			failed++
		case *agenda.TurnAbandoned:
			took = append(took, x.Took[len(x.Took)-1].Calls)
		}
	})
	if got := fmt.Sprint(asked, took, failed); got != "4 [1 1 1 1] 8" {
		t.Errorf("%s: models were asked, turns abandoned with so many calls, and agents failed so often", got)
	}
	for _, l := range s.Fold(t, scenestest.Settings{}).Spending.Lines() {
		if l.Name == budget.OfScene && l.Used.Calls != 4 {
			t.Errorf("used %v", l.Used)
		}
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// What facts charge of abandoned turns is not lost once more for a run that goes on, whose log of effects still has
// their requests.
func TestRealtimeAbandonedAndResumed(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, guarded), "")
	m := &slow{answer: after(time.Hour, "")}
	change := func(do, agents, id string) *agenda.Intervened {
		return doing(id, map[string]any{do: map[string]any{map[string]string{"spawn": "agent", "remove": "agents"}[do]: agents}})
	}
	asked := 0
	synctest.Test(t, func(t *testing.T) {
		for life := range 2 {
			r := live(t, s, scenestest.Settings{Model: bounded{m}})
			give := func(o *agenda.Intervened) {
				if got, err := r.Order(t.Context(), o); err != nil || got.Refused != "" {
					t.Error(got, err)
				}
				<-time.After(time.Second)
			}
			if life == 0 {
				give(change("spawn", "guest_2", "stays")) // its request keeps those in the log that follow
			}
			for i := range []int{5, 1}[life] {
				give(change("spawn", "guest_1", fmt.Sprint("come ", life, i)))
				give(change("remove", "guest_1", fmt.Sprint("leave ", life, i)))
			}
			if life == 0 {
				r.Interrupt()
			}
			if res := r.Close(); res.Err != nil || res.Final != (life == 1) {
				t.Error(res)
			}
		}
		asked, _ = m.count()
	})
	if asked != 8 { // 5 times for guest_1, twice for guest_2, whose first request is lost, and once for guest_1 again
		t.Errorf("models were asked %d times under a budget of 8 calls", asked)
	}
}
