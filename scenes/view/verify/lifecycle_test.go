package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/script"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// moments is a realtime scene whose lifecycle workflows each write another word into the log of the world.
func moments(t *testing.T, script string) *scenestest.Scene {
	t.Helper()
	text := `-- scenes/s.yaml --
id: s
name: Moments
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: person}]
initial_world_state: {log: []}
simulation: {clock: realtime, stop: {after: 60s}}
scene_lifecycle_workflows: {on_scene_start: start, on_scene_pause: pause, on_scene_resume: resume, on_scene_end: end}
` + script + `-- models/voices.yaml --
otherwise: {text: ""}
`
	for _, word := range []string{"start", "pause", "resume", "end"} {
		text += "-- workflows/" + word + ".yaml --\n" +
			"interfaceOutputs: {decision: {dataFlowType: OBJECT}}\n" +
			"nodes: [{id: c, type: Constant, configValues: {value: {world: {path: log, op: push, value: " + word + "}}}}, {id: out, type: GroupOutput}]\n" +
			"edges: [{source: c, sourceHandle: value, target: out, targetHandle: decision}]\n"
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// momentsVerify holds that the history has facts of these kinds, in this order, that they wrote this log into the world,
// and that the machines decide the same facts again. The fact of a pause, a resume or an end stands behind what its
// workflow did.
func momentsVerify(t *testing.T, s *scenestest.Scene, want, log string) {
	t.Helper()
	var story []string
	s.Facts(t, func(r protocol.Record, _ protocol.Fact) {
		story = append(story, strings.TrimPrefix(r.Kind, "scene."))
	}, agenda.FactStarted, agenda.FactPaused, agenda.FactResumed, agenda.FactDeferred, script.FactOutcome, agenda.FactEnded, world.FactCommitted)
	if got := strings.Join(story, " "); got != want {
		t.Fatalf("the history has %s, want %s", got, want)
	}
	set := scenestest.Settings{Clock: agenda.Realtime}
	if got := fmt.Sprint(s.Fold(t, set).Shown().World().Value()["log"]); got != log {
		t.Fatalf("the log has %s, want %s", got, log)
	}
	r, state := runTo(t, s, set, 2)
	if r.Difference != nil {
		t.Fatalf("%+v\nrecorded %+v\ndecided  %+v", r.Difference, r.Difference.Recorded, r.Difference.Decided)
	}
	if r.Verified+r.Taken[verify.TakenOutside] != r.Facts {
		t.Errorf("%+v", r)
	}
	if got, _ := state.Hash(); got != s.FoldHash(t, set) {
		t.Error("the walk ends in another state than the fold")
	}
}

// rests pauses a scene for a second, and lets it go on for another.
func rests(t *testing.T, r *scenestest.Running) {
	t.Helper()
	r.Pause()
	if !r.WaitPaused(t.Context()) {
		t.Error("not paused")
	}
	<-time.After(time.Second)
	r.Resume()
	<-time.After(time.Second)
}

// Each moment of a scene has its own workflow, on the realtime clock too.
func TestEachMomentHasItsWorkflowInRealtime(t *testing.T) {
	s := moments(t, "")
	synctest.Test(t, func(t *testing.T) {
		r, err := s.Start(scenestest.Settings{Clock: agenda.Realtime, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		rests(t, r)
		r.Terminate()
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByRequest {
			t.Error(res)
		}
	})
	momentsVerify(t, s, "started world.committed world.committed paused world.committed resumed world.committed ended", "[start pause resume end]")
}

// The last wave of a scene that its script ends has what the script asked for together with the outcome.
func TestTheOutcomeTakesWhatWasDeferredInRealtime(t *testing.T) {
	s := moments(t, `script:
  states:
    - {id: open, transitions: [{to: closed, after: 1s}]}
    - {id: closed, on_enter: [{world: {path: log, op: push, value: closed}}, {end: {outcome: done}}]}
`)
	synctest.Test(t, func(t *testing.T) {
		if r := s.Run(t, scenestest.Settings{Clock: agenda.Realtime, Workers: 2}); r.Err != nil || r.Reason != agenda.StoppedByOutcome {
			t.Error(r)
		}
	})
	momentsVerify(t, s, "started world.committed outcome effects_deferred world.committed ended", "[start closed end]")
}

// What a scene deferred joins the wave of a pause or of a resume if it is due by then, and not the end that somebody
// outside asked for. The script defers a change of the world that is due a nanosecond later; the next wave would take it
// a millisecond later, if nobody asked for anything before.
func TestWhatWasDeferredMeetsAMomentInRealtime(t *testing.T) {
	const deferring = `script:
  states:
    - {id: open, transitions: [{to: closed, after: 1s}]}
    - {id: closed, on_enter: [{world: {path: log, op: push, value: closed}}]}
`
	const before, between = 0, 500 * time.Microsecond // it is due
	for _, c := range []struct {
		name      string
		later     time.Duration // than the wave that deferred it
		pause     bool          // else the scene ends
		want, log string
	}{
		{"pause", between, true, "started world.committed effects_deferred world.committed paused world.committed resumed world.committed ended", "[start closed pause resume end]"},
		{"resume", before, true, "started world.committed effects_deferred world.committed paused world.committed resumed world.committed ended", "[start pause closed resume end]"},
		{"end", between, false, "started world.committed effects_deferred world.committed ended", "[start end]"},
		{"no moment", time.Second, false, "started world.committed effects_deferred world.committed world.committed ended", "[start closed end]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moments(t, deferring)
			synctest.Test(t, func(t *testing.T) {
				began, deferred := time.Now(), make(chan struct{}, 100)
				r, err := s.Start(scenestest.Settings{Clock: agenda.Realtime, Workers: 2, Kept: func(persistence.Wave) {
					if time.Since(began) >= time.Second {
						deferred <- struct{}{}
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				<-deferred
				<-time.After(c.later)
				if c.pause {
					rests(t, r)
				}
				r.Terminate()
				if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByRequest {
					t.Error(res)
				}
			})
			momentsVerify(t, s, c.want, c.log)
		})
	}
}

// A value of the world expires on the realtime clock, too, in a wave in which nobody has a turn.
func TestExpiriesInRealtime(t *testing.T) {
	const text = `-- scenes/s.yaml --
id: s
name: Rain
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: person}]
simulation: {clock: realtime, stop: {after: 10s}}
-- models/voices.yaml --
rules:
  - match: {variables: {turn: 1}}
    answer: {calls: [{tool: RequestWorldStateUpdateTool, params: {commands: {set: [{key: world.rain, value: true, options: {ttl: 5}}]}}}]}
otherwise: {text: ""}
`
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, set := scenestest.New(t, p, ""), scenestest.Settings{Clock: agenda.Realtime, Until: "world.rain === undefined && scene.deliberations > 0 && scene.elapsed_seconds > 1"}
	synctest.Test(t, func(t *testing.T) {
		if r := s.Run(t, set); r.Err != nil || r.Reason != agenda.StoppedByCondition {
			t.Error(r)
		}
	})
	if r := run(t, s, set, 1); r.Difference != nil || r.Verified+r.Taken[verify.TakenOutside] != r.Facts {
		t.Errorf("%+v, %+v", r, r.Difference)
	}
}
