package scenes_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// A turn that failed has used its number, on the virtual clock too: who comes in the place of its agent has the next,
// and asks models itself.
func TestTurnsBehindOneThatFailed(t *testing.T) {
	var shakes, asked atomic.Int64
	text := strings.NewReplacer(
		`{instance_id: "a_{n}", profile_id: shaky, count: 3}`, `{instance_id: host, profile_id: shaky}
  - {instance_id: "a_{n}", profile_id: shaky, count: 2, spawnable: true}`,
		"restart_backoff: 2s", "restart_backoff: 30s",
		"  - {id: shaky, type: \"test:Shaky\"}", "  - {id: m, type: LLMCompletion, inputValues: {prompt: hello}}\n  - {id: shaky, type: \"test:Shaky\"}",
		"  - {source: in, sourceHandle: self, target: shaky, targetHandle: in}", "  - {source: m, sourceHandle: text, target: shaky, targetHandle: in}",
	).Replace(shaky)
	p := shakyProject(t, text, func(in any) any {
		if strings.Contains(fmt.Sprint(in), "a_1") && shakes.Add(1) == 2 {
			panic("falls")
		}
		return "ok"
	})
	m := &slow{answer: func(_ context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		if req.Agent == "a_1" {
			asked.Add(1)
		}
		return protocol.ModelAnswer{Text: req.Agent}, nil
	}}
	order := func(id string, at time.Duration, do map[string]any) *machines.Order {
		return &machines.Order{Intervened: doing(id, do), After: at}
	}
	come, leave := map[string]any{"spawn": map[string]any{"agent": "a_1"}}, map[string]any{"remove": map[string]any{"agents": "a_1"}}
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{Workers: 2, Model: m, Orders: []*machines.Order{order("a", time.Second, come), order("b", 5*time.Second, leave), order("c", 7*time.Second, come)}}
	if r := s.Run(t, set); r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	var facts []string
	turns := int64(0)
	s.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
		switch x := fact.(type) {
		case *agenda.Spawned:
			facts = append(facts, fmt.Sprint("spawned ", x.Turns))
		case *agenda.Removed:
			facts = append(facts, "removed")
		case *agenda.AgentFailed:
			facts = append(facts, "failed")
		case *agentfact.TurnEnded:
			if x.Agent == 1 && turns < 3 {
				facts = append(facts, fmt.Sprint("turn ", x.Turn))
			}
			if x.Agent == 1 {
				turns++
			}
		}
	})
	if got, want := strings.Join(facts, ", "), "spawned 0, turn 1, failed, removed, spawned 2, turn 3, turn 4"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := asked.Load(); n != turns+1 {
		t.Errorf("a model was asked %d times in %d turns and one that failed", n, turns)
	}
	mustRestore(t, s, set)
	mustVerify(t, s, set)
}
