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
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// A time-out of a node ends the call and fails the deliberation; the agent is told.
func TestRealtimeModelTimesOut(t *testing.T) {
	for name, clock := range map[string]agenda.ClockKind{"realtime": agenda.Realtime, "virtual": agenda.Virtual} {
		t.Run(name, func(t *testing.T) {
			p := realtimeScene(t, `agent_instances: [{instance_id: ada, profile_id: hasty}]
simulation: {stop: {after: 10s}}
-- agent_profiles/hasty.yaml --
id: hasty
name: Hasty
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: hasty
custom_runtime_config: {deliberation_frequency_hz: 0.2}
-- workflows/hasty.yaml --
interfaceInputs: {observations: {dataFlowType: ARRAY}}
interfaceOutputs: {response: {dataFlowType: STRING, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: t, type: TextTemplate, configValues: {template: "{{len .observations}}"}}
  - {id: m, type: LLMCompletion, timeout: 2s, retry: {max: 1, backoff: 500ms}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: observations, target: t, targetHandle: observations}
  - {source: t, sourceHandle: text, target: m, targetHandle: prompt}
  - {source: m, sourceHandle: text, target: out, targetHandle: response}
`)
			s := scenestest.New(t, p, "")
			synctest.Test(t, func(t *testing.T) {
				m := &slow{}
				m.answer = func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
					if asked, _ := m.count(); asked <= 2 {
						return after(time.Hour, "never")(ctx, req)
					}
					return after(time.Second, "told of "+req.Messages[0].Text)(ctx, req)
				}
				r, err := s.Start(scenestest.Settings{Model: m, Clock: clock})
				if err != nil {
					t.Fatal(err)
				}
				if res := r.Close(); res.Err != nil {
					t.Error(res)
				}
			})
			text, _ := trace(t, s, 0, "agent.turn_ended", "agent.model_answered", "agent.said")
			if n := strings.Count(text, "no answer in time"); n != 3 || !strings.Contains(text, "turn 1 failed") || !strings.Contains(text, `said "told of 1"`) {
				t.Error(text)
			}
			if clock == agenda.Realtime {
				if got := turns(t, s)[:2]; got[0] != "ada@0s" || got[1] != "ada@5s" {
					t.Error(got)
				}
			}
		})
	}
}

// A provider that panics fails the call, not the process.
func TestModelPanics(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, caller+"simulation: {stop: {after: 5s}}"), "")
	m := &slow{answer: func(context.Context, *protocol.ModelRequest) (protocol.ModelAnswer, error) { panic("no model") }}
	r := s.Run(t, scenestest.Settings{Model: m})
	text, _ := trace(t, s, 0, "agent.turn_ended")
	if r.Err != nil || !strings.Contains(text, "model slow: panic: no model") {
		t.Error(r, text)
	}
}

// Answers of a model that takes time give the same digest in any order.
func TestSameDigestWithSlowModel(t *testing.T) {
	p := scenestest.Town(t)
	script, err := scenestest.Model(p, scenestest.New(t, p, "").Def)
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for n := range 3 {
		s := scenestest.New(t, p, "")
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
				time.Sleep(time.Duration(calls.Add(1)*7919%int64(13+n)) * time.Millisecond)
				return script.(llm.Instant).Answer(req)
			}}
			r, err := s.Start(scenestest.Settings{Model: m, Workers: 1 + n})
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, r.Close().Digest())
		})
	}
	if want := scenestest.New(t, p, "").Run(t, scenestest.Settings{}).Digest(); digests[0] != want || digests[1] != want || digests[2] != want {
		t.Errorf("digests %v, of the instant model %s", digests, want)
	}
}

// I5: a deliberation that died with its actor begins again, asks the same, and
// takes the answer that was out already: each question is asked once, each
// answer heard once.
func TestAnswerOutlivesItsActor(t *testing.T) {
	text := strings.Replace(shaky, "interfaceOutputs: {decision: {dataFlowType: OBJECT, required: true}}", "interfaceOutputs: {decision: {dataFlowType: OBJECT}, response: {dataFlowType: STRING}}", 1)
	text = strings.Replace(text, "nodes:\n", "nodes:\n  - {id: ask, type: LLMCompletion, inputValues: {prompt: slow}}\n  - {id: quick, type: LLMCompletion, inputValues: {prompt: quick}}\n", 1)
	text = strings.Replace(text, "edges:\n", "edges:\n  - {source: ask, sourceHandle: text, target: out, targetHandle: response}\n  - {source: quick, sourceHandle: text, target: shaky, targetHandle: after}\n", 1)
	text = strings.Replace(text, "count: 3", "count: 1", 1)
	var shaken atomic.Int64
	p := shakyProject(t, text, func(any) any {
		if shaken.Add(1) == 1 {
			panic("after the model was asked")
		}
		return "ok"
	})
	s := scenestest.New(t, p, "")
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		m := &slow{answer: func(_ context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			if req.Messages[0].Text == "quick" {
				time.Sleep(100 * time.Millisecond)
				return protocol.ModelAnswer{Text: "quick", Finish: protocol.FinishStop}, nil
			}
			n := calls.Add(1)
			time.Sleep(3 * time.Second) // heedless of ctx
			return protocol.ModelAnswer{Text: fmt.Sprint("answer ", n), Finish: protocol.FinishStop}, nil
		}}
		r := live(t, s, scenestest.Settings{Model: m, Stop: &agenda.Stop{After: protocol.Duration(9 * time.Second)}})
		if res := r.Close(); res.Err != nil {
			t.Error(res)
		}
		if n := calls.Load(); n < 2 {
			t.Errorf("%d calls", n)
		}
	})
	if shaken.Load() < 2 {
		t.Error("nothing failed")
	}
	said, _ := trace(t, s, 0, "agent.said")
	for _, answer := range []string{"answer 1", "answer 2"} {
		if strings.Count(said, answer) != 1 {
			t.Error(said)
		}
	}
}

// A realtime scene in which nobody will ever wake again ends by itself.
func TestRealtimeQuiet(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, "agent_instances: [{instance_id: ada, profile_id: person}]\nsimulation: {clock: realtime}"), "")
	synctest.Test(t, func(t *testing.T) {
		if r := live(t, s, scenestest.Settings{Model: &slow{answer: after(time.Second, "")}}).Close(); r.Reason != agenda.StoppedByQuiet || !r.Final {
			t.Error(r)
		}
	})
}

// A model that never answers one agent, whatever its context says, holds up
// nobody else: an urgent event to another is handled at once, also when a
// snapshot is due, for which everybody has to rest. The end does not wait for the
// call's time-out: what is not done ten seconds later never happened.
func TestRealtimeSilentModel(t *testing.T) {
	text := strings.Replace(caller, "{instance_id: hearer, profile_id: person}", "{instance_id: hearer, profile_id: person}, {instance_id: mute, profile_id: person}", 1)
	s := scenestest.New(t, realtimeScene(t, text+"simulation: {clock: realtime, stop: {after: 60s}}"), "")
	synctest.Test(t, func(t *testing.T) {
		silent := make(chan struct{})
		m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			if req.Agent == "mute" {
				<-silent
			}
			a, err := after(100*time.Millisecond, "")(ctx, req)
			if req.Agent == "caller" {
				a.Calls = []protocol.Call{{ID: "c", Tool: "PublishEventTool", Params: map[string]any{"type": "talk.x", "priority": "critical", "target_agent_instance_id": "hearer"}}}
			}
			return a, err
		}}
		began := time.Now()
		res := live(t, s, scenestest.Settings{Model: m, Snapshots: 40}).Close()
		if took := time.Since(began); res.Err != nil || res.Reason != agenda.StoppedByTime || took < 70*time.Second || took > 71*time.Second {
			t.Error(res, took)
		}
		close(silent)
	})
	heard, last := 0, time.Duration(0)
	for _, turn := range turns(t, s) {
		at, ok := strings.CutPrefix(turn, "hearer@")
		if !ok {
			continue
		}
		d, err := time.ParseDuration(at)
		if err != nil {
			t.Fatal(err)
		}
		if d < time.Minute && d-last > 8*time.Second { // it hears every two seconds, a snapshot waits for five
			t.Errorf("the hearer was not woken between %v and %v", last, d)
		}
		heard, last = heard+1, d
	}
	if heard < 15 || last < 55*time.Second {
		t.Errorf("the hearer deliberated %d times, at last after %v", heard, last)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}
