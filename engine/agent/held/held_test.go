package held

import (
	"fmt"
	"testing"
	"time"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/block"
	"tavernsim/engine/agent/outbox"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// Promises 1 and 2: a block of three steps, of which the last two are held and go on.
func TestSteps(t *testing.T) {
	out := outbox.Box{Agent: "a", Turn: 1}
	var s Steps
	task := protocol.Call{ID: "1.1", Tool: "Make", Block: 1, Index: 1, Origin: protocol.OriginTAM}
	s.Promise(&task, map[string]any{"output": "file:x", "outputs": int64(1), "other": "file:y"}, "a/1.1")
	if !s.MayWait(1) || s.MayWait(0) {
		t.Error("steps of the block, and no others, may wait")
	}
	step := protocol.Call{ID: "1.2", Tool: "Read", Block: 1, Index: 2, After: "1", RequestID: "r", Origin: protocol.OriginTAM, Params: map[string]any{"path": "file:x", "text": "@{step_1.status}"}}
	uri, by := s.Early(1, step.Params, &tooltask.State{}, "a/1.")
	if none, _ := s.Early(1, step.Params, &tooltask.State{}, "b/1."); none != "" || uri != "file:x" || fmt.Sprint(by) != "[a/1.1]" {
		t.Error(none, uri, by)
	}
	if s.MayHold(1, MaxHeld) || !s.MayHold(1, MaxHeld-1) {
		t.Error("the bound of held blocks")
	}
	s.Begin(&step, "r", "body")
	results := []block.Result{{Block: 1, Index: 1, Status: protocol.CallRequested, Output: "a/1.1"}, {Block: 2, Index: 1}}
	if waits := s.Hold(&step, time.Second, 1, by, results, &out); waits != "a/1.1" || !s.Holds(1) {
		t.Error(waits)
	}
	last := protocol.Call{ID: "1.3", Tool: "Tell", Block: 1, Index: 3, After: "1, 2", Origin: protocol.OriginTAM, Params: map[string]any{"text": "@{step_1.status} @{step_2.status}"}}
	s.Hold(&last, 0, 2, nil, results, &out)
	facts := s.Facts(40)
	h := facts[0].(*agentfact.StepsHeld).Held
	if len(facts) != 1 || len(h.Steps) != 2 || len(h.Outcomes) != 1 || h.Until != 40 || h.Request != "r" {
		t.Fatalf("%+v", h)
	}
	tasks := &tooltask.State{Past: []tooltask.Past{{ID: "a/1.1", Status: "failed"}}}
	for _, c := range []struct {
		tasks    *tooltask.State
		now      protocol.Time
		on, late bool
	}{{&tooltask.State{}, 39, false, false}, {&tooltask.State{}, 40, true, true}, {tasks, 39, true, false}} {
		if on, late := GoOn(&h, c.tasks, c.now); on != c.on || late != c.late {
			t.Errorf("%+v: %v, %v", c, on, late)
		}
	}
	var next Steps
	var known block.Results
	calls := next.Resume(&h, 5, 3, true, tasks, &known)
	if len(calls) != 2 || calls[0].After != block.None || calls[1].After != "2" || calls[1].Block != 5 || calls[0].RequestID != "" || len(known.List()) != 1 {
		t.Errorf("%+v, %v", calls, known)
	}
	r := next.At(3)
	if place, ok := next.Place(5, 4); r == nil || !r.Stop || fmt.Sprint(r.Places()) != "[1 2]" || place != 2 || !ok || next.MayHold(5, 0) || next.At(4) != nil {
		t.Errorf("%+v, %d", r, place)
	}
}
