package scenes_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/workflow"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// shaky is a scene of three agents whose core workflow calls the node
// test:Shaky before it counts in its private state.
const shaky = `
-- agent_profiles/shaky.yaml --
id: shaky
name: Shaky
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: shake
subscribed_event_types: [agent.failed, tick]
knowledge_base_references: [{source_id: notes, access_permissions: [write_caiu]}]
tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool, PublishEventTool, WriteToKnowledgeBaseTool]
custom_runtime_config: {deliberation_frequency_hz: 1, max_restarts: 3}
-- workflows/shake.yaml --
interfaceInputs: {self: {dataFlowType: OBJECT}, turn: {dataFlowType: INTEGER}, observations: {dataFlowType: ARRAY}, private_state: {dataFlowType: OBJECT}}
interfaceOutputs: {decision: {dataFlowType: OBJECT, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: shaky, type: "test:Shaky"}
  - id: c
    type: Expression
    configValues:
      type: OBJECT
      expression: "({private_state: {count: (me.count || 0) + (shaken === 'ok' ? 1 : 0), seen: obs.map(o => o.kind)}, world: {path: 'n', op: 'add', value: 1}, events: {type: 'tick'}, calls: {tool: 'WriteToKnowledgeBaseTool', params: {entry: {entry_type: 'note', content: 'hm'}}}})"
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: self, target: shaky, targetHandle: in}
  - {source: in, sourceHandle: private_state, target: c, targetHandle: me}
  - {source: in, sourceHandle: observations, target: c, targetHandle: obs}
  - {source: shaky, sourceHandle: out, target: c, targetHandle: shaken}
  - {source: c, sourceHandle: value, target: out, targetHandle: decision}
-- knowledgebases/notes.yaml --
id: notes
schema_version: "1.0"
-- scenes/s.yaml --
id: s
name: Shaky
schema_version: "1.0"
agent_instances:
  - {instance_id: "a_{n}", profile_id: shaky, count: 3}
initial_world_state: {n: 0}
simulation: {stop: {ticks: 12}, limits: {restart_backoff: 2s}}
-- models/voices.yaml --
rules: []
`

// shakyProject loads it with a node that does what f does.
func shakyProject(t testing.TB, text string, f func(in any) any) *project.Project {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), workflow.Kinds{"test:Shaky": scenestest.Kind(f)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// instance is the instance id in the input "self".
func instance(in any) string { return in.(map[string]any)["instance_id"].(string) }

// counted is what an agent counted in its private state.
func counted(t testing.TB, s *scenestest.Scene, id string) int64 {
	t.Helper()
	for _, m := range s.Fold(t, scenestest.Settings{}).Agents {
		if m.ID.Instance == id {
			n, _ := m.State.Private["count"].(int64)
			return n
		}
	}
	t.Fatalf("no agent %s", id)
	return 0
}

// Promise 3, I1, architecture §1: an agent that panics is a fact with its stack, is
// restored from the journal after a while and goes on; the others do not notice.
func TestAgentPanicsAndIsRestored(t *testing.T) {
	for _, workers := range []int{1, 4} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			var calls atomic.Int64
			p := shakyProject(t, shaky, func(in any) any {
				if instance(in) == "a_2" {
					if n := calls.Add(1); n == 3 || n == 4 {
						panic("the node fell over")
					}
				}
				return "ok"
			})
			s := scenestest.New(t, p, "")
			set := scenestest.Settings{Workers: workers, Snapshots: 20}
			r := s.Run(t, set)
			if r.Err != nil || !r.Final || r.DeadLetters > 0 {
				t.Fatal(r, r.DeadLetters)
			}
			mustRestore(t, s, set)
			mustVerify(t, s, set)
			got, _ := trace(t, s, 0, "agent.failed", "agent.turn_ended")
			for _, want := range []string{
				`$scene agent a_2 failed 1: "panic: the node fell over" in scenes_test.`,
				"again at +4s", `failed 2: "panic`, "again at +8s", "a_2 turn 3 ok",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			if n := counted(t, s, "a_1"); n != 12 {
				t.Errorf("a_1 deliberated %d times", n)
			}
			if n := counted(t, s, "a_2"); n != 6 {
				t.Errorf("a_2 deliberated %d times: want twice before it fell, and at 8, 9, 10, 11 s", n)
			}
			if r.State.Tally.Restarts != 2 || r.State.Tally.GivenUp != 0 {
				t.Errorf("%+v", r.State.Tally)
			}
		})
	}
}

// The agent is told that it was restarted, and others hear agent.failed.
func TestRestartIsObserved(t *testing.T) {
	var calls atomic.Int64
	p := shakyProject(t, shaky, func(in any) any {
		if instance(in) == "a_2" && calls.Add(1) == 2 {
			panic(fmt.Errorf("an error"))
		}
		return "ok"
	})
	s := scenestest.New(t, p, "")
	s.Run(t, scenestest.Settings{})
	states, _ := trace(t, s, 0, "agent.private_state_updated")
	if !strings.Contains(states, `a_2 state merge "" {"count":2,"seen":["restart"]}`) {
		t.Error(states)
	}
	events, _ := trace(t, s, 0, "event.routed")
	if !strings.Contains(events, `agent.failed of $scene to [a_1 a_2 a_3] {"agent_instance_id":"a_2","error":"panic: an error","failures":1,"given_up":false}`) {
		t.Error(events)
	}
}

// An agent that is restored hears the ephemeral events behind its failure, however far the disk is by then.
func TestRestoredAgentHearsWhatCameLater(t *testing.T) {
	const wave = 4 // in which the agent fails, and 6 is that of its next turn
	for _, slow := range []uint64{0, wave} {
		var calls atomic.Int64
		p := shakyProject(t, strings.Replace(shaky, "type: 'tick'", "type: 'tick', ephemeral: true", 1), func(in any) any {
			if instance(in) == "a_2" && calls.Add(1) == 3 {
				panic("the node fell over")
			}
			return "ok"
		})
		s := scenestest.New(t, p, "")
		run, err := s.StartWith(scenestest.Settings{}, scenes.KeptLate(slow))
		if err != nil {
			t.Fatal(err)
		}
		if r := run.Close(); r.Err != nil || !r.Final || r.State.Tally.Restarts != 1 {
			t.Fatal(r, r.State.Tally.Restarts)
		}
		s.Facts(t, func(r protocol.Record, fact protocol.Fact) {
			if x, is := fact.(*agentfact.TurnEnded); is && r.Actor == "a_2" && x.Turn == 3 {
				if x.Wave != wave+2 || x.Perceived != 3 || x.Lost != 5 {
					t.Errorf("%+v: want what the others said in wave %d", x, wave+1)
				}
			}
		})
		mustRestore(t, s, scenestest.Settings{})
		mustVerify(t, s, scenestest.Settings{})
	}
}

// An agent may fail between two deliberations, with a wake in its mailbox or
// without: the wave does not wait for it, and nothing that it was told is lost.
func TestAgentFailsOutOfTurn(t *testing.T) {
	p := shakyProject(t, shaky, func(any) any { return "ok" })
	for _, kind := range []protocol.Kind{protocol.KindEvent, protocol.KindWake, protocol.KindSnapshot} {
		for wave := uint64(2); wave < 14; wave += 3 {
			for _, workers := range []int{1, 4} {
				if !scenestest.Long() && (workers == 1 || wave%2 == 1) {
					continue
				}
				s := scenestest.New(t, p, "")
				set := scenestest.Settings{Workers: workers, Snapshots: 9}
				run, err := s.StartWith(set, scenes.FailAgentAt("a_2", kind, wave))
				if err != nil {
					t.Fatal(err)
				}
				r := run.Close()
				if r.Err != nil || !r.Final || r.DeadLetters > 0 || r.State.Tally.GivenUp > 0 {
					t.Fatal(kind, wave, r, r.DeadLetters)
				}
				mustRestore(t, s, set)
				mustVerify(t, s, set)
				if n := counted(t, s, "a_1"); n != 12 {
					t.Errorf("%v in wave %d: a_1 deliberated %d times", kind, wave, n)
				}
			}
		}
	}
}

// After max_restarts failures in a row an agent is given up: the scene knows,
// goes on, takes snapshots and can be interrupted and resumed.
func TestAgentIsGivenUp(t *testing.T) {
	text := strings.Replace(shaky, "ticks: 12", "ticks: 40", 1)
	var turns atomic.Int64
	var at int64
	running := make(chan *scenestest.Running, 1)
	p := shakyProject(t, text, func(in any) any {
		if instance(in) == "a_1" {
			panic("always")
		}
		if instance(in) == "a_3" && turns.Add(1) == at {
			r := <-running
			r.Interrupt()
			running <- r
		}
		return "ok"
	})
	for _, at = range []int64{0, 5, 25} {
		turns.Store(0)
		s := scenestest.New(t, p, "")
		set := scenestest.Settings{Workers: 3, Snapshots: 30}
		if at > 0 {
			r, err := s.Start(set)
			if err != nil {
				t.Fatal(err)
			}
			running <- r
			if r := r.Close(); r.Final || r.Err != nil {
				t.Fatal(r)
			}
			<-running
			mustRestore(t, s, set)
			mustVerify(t, s, set)
		}
		r := s.Run(t, set)
		if r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		mustRestore(t, s, set)
		mustVerify(t, s, set)
		failed, _ := trace(t, s, 0, "agent.failed")
		if n := strings.Count(failed, "agent a_1 failed"); n != 4 || !strings.Contains(failed, "given up") {
			t.Errorf("interrupted at %d: %s", at, failed)
		}
		if n := counted(t, s, "a_3"); n != 40 {
			t.Errorf("a_3 deliberated %d times", n)
		}
		if r.State.Tally.GivenUp != 1 {
			t.Errorf("given up %d", r.State.Tally.GivenUp)
		}
	}
}

// A failure ends a row: who works again has all its restarts before it.
func TestFailuresInARow(t *testing.T) {
	var calls atomic.Int64
	p := shakyProject(t, strings.Replace(shaky, "ticks: 12", "ticks: 60", 1), func(in any) any {
		if instance(in) == "a_1" && calls.Add(1)%3 != 0 {
			panic("two of three")
		}
		return "ok"
	})
	s := scenestest.New(t, p, "")
	r := s.Run(t, scenestest.Settings{})
	if r.State.Tally.GivenUp != 0 || r.State.Tally.Restarts < 10 {
		t.Errorf("%d restarts, %d given up", r.State.Tally.Restarts, r.State.Tally.GivenUp)
	}
}

// Everybody fails at once, with little room: waves end, nothing hangs.
func TestAllFail(t *testing.T) {
	text := strings.Replace(strings.Replace(shaky, "limits: {", "limits: {max_deliberating: 1, ", 1), "ticks: 12", "ticks: 40", 1)
	p := shakyProject(t, text, func(any) any { panic("all") })
	s := scenestest.New(t, p, "")
	r := s.Run(t, scenestest.Settings{Snapshots: 1})
	if r.Err != nil || r.State.Tally.GivenUp != 3 {
		t.Error(r, r.State.Tally.GivenUp)
	}
	mustRestore(t, s, scenestest.Settings{})
	mustVerify(t, s, scenestest.Settings{})
}

// A service that fails once is restored and asked again; the digest shows only
// the fact of its failure, and the state is that of a run in which it did not.
func TestServiceFailsOnce(t *testing.T) {
	calm, err := scenestest.New(t, shakyProject(t, shaky, func(any) any { return "ok" }), "").Start(scenestest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want := calm.Close()
	for _, actor := range scenes.Services() {
		t.Run(actor, func(t *testing.T) {
			text := shaky
			s := scenestest.New(t, shakyProject(t, text, func(any) any { return "ok" }), "")
			set := scenestest.Settings{Snapshots: 25}
			run, err := s.StartWith(set, scenes.FailService(actor, 4, 1))
			if err != nil {
				t.Fatal(err)
			}
			r := run.Close()
			if r.Err != nil || !r.Final || r.DeadLetters > 0 {
				t.Fatal(r)
			}
			failed, _ := trace(t, s, 0, "scene.actor_failed")
			if strings.Count(failed, "failed 1:") != 1 || !strings.Contains(failed, actor+" failed 1: \"panic: made to fail\" in scenes") {
				t.Error(failed)
			}
			if r.State.Tally.Restarts != 1 {
				t.Errorf("restarts %d", r.State.Tally.Restarts)
			}
			mustRestore(t, s, set)
			mustVerify(t, s, set)
			a, b := r.State.Tally, want.State.Tally
			if a.EventsDelivered != b.EventsDelivered || a.Changes != b.Changes || a.Deliberations != b.Deliberations || run.World().Version() != calm.World().Version() {
				t.Errorf("%+v, without the failure %+v", a, b)
			}
		})
	}
}

// A service that always fails ends the run with its error; nothing that was
// kept is lost, and the run goes on where the failure is gone.
func TestServiceFailsAlways(t *testing.T) {
	p := shakyProject(t, shaky, func(any) any { return "ok" })
	want := scenestest.New(t, p, "").Run(t, scenestest.Settings{})
	for _, actor := range scenes.Services() {
		t.Run(actor, func(t *testing.T) {
			s := scenestest.New(t, p, "")
			run, err := s.StartWith(scenestest.Settings{}, scenes.FailService(actor, 4, 1000))
			if err != nil {
				t.Fatal(err)
			}
			r := run.Close()
			if r.Err == nil || r.Final || r.Reason != "failure" {
				t.Fatal(r)
			}
			if !strings.Contains(r.Err.Error(), actor+" was given up after 6 failures in a row: panic: made to fail") {
				t.Error(r.Err)
			}
			mustRestore(t, s, scenestest.Settings{})
			mustVerify(t, s, scenestest.Settings{})
			if again := s.Run(t, scenestest.Settings{}); again.Digest() != want.Digest() {
				t.Errorf("resumed: %v\nwant %s", again, want.Digest())
			}
		})
	}
}

// A failure of the scene's own actor ends this life of the scene with the stack;
// nothing kept is lost, and the next life keeps the failure as a fact and comes
// to the same end.
func TestSceneFails(t *testing.T) {
	p := shakyProject(t, shaky, func(any) any { return "ok" })
	calm := scenestest.New(t, p, "").Run(t, scenestest.Settings{})
	for _, nth := range []int64{2, 9, 23} {
		s := scenestest.New(t, p, "")
		run, err := s.StartWith(scenestest.Settings{}, scenes.FailScene(nth))
		if err != nil {
			t.Fatal(err)
		}
		first := run.Close()
		crash := &scenes.Crash{}
		if !errors.As(first.Err, &crash) || first.Final || crash.Text != "panic: made to fail" || len(crash.Stack) == 0 || crash.MaxRestarts != 5 {
			t.Fatalf("envelope %d: %v, %+v", nth, first, crash)
		}
		run, err = s.StartWith(scenestest.Settings{}, func(o *scenes.Options) { o.Crashes = []*scenes.Crash{crash} })
		if err != nil {
			t.Fatal(err)
		}
		second := run.Close()
		if second.Err != nil || !second.Final {
			t.Fatal(second)
		}
		if failed, _ := trace(t, s, 0, "scene.actor_failed"); strings.Count(failed, "$scene failed 1: \"panic: made to fail\"") != 1 {
			t.Errorf("envelope %d: %s", nth, failed)
		}
		if a, b := second.State.Tally, calm.State.Tally; a.Deliberations != b.Deliberations || a.EventsDelivered != b.EventsDelivered || a.Changes != b.Changes {
			t.Errorf("envelope %d: %+v, without the failure %+v", nth, a, b)
		}
		mustRestore(t, s, scenestest.Settings{})
		mustVerify(t, s, scenestest.Settings{})
	}
}

// An agent that fails outside of its turn may be removed before a wave has taken the failure: it is no fact then,
// and the scene goes on without the agent.
func TestAgentFailsAndIsRemoved(t *testing.T) {
	text := strings.Replace(shaky, "count: 3}", "count: 3}\n  - {instance_id: guest, profile_id: shaky, spawnable: true}", 1)
	const last = 8 // the wave of the order; the wave before tells the guest a tick
	told := func(change string, fields any, wave uint64) *machines.Order {
		return &machines.Order{Wave: wave, Intervened: &agenda.Intervened{ID: change, Do: protocol.Encode([]any{
			map[string]any{"world": map[string]any{"path": "told", "value": change}}, map[string]any{change: fields}})}}
	}
	s := scenestest.New(t, shakyProject(t, text, func(any) any { return "ok" }), "")
	set := scenestest.Settings{Workers: 4, Snapshots: 20, Orders: []*machines.Order{
		told("spawn", map[string]any{"agent": "guest"}, 3), told("remove", map[string]any{"agents": "guest"}, last)}}
	decides, failed := make(chan struct{}), make(chan struct{})
	decide, fail := sync.OnceFunc(func() { close(decides) }), sync.OnceFunc(func() { close(failed) })
	wait := func(c <-chan struct{}) {
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Error("the guest does not fail while the world decides about the order")
		}
	}
	run, err := s.StartWith(set, scenes.InFront(func(actor string, env *protocol.Envelope) {
		switch {
		case actor == "guest" && env.Kind == protocol.KindEvent && env.Wave == last-1:
			wait(decides)
			panic("made to fail")
		case actor == machines.ActorWorld && env.Kind == protocol.KindCommit && env.Wave == last:
			decide()
			wait(failed)
		case actor == setup.ActorStage && env.Kind == protocol.KindFailed:
			fail()
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if r := run.Close(); r.Err != nil || !r.Final || r.State.Tally.Restarts > 0 {
		t.Fatal(r, r.State.Tally.Restarts)
	}
	if facts, _ := trace(t, s, 0, "agent.failed", "agent.removed"); strings.Contains(facts, "failed") || !strings.Contains(facts, "guest") {
		t.Error(facts)
	}
	mustRestore(t, s, set)
	mustVerify(t, s, set)
}
