package scenes_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/llm"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/scenestest"
)

// slow is a model that is not Instant: it takes its time on the clock.
type slow struct {
	answer func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error)
	mu     sync.Mutex
	asked  []string
	open   int
}

func (s *slow) Name() string { return "slow" }
func (s *slow) Close() error { return nil }
func (s *slow) Complete(ctx context.Context, req *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req.Agent)
	s.open++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()
	return s.answer(ctx, req)
}

// count says how many calls were made and have not returned, once those that are
// being cancelled have: a scene does not wait for a model that heeds no context.
func (s *slow) count() (asked, open int) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked), s.open
}

// after answers with a text when so much time has passed, or as the context ends.
func after(d time.Duration, text string) func(context.Context, *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	return func(ctx context.Context, _ *protocol.ModelRequest) (protocol.ModelAnswer, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return protocol.ModelAnswer{Text: text, Finish: protocol.FinishStop}, nil
		case <-ctx.Done():
			return protocol.ModelAnswer{}, llm.Stopped(ctx, "slow")
		}
	}
}

// realtimeScene is a scene on the wall clock, which the bubble makes a fake one.
func realtimeScene(t testing.TB, scene string) *project.Project {
	t.Helper()
	text := "-- scenes/s.yaml --\nid: s\nname: S\nschema_version: \"1.0\"\n" + scene + `
-- workflows/note.yaml --
interfaceInputs: {now: {dataFlowType: STRING}}
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes: [{id: in, type: GroupInput}, {id: c, type: Expression, configValues: {type: OBJECT, expression: "({world: {path: 'log', op: 'push', value: now}})"}}, {id: out, type: GroupOutput}]
edges: [{source: in, sourceHandle: now, target: c, targetHandle: now}, {source: c, sourceHandle: value, target: out, targetHandle: decision}]
-- models/voices.yaml --
rules:
  - match: {events: talk.*}
    answer: "Heard."
  - match: {agent: caller, variables: {turn: 2}}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.x}}]}
otherwise: {text: ""}
`
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// live starts a realtime scene in a bubble.
func live(t *testing.T, s *scenestest.Scene, set scenestest.Settings) *scenestest.Running {
	t.Helper()
	set.Clock, set.Workers = agenda.Realtime, 2
	r, err := s.Start(set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// turns lists when agents deliberated: "agent@seconds" since the scene began.
func turns(t testing.TB, s *scenestest.Scene) (list []string) {
	t.Helper()
	var begun protocol.Time
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(r protocol.Record) error {
			switch r.Kind {
			case agenda.FactStarted:
				begun = r.Time
			case "agent.turn_ended":
				list = append(list, r.Actor+"@"+r.Time.Sub(begun).Round(time.Millisecond).String())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	// Who is first within a moment is a matter of luck.
	slices.SortStableFunc(list, func(a, b string) int {
		x, y := strings.Split(a, "@"), strings.Split(b, "@")
		d, _ := time.ParseDuration(x[1])
		e, _ := time.ParseDuration(y[1])
		return cmp.Or(cmp.Compare(d, e), cmp.Compare(x[0], y[0]))
	})
	return list
}

const caller = `agent_instances: [{instance_id: caller, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 0.5}}, {instance_id: hearer, profile_id: person}]
initial_world_state: {log: []}
`

// §2.3.2: on the realtime clock agents wake at their frequency and at once when
// an event comes; the scene ends at its time.
func TestRealtimeFrequencyAndEvents(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, caller+"simulation: {clock: realtime, stop: {after: 5s}}"), "")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := live(t, s, scenestest.Settings{}).Close()
		if r.Err != nil || r.Reason != agenda.StoppedByTime || time.Since(began).Round(time.Millisecond) != 5*time.Second {
			t.Error(r, time.Since(began))
		}
	})
	got := strings.Join(turns(t, s), " ")
	// Turn 2 of the caller says something that both hear at once.
	if want := "caller@0s hearer@0s caller@2s caller@2s hearer@2s caller@4s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// An agent that hears something while it thinks is woken again when it is done;
// meanwhile the scene goes on.
func TestRealtimeBusyAgentHears(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, caller+"simulation: {clock: realtime, stop: {after: 18s}}"), "") // with the hearer in the middle of a thought
	synctest.Test(t, func(t *testing.T) {
		m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			if req.Agent == "caller" { // every two seconds it says something
				a, err := after(100*time.Millisecond, "")(ctx, req)
				a.Calls = []protocol.Call{{ID: "c", Tool: "PublishEventTool", Params: map[string]any{"type": "talk.x", "target_agent_instance_id": "hearer"}}}
				return a, err
			}
			return after(5*time.Second, "")(ctx, req)
		}}
		if r := live(t, s, scenestest.Settings{Model: m}).Close(); r.Err != nil || r.Reason != agenda.StoppedByTime {
			t.Error(r)
		}
		if _, open := m.count(); open != 0 {
			t.Errorf("%d calls are still out", open)
		}
	})
	var hearer []string
	for _, turn := range turns(t, s) {
		if strings.HasPrefix(turn, "hearer") {
			hearer = append(hearer, turn)
		}
	}
	if got, want := strings.Join(hearer, " "), "hearer@0s hearer@5s hearer@10s hearer@15s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// Lifecycle (§3.1.1): a pause lets deliberations finish, keeps everything, runs
// its workflow, and then nothing happens until the scene is resumed.
func TestRealtimePauseAndResume(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, caller+`scene_lifecycle_workflows: {on_scene_start: note, on_scene_pause: note, on_scene_resume: note, on_scene_end: note}
simulation: {clock: realtime, stop: {after: 60s}}`), "")
	synctest.Test(t, func(t *testing.T) {
		var kept atomic.Uint64
		m := &slow{answer: after(3*time.Second, "well")}
		r := live(t, s, scenestest.Settings{Model: m, Kept: func(w persistence.Wave) { kept.Store(w.Number) }})
		time.Sleep(time.Second)
		began := time.Now()
		r.Pause()
		if !r.WaitPaused(t.Context()) {
			t.Fatal("not paused")
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the pause came after %v; want when the deliberations ended", took)
		}
		asked, open := m.count()
		if asked != 2 || open != 0 {
			t.Errorf("asked %d, open %d", asked, open)
		}
		waves := uint64(r.Progress.Waves.Load())
		if kept.Load() != waves {
			t.Errorf("wave %d of %d is durable", kept.Load(), waves)
		}
		time.Sleep(30 * time.Second)
		if again, _ := m.count(); again != asked || uint64(r.Progress.Waves.Load()) != waves {
			t.Error("something happened in the pause")
		}
		r.Resume()
		time.Sleep(10 * time.Second)
		if again, _ := m.count(); again == asked {
			t.Error("nothing happened after the pause")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r.WaitPaused(ctx) {
			t.Error("it says that it is paused")
		}
		r.Terminate()
		if res := r.Close(); res.Err != nil || !res.Final || res.Reason != agenda.StoppedByRequest {
			t.Error(res)
		}
	})
	text, _ := trace(t, s, 0, "scene.started", "scene.paused", "scene.resumed", "scene.ended", "world.committed")
	var story []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); strings.HasPrefix(line, "  ") {
			story = append(story, words[1])
		}
	}
	if got, want := strings.Join(story, " "), "started version version paused version resumed version ended"; got != want {
		t.Errorf("got %s\n%s", got, text)
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
}

// A scene that was paused when its process died goes on when it is resumed.
func TestResumedAfterPause(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, caller+"simulation: {clock: realtime, stop: {after: 30s}}"), "")
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{})
		r.Pause()
		r.Pause()
		if !r.WaitPaused(t.Context()) {
			t.Fatal("not paused")
		}
		r.Interrupt()
		if res := r.Close(); res.Final || res.Reason != agenda.StoppedByInterrupt {
			t.Fatal(res)
		}
		r = live(t, s, scenestest.Settings{})
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByTime {
			t.Error(res)
		}
	})
	if !has(t, s, "scene.resumed") {
		t.Error("no fact of the resumption")
	}
}

// A pause that is taken back before it began leaves nothing behind.
func TestPauseTakenBack(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, caller+"simulation: {clock: realtime, stop: {after: 9s}}"), "")
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: &slow{answer: after(3*time.Second, "")}})
		time.Sleep(time.Second)
		r.Pause()
		r.Resume()
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByTime {
			t.Error(res)
		}
	})
	if has(t, s, "scene.paused") {
		t.Error("it paused")
	}
}

// An interrupt does not wait for models: their calls are cancelled, nothing of
// the deliberations is kept, and they begin again when the run is resumed.
func TestRealtimeInterruptCancelsCalls(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, caller+"simulation: {clock: realtime, stop: {after: 30h}}"), "")
	synctest.Test(t, func(t *testing.T) {
		m := &slow{answer: after(10*time.Hour, "at last")}
		r := live(t, s, scenestest.Settings{Model: m, Snapshots: 1})
		time.Sleep(time.Minute)
		began := time.Now()
		r.Interrupt()
		res := r.Close()
		if res.Err != nil || res.Final || res.Reason != agenda.StoppedByInterrupt || time.Since(began) > time.Second {
			t.Error(res, time.Since(began))
		}
		if asked, open := m.count(); asked != 2 || open != 0 {
			t.Errorf("asked %d, open %d", asked, open)
		}
	})
	if has(t, s, "agent.turn_ended") {
		t.Error("a deliberation that was interrupted left a fact")
	}
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	mustVerify(t, s, scenestest.Settings{Clock: agenda.Realtime})
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: &slow{answer: after(time.Second, "")}})
		time.Sleep(5 * time.Second)
		r.Terminate()
		r.Close()
	})
	if got := turns(t, s); len(got) < 2 || got[0] != "caller@0s" && !strings.HasPrefix(got[0], "caller@") {
		t.Error(got)
	}
}
