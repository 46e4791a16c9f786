package verify_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/statecmd"
	"tavernsim/llm"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// musing is a model that answers some agents late.
type musing struct {
	llm.Provider
	after map[string]time.Duration
}

func (m musing) Complete(ctx context.Context, q *protocol.ModelRequest, to llm.Sink) (protocol.ModelAnswer, error) {
	if after := m.after[q.Agent]; after > 0 {
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return protocol.ModelAnswer{}, context.Cause(ctx)
		}
	}
	return m.Provider.Complete(ctx, q, to)
}

// Promise 2: an interrupted turn asks for nothing. If it is lost, which it is where an observation waited, what the services
// make of its wave is decided again all the same: a changed event of the wave is found.
func TestALostTurnThatWasInterrupted(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(`-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
subscribed_event_types: [talk.*]
world_write_permissions: {allow: [nothing]}
tool_ids_inventory: [PublishEventTool, RequestWorldStateUpdateTool]
custom_runtime_config: {max_inbox: 600, max_observations: 500}
-- scenes/s.yaml --
id: s
name: Chat
schema_version: "1.0"
agent_instances:
  - {instance_id: guest, profile_id: person, custom_runtime_config: {interrupt: {by: high, then: drop}}}
  - {instance_id: "a_{n}", profile_id: person, count: 4}
  - {instance_id: crier, profile_id: person, custom_runtime_config: {subscribed_event_types: [], deliberation_frequency_hz: 7}}
-- models/voices.yaml --
rules:
  - match: {agent: guest}
    answer: {calls: [{tool: RequestWorldStateUpdateTool, params: {commands: [{action: set, key: world.something, value: 1}]}}]}
  - match: {agent: crier}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.x, priority: high}}]}
otherwise: {calls: [{tool: PublishEventTool, params: {type: talk.x}}]}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	script, err := scenestest.Model(p, s.Def)
	if err != nil {
		t.Fatal(err)
	}
	late := map[string]time.Duration{"guest": 35 * time.Millisecond}
	for i := range 4 {
		late[fmt.Sprint("a_", i+1)] = 13 * time.Millisecond
	}
	set := scenestest.Settings{
		Clock: agenda.Realtime, Workers: 2, Stop: &agenda.Stop{After: protocol.Duration(4 * time.Second)}, Model: musing{script, late},
		Closing: func() { <-time.After(10 * time.Millisecond) }, // what ends meanwhile is one wave
	}
	synctest.Test(t, func(t *testing.T) {
		if r := s.Run(t, set); r.Err != nil {
			t.Fatal(r.Err)
		}
	})
	// The first interrupted turn with an observation in whose wave the channel decides something, and what that is.
	observed, interrupted, routed := false, false, uint64(0)
	var seq, wave uint64
	s.Facts(t, func(r protocol.Record, f protocol.Fact) {
		switch x := f.(type) {
		case *agenda.WaveClosed:
			if interrupted && routed > 0 && seq == 0 {
				seq, wave = routed, x.Wave
			}
			interrupted, routed = false, 0
		case *statecmd.Committed:
			observed = true
		case *bus.Routed:
			routed = r.Seq
		case *agentfact.TurnEnded:
			if x.Agent == 0 { // the guest; what it observed stays only behind an interrupted turn
				observed = observed && x.Outcome == agentfact.OutcomeInterrupted
				interrupted = observed
			}
		}
	})
	r := run(t, s, set, 2)
	if r.Difference != nil || r.Taken[verify.TakenLost] == 0 || seq == 0 {
		t.Fatalf("taken %v, wave %d, difference %+v", r.Taken, wave, r.Difference)
	}
	changed := rewritten(t, s, func(r *protocol.Record) bool { return r.Seq == seq }, func(f protocol.Fact) { f.(*bus.Routed).Type = "talk.y" })
	if d := run(t, changed, set, 2).Difference; d == nil || d.Seq != seq {
		t.Errorf("an event was changed in wave %d, beside a lost turn that asked for nothing: %+v", wave, d)
	}
}
