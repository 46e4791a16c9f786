package scenes_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
	"tavernsim/scenes/scenestest"
)

// alarmAfter answers after a time and publishes something critical.
func alarmAfter(d time.Duration) func(context.Context, *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	return func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		a, err := after(d, "")(ctx, req)
		a.Calls = []protocol.Call{{ID: "c", Tool: "PublishEventTool", Params: map[string]any{"type": "talk.x", "priority": "critical"}}}
		return a, err
	}
}

// A scene that ends without a deliberation that takes too long runs its end
// workflow to its end, also when that deliberation ends meanwhile, with an alarm.
func TestAlarmDuringTheEndWorkflow(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, `agent_instances: [{instance_id: late, profile_id: person}]
scene_lifecycle_workflows: {on_scene_end: muse}
simulation: {clock: realtime, stop: {after: 60s}}
-- workflows/muse.yaml --
interfaceInputs: {now: {dataFlowType: STRING}}
interfaceOutputs: {response: {dataFlowType: STRING}}
nodes: [{id: model, type: LLMCompletion, inputValues: {prompt: "How was it?"}}, {id: out, type: GroupOutput}]
edges: [{source: model, sourceHandle: text, target: out, targetHandle: response}]`), "")
	m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		if req.Agent == "late" {
			return alarmAfter(12*time.Second)(ctx, req)
		}
		return after(5*time.Second, "well")(ctx, req)
	}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := live(t, s, scenestest.Settings{Model: m})
		r.Terminate()
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByRequest || time.Since(began) > 16*time.Second {
			t.Error(res, time.Since(began))
		}
	})
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// The end of a scene waits ten seconds for who deliberates, also when a snapshot
// waited for them already.
func TestEndWhileASnapshotWaits(t *testing.T) {
	for _, asked := range []time.Duration{2 * time.Second, 4 * time.Second} {
		s := scenestest.New(t, realtimeScene(t, caller+"simulation: {clock: realtime, stop: {after: 90s}}"), "")
		m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			if req.Agent == "hearer" {
				return after(60*time.Second, "")(ctx, req)
			}
			return after(time.Second, "")(ctx, req)
		}}
		synctest.Test(t, func(t *testing.T) {
			r := live(t, s, scenestest.Settings{Model: m, Snapshots: 1})
			<-time.After(asked)
			began := time.Now()
			r.Terminate()
			if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByRequest || time.Since(began) != 10*time.Second {
				t.Error(res, time.Since(began))
			}
		})
	}
}

// An order whose time has passed is a fact when it has its receipt. While a scene ends, which may take ten seconds, it
// refuses every order, and keeps none.
func TestOrdersWhileTheSceneEnds(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, caller+"simulation: {clock: realtime, stop: {after: 6s}}"), "")
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: &slow{answer: after(12*time.Second, "")}})
		kept := 0
		plan := func(id string, wave uint64, after time.Duration) (receipts.Receipt, error) {
			return r.Run.Plan(t.Context(), &machines.Order{Intervened: plusOne(id), Wave: wave, After: after}, func() error { kept++; return nil })
		}
		<-time.After(4500 * time.Millisecond)
		if got, err := plan("passed", 0, 4400*time.Millisecond); err != nil || got.Wave == 0 || got.Planned {
			t.Errorf("for a time that has passed: %+v, %v", got, err)
		}
		if got, err := plan("later", 0, time.Hour); err != nil || !got.Planned {
			t.Errorf("for a later time: %+v, %v", got, err)
		}
		<-time.After(2500 * time.Millisecond) // the scene waits for both agents
		for id, o := range map[string]machines.Order{"a": {After: 2 * time.Second}, "b": {After: 6900 * time.Millisecond}, "c": {After: time.Minute}, "d": {Wave: 1000}} {
			if got, err := plan(id, o.Wave, o.After); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "is ending") {
				t.Errorf("while the scene ends, for wave %d and %v: %+v, %v", o.Wave, o.After, got, err)
			}
		}
		if got, err := r.Run.Order(t.Context(), plusOne("e")); protocol.KindOf(err) != protocol.KindConflict || r.Run.Stopped() {
			t.Errorf("while the scene ends: %+v, %v", got, err)
		}
		if got, err := plan("passed", 0, time.Second); err != nil || got.Wave == 0 {
			t.Errorf("given again: %+v, %v", got, err)
		}
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByTime || kept != 1 {
			t.Error(res, kept)
		}
	})
	if list := given(t, s); len(list) != 1 {
		t.Errorf("%d orders are facts", len(list))
	}
}

// What a script asks for when it comes to its outcome is in the last wave, on the realtime clock too, and is
// decided again.
func TestAScriptEndsInRealtime(t *testing.T) {
	a, err := txtar.ParseFile("testdata/script/script.txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), a), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, set := scenestest.New(t, p, ""), scenestest.Settings{Clock: agenda.Realtime, Workers: 2, Stop: &agenda.Stop{After: protocol.Duration(time.Minute)}}
	synctest.Test(t, func(t *testing.T) {
		set := set
		set.Orders = ordersOf(t, a, "orders.yaml", "")
		if r := s.Run(t, set); r.Err != nil || r.Reason != agenda.StoppedByOutcome {
			t.Error(r)
		}
	})
	text, _ := trace(t, s, 0, "scene.ended", "event.routed")
	if last := text[strings.LastIndex(text, "wave "):]; !strings.Contains(last, "debate.closed") || !strings.Contains(last, "ended by outcome") {
		t.Errorf("nothing is tested: %s", text)
	}
	mustRestore(t, s, set)
	mustVerify(t, s, set)
}
