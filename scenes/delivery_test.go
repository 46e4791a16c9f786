package scenes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// alarm is a scene in which a caller rings at second two, with an urgency that
// interrupts, and a worker thinks for ten seconds about what it heard before.
func alarm(t testing.TB, then string) *project.Project {
	t.Helper()
	return realtimeScene(t, `agent_instances:
  - {instance_id: caller, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 0.5}}
  - {instance_id: worker, profile_id: person, custom_runtime_config: {wake_on_start: false, interrupt: {by: high, then: `+then+`}}}
initial_world_state: {log: []}
simulation: {clock: realtime, stop: {after: 30s}}`)
}

// ringing publishes work at once and an alarm two seconds later; the worker
// takes ten seconds for its first thought and says what it heard in the others.
func ringing(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	if req.Agent == "worker" {
		if strings.Contains(req.Messages[0].Text, "Turn 1 ") {
			a, err := after(10*time.Second, "done with it")(ctx, req)
			a.Calls = []protocol.Call{{ID: "c", Tool: "UpdatePrivateStateTool", Params: map[string]any{"path": "done", "value": true}}}
			return a, err
		}
		return after(100*time.Millisecond, "heard "+strings.Join(req.Events, " "))(ctx, req)
	}
	a, err := after(100*time.Millisecond, "")(ctx, req)
	publish := func(typ, priority string) {
		a.Calls = []protocol.Call{{ID: "c", Tool: "PublishEventTool", Params: map[string]any{"type": typ, "target_agent_instance_id": "worker", "priority": priority}}}
	}
	switch {
	case strings.Contains(req.Messages[0].Text, "Turn 1 "):
		publish("talk.work", "normal")
	case strings.Contains(req.Messages[0].Text, "Turn 2 "):
		publish("talk.fire", "critical")
	}
	return a, err
}

// What the mailbox of an agent refuses is counted like what it heard, so that a
// fold does not take the events after it for new ones.
func TestRefusedDeliveriesAreCounted(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		t.Run(string(clock), func(t *testing.T) {
			s := scenestest.New(t, realtimeScene(t, `agent_instances:
  - {instance_id: caller, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: worker, profile_id: person, custom_runtime_config: {wake_on_start: false}}
simulation: {stop: {after: 4500ms}}`), "")
			calls := func(_ context.Context, req *protocol.ModelRequest) (a protocol.ModelAnswer, err error) {
				for i := range 5 {
					if turn, _ := req.Variables["turn"].(int64); req.Agent == "caller" && turn <= 3 {
						a.Calls = append(a.Calls, protocol.Call{ID: fmt.Sprint(i), Tool: "PublishEventTool", Params: map[string]any{"type": "talk.x", "target_agent_instance_id": "worker"}})
					}
				}
				return a, nil
			}
			synctest.Test(t, func(t *testing.T) {
				set := scenestest.Settings{Model: &slow{answer: calls}, Clock: clock, Workers: 1, Stop: &agenda.Stop{Deliberations: 9}}
				r, err := s.StartWith(set, func(o *scenes.Options) { o.Mailbox = actors.Capacity{Max: 2} })
				if err != nil {
					t.Fatal(err)
				}
				if res := r.Close(); res.Err != nil || res.State.Tally.DeadLetters == 0 {
					t.Error(res, res.State.Tally.DeadLetters)
				}
			})
			state := s.Fold(t, scenestest.Settings{Clock: clock})
			worker, _ := s.Made(t, scenestest.Settings{Clock: clock}).Ordinal("worker")
			if n := state.Agents[worker].State.Waiting(); n != 0 {
				t.Errorf("after a fold %d events wait that were handled or refused", n)
			}
		})
	}
}

// refusing is a scene in which mailboxes with room for four events refuse deliveries
// to workers and to their caller.
type refusing struct {
	t    *testing.T
	made *project.Project
}

func refusingScene(t *testing.T, workers int) refusing {
	t.Helper()
	return refusing{t, realtimeScene(t, fmt.Sprintf(`agent_instances:
  - {instance_id: caller, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: "worker_{n}", count: %d, profile_id: person, custom_runtime_config: {wake_on_start: false, max_inbox: 3, inbox: {high: {max: 1, policy: drop_oldest}}}}
simulation: {stop: {ticks: 9}}`, workers))}
}

// calls publishes seven events in a turn of the caller. Workers fail in every second.
func (refusing) calls(_ context.Context, req *protocol.ModelRequest) (a protocol.ModelAnswer, err error) {
	turn, _ := req.Variables["turn"].(int64)
	switch {
	case req.Agent != "caller" && turn%2 == 0:
		return a, errors.New("no answer")
	case req.Agent != "caller":
		a.Text = fmt.Sprint("heard ", req.Events)
		return a, nil
	}
	for i := range 7 {
		a.Calls = append(a.Calls, protocol.Call{ID: fmt.Sprint(i), Tool: "PublishEventTool", Params: map[string]any{
			"type": fmt.Sprintf("talk.%d_%d", turn, i), "requires_ack": i%2 == 0, "priority": []string{"high", "normal"}[i/3%2]}})
	}
	return a, nil
}

func (x refusing) run(s *scenestest.Scene, set scenestest.Settings) scenestest.Result {
	x.t.Helper()
	set.Workers, set.Model = 1, &slow{answer: x.calls}
	r, err := s.StartWith(set, func(o *scenes.Options) { o.Mailbox = actors.Capacity{Max: 4} })
	if err != nil {
		x.t.Fatal(err)
	}
	res := r.Close()
	if res.Err != nil {
		x.t.Error(res)
	}
	return res
}

// Promise 2, where mailboxes refuse deliveries: a fold knows who did not hear what,
// the machines decide the history again, and an interrupted run goes on alike.
func TestAFoldHearsWhatAMailboxTook(t *testing.T) {
	x := refusingScene(t, 1)
	whole := scenestest.New(t, x.made, "")
	want := x.run(whole, scenestest.Settings{})
	if want.DeadLetters < 9 {
		t.Errorf("%d deliveries were refused: nothing is tested", want.DeadLetters)
	}
	mustVerify(t, whole, scenestest.Settings{})
	whole.Journal(t, func(j *persistence.Journal) {
		if r, _, err := verify.Run(context.Background(), whole.Made(t, scenestest.Settings{}), j, verify.Options{}); err != nil || r.Taken[verify.TakenLost] > 0 {
			t.Errorf("each refusal has a name, and turns are taken: %+v, %v", r, err)
		}
	})
	for at := uint64(2); ; at++ {
		s := whole.Fresh(t)
		if r := x.run(s, scenestest.Settings{InterruptAt: at}); r.Final {
			break
		}
		mustRestore(t, s, scenestest.Settings{})
		if got := x.run(s, scenestest.Settings{}); got.Digest() != want.Digest() {
			t.Fatalf("interrupted after wave %d: digest %s, want %s\n%s", at, got.Digest(), want.Digest(), difference(t, s, whole))
		}
		mustRestore(t, s, scenestest.Settings{})
	}
}

// Where there are too many refusals to name them all, the turns of whoever may have
// missed something are taken as they are.
func TestVerifyOfACrowdThatMissesEvents(t *testing.T) {
	x := refusingScene(t, 80)
	s := scenestest.New(t, x.made, "")
	x.run(s, scenestest.Settings{})
	counted := int64(0)
	s.Facts(t, func(_ protocol.Record, f protocol.Fact) {
		if l := f.(*agenda.DeadLettered); l.Event == "" {
			counted += l.Count
		}
	}, agenda.FactDeadLettered)
	if counted < 100 {
		t.Errorf("%d refusals are counted and not named: nothing is tested", counted)
	}
	mustVerify(t, s, scenestest.Settings{})
}

// An urgent event stops a deliberation between two of its nodes, in realtime:
// the model call is cancelled, nothing of its effects stays, and what it had
// perceived comes back as the profile says.
func TestRealtimeInterrupt(t *testing.T) {
	for then, want := range map[string]string{
		"retry": "heard talk.fire talk.work", "drop": "heard talk.fire", "queue": "heard talk.fire|heard talk.work",
	} {
		t.Run(then, func(t *testing.T) {
			s := scenestest.New(t, alarm(t, then), "")
			synctest.Test(t, func(t *testing.T) {
				m := &slow{answer: ringing}
				if r := live(t, s, scenestest.Settings{Model: m}).Close(); r.Err != nil {
					t.Error(r)
				}
				if _, open := m.count(); open != 0 {
					t.Errorf("%d calls are still out", open)
				}
			})
			text, _ := trace(t, s, 0, "agent.said", "agent.turn_ended", "agent.private_state_updated")
			var said []string
			for line := range strings.Lines(text) {
				if _, what, ok := strings.Cut(line, "worker said "); ok {
					said = append(said, strings.Trim(strings.TrimSpace(what), `"`))
				}
			}
			if strings.Join(said, "|") != want || !strings.Contains(text, "worker turn 1 interrupted") || strings.Contains(text, "worker state") {
				t.Errorf("%q, want %q\n%s", said, want, text)
			}
			mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
		})
	}
}

// An interrupted turn does not say how many observations it was shown. Where there were some it is taken as it
// was: by these rules it asks a model, and without an observation it fails.
func TestAnInterruptedTurnWithObservationsVerifies(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, `agent_instances:
  - {instance_id: caller, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 0.5}}
  - {instance_id: worker, profile_id: person, custom_runtime_config: {interrupt: {by: high, then: retry}}}
simulation: {clock: realtime, stop: {after: 10s}}
-- workflows/think.yaml --
interfaceInputs: {turn: {dataFlowType: INTEGER}, self: {dataFlowType: OBJECT}, observations: {dataFlowType: ARRAY}}
interfaceOutputs: {response: {dataFlowType: STRING}, calls: {dataFlowType: ARRAY}}
nodes:
  - {id: in, type: GroupInput}
  - {id: prompt, type: Expression, configValues: {type: STRING, expression: "observations[0].kind + self.instance_id + turn"}}
  - {id: model, type: LLMCompletion}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: "*", target: prompt, targetHandle: "*"}
  - {source: prompt, sourceHandle: value, target: model, targetHandle: prompt}
  - {source: model, sourceHandle: text, target: out, targetHandle: response}
  - {source: model, sourceHandle: calls, target: out, targetHandle: calls}`), "")
	ring := func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		if req.Agent == "worker" {
			return after(9*time.Second, "done")(ctx, req)
		}
		priority := "normal" // the caller failed in its first turn
		if strings.HasSuffix(req.Messages[0].Text, "4") {
			priority = "critical"
		}
		return protocol.ModelAnswer{Finish: protocol.FinishStop, Calls: []protocol.Call{
			{ID: "c", Tool: "PublishEventTool", Params: map[string]any{"type": "talk.x", "target_agent_instance_id": "worker", "priority": priority}},
			{ID: "d", Tool: "ReadPrivateStateTool"}}}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		if r := live(t, s, scenestest.Settings{Model: &slow{answer: ring}}).Close(); r.Err != nil {
			t.Error(r)
		}
	})
	if text, _ := trace(t, s, 0, "agent.turn_ended"); !strings.Contains(text, "worker turn 2 interrupted") {
		t.Errorf("nothing is tested: %s", text)
	}
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// An acknowledged event is perceived again after a failure, in realtime too.
func TestRealtimeRedelivery(t *testing.T) {
	s := scenestest.New(t, alarm(t, "retry"), "")
	synctest.Test(t, func(t *testing.T) {
		m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			switch turn := req.Messages[0].Text; {
			case req.Agent == "worker" && !strings.Contains(turn, "Turn 3 "):
				return protocol.ModelAnswer{}, protocol.Errorf(protocol.KindTransient, "not now")
			case req.Agent == "caller" && strings.Contains(turn, "Turn 1 "):
				return protocol.ModelAnswer{Finish: protocol.FinishStop, Calls: []protocol.Call{{ID: "c", Tool: "PublishEventTool", Params: map[string]any{
					"type": "talk.work", "target_agent_instance_id": "worker", "requires_ack": true}}}}, nil
			}
			return protocol.ModelAnswer{Text: strings.Join(req.Events, " "), Finish: protocol.FinishStop}, nil
		}}
		if r := live(t, s, scenestest.Settings{Model: m}).Close(); r.Err != nil {
			t.Error(r)
		}
	})
	var worker []string
	for _, turn := range turns(t, s) {
		if strings.HasPrefix(turn, "worker") {
			worker = append(worker, turn)
		}
	}
	// After one second, then after two.
	if got, want := strings.Join(worker, " "), "worker@0s worker@1s worker@3s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// never is a model that never answers one agent, and heeds no context.
func never(who string, stop chan struct{}) *slow {
	return &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		if req.Agent == who {
			<-stop
		}
		return after(10*time.Millisecond, "here")(ctx, req)
	}}
}

// A model that never answers holds one deliberation until its time is over, not
// the scene: the others go on, and the scene ends.
func TestModelThatNeverAnswers(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Realtime, agenda.Virtual} {
		t.Run(string(clock), func(t *testing.T) {
			s := scenestest.New(t, realtimeScene(t, `agent_instances:
  - {instance_id: stuck, profile_id: person}
  - {instance_id: lively, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 0.25}}
simulation: {stop: {after: 1200s}}`), "")
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				defer close(stop)
				began := time.Now()
				r, err := s.Start(scenestest.Settings{Model: never("stuck", stop), Clock: clock, Workers: 2})
				if err != nil {
					t.Fatal(err)
				}
				if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByTime || time.Since(began) > time.Hour {
					t.Error(res, time.Since(began))
				}
			})
			text, _ := trace(t, s, 0, "agent.turn_ended")
			if n := strings.Count(text, "lively turn"); n < 275 || !strings.Contains(text, "stuck turn 1 failed") {
				t.Errorf("%d turns\n%.2000s", n, text)
			}
		})
	}
}

// Whoever was to hear an ephemeral event when the run was interrupted goes on
// without it, and says so.
func TestEphemeralIsLostWithTheProcess(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(`-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
agent_instances:
  - {instance_id: crier, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: ada, profile_id: person}
simulation: {stop: {ticks: 120}}
-- models/voices.yaml --
rules:
  - match: {agent: crier, variables: {turn: 1}}
    answer:
      calls:
        - {tool: PublishEventTool, params: {type: talk.loud, target_agent_instance_id: ada, payload: loud}}
        - {tool: PublishEventTool, params: {type: talk.soft, target_agent_instance_id: ada, payload: soft, ephemeral: true}}
  - match: {agent: ada, variables: {turn: 1}}
    answer: {calls: [{tool: SleepTool, params: {seconds: 100, wake_on: critical}}]}
  - match: {agent: ada}
    answer: "{{range .variables.incoming_events}}{{.payload}} {{end}}"
otherwise: {text: ""}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	whole := s.Run(t, scenestest.Settings{})
	if text, _ := trace(t, s, 0, "agent.said"); !strings.Contains(text, `"loud soft"`) {
		t.Fatal(text)
	}
	s = s.Fresh(t)
	first := s.RunUntil(t, scenestest.Settings{Workers: 1}, func(q *protocol.ModelRequest) bool {
		return q.Agent == "crier" && q.Variables["turn"] == int64(4)
	})
	if first.Final {
		t.Fatal("it ended before it was interrupted")
	}
	mustRestore(t, s, scenestest.Settings{})
	second := s.Run(t, scenestest.Settings{})
	mustRestore(t, s, scenestest.Settings{})
	text, _ := trace(t, s, 0, "agent.turn_ended", "agent.said")
	if !strings.Contains(text, `ada said "loud"`) || !strings.Contains(text, "ada turn 2 ok events 1 lost 1") || second.Digest() == whole.Digest() {
		t.Errorf("interrupted at wave %d\n%s", first.Wave.Number, text)
	}
}
