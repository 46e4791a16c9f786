package scenes_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/llm"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// crowdedRoom is a scene in which a crowd hears a bomb and everybody answers to
// everybody; four of them raise an alarm, for a watch that heard nothing and the
// last of the crowd, which has everything else to do.
const crowdedRoom = `
-- agent_profiles/echo.yaml --
id: echo
name: Echo
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
tool_ids_inventory: [PublishEventTool, SleepTool]
custom_runtime_config: {wake_on_start: false, max_inbox: 8}
-- scenes/s.yaml --
id: s
name: Crowd
schema_version: "1.0"
agent_instances:
  - {instance_id: bomber, profile_id: echo, custom_runtime_config: {wake_on_start: true}}
  - {profile_id: echo, instance_id: "c_{n}", count: 3000, custom_runtime_config: {subscribed_event_types: [bomb, answer]}}
  - {instance_id: last, profile_id: echo, custom_runtime_config: {subscribed_event_types: [alarm, bomb, answer]}}
  - {instance_id: watch, profile_id: echo, custom_runtime_config: {subscribed_event_types: [alarm]}}
simulation: {limits: {max_deliveries_in_wave: 15000}}
-- models/voices.yaml --
rules:
  - match: {agent: bomber, variables: {turn: 1}}
    answer: {calls: [{tool: PublishEventTool, params: {type: bomb}}]}
  - match: {agent: [c_1, c_300, c_1500, c_2999], variables: {turn: 1}}
    answer: {calls: [{tool: PublishEventTool, params: {type: alarm, priority: critical}}]}
  - match: {events: bomb}
    answer: {calls: [{tool: PublishEventTool, params: {type: answer}}]}
otherwise: {text: ""}
`

func crowdScene(t *testing.T, change ...string) *scenestest.Scene {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.NewReplacer(change...).Replace(crowdedRoom)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// Promise 8: a critical event overtakes a crowd that has work to do: agents that are ready
// to run (realtime), those that are due in the same wave (virtual). However the
// operating system shares the processors out among the workers.
func TestAlarmInACrowd(t *testing.T) {
	workers, smaller := []int{1, 2, 4}, []string(nil)
	if !scenestest.Long() {
		workers, smaller = workers[2:], []string{"count: 3000", "count: 600", "[c_1, c_300, c_1500, c_2999]", "[c_1, c_300, c_500, c_599]"}
	}
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		for _, workers := range workers {
			t.Run(fmt.Sprint(clock, workers), func(t *testing.T) {
				s := crowdScene(t, smaller...)
				e := newEar(t, s)
				synctest.Test(t, func(t *testing.T) {
					if r := s.Run(t, scenestest.Settings{Model: e, Clock: clock, Workers: workers}); r.Err != nil {
						t.Error(r)
					}
				})
				e.mustHandle(t, s, clock, 4)
			})
		}
	}
}

// A critical event overtakes calls that wait for a slow model, also when the
// receiver has a call that waits among them, or is out and may be interrupted. A call takes its time beside others,
// so what is counted are those that began between the end of the call that raised
// the alarm and the call in which it is perceived.
func TestAlarmBeforeSlowCalls(t *testing.T) {
	s := crowdScene(t, "count: 3000", "count: 200", "[c_1, c_300, c_1500, c_2999]", "c_1", "instance_id: last, profile_id: echo, custom_runtime_config: {", "instance_id: last, profile_id: echo, custom_runtime_config: {interrupt: {by: critical}, ")
	e := newEar(t, s)
	var mu sync.Mutex
	began, raised, late := 0, 0, 0
	waited, alarmed := map[string]int{}, map[string]bool{} // who was asked about the alarm, and who was last
	synctest.Test(t, func(t *testing.T) {
		m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			mu.Lock()
			began++
			if alarmed[req.Agent] = slices.Contains(req.Events, "alarm"); alarmed[req.Agent] {
				waited[req.Agent] = began - raised - 1
			}
			mu.Unlock()
			wait := time.Second
			if req.Agent == "c_1" {
				wait /= 2 // while the others wait
			}
			if _, err := after(wait, "")(ctx, req); err != nil {
				return protocol.ModelAnswer{}, err
			}
			if req.Agent == "c_1" && raised == 0 {
				mu.Lock()
				raised = began
				mu.Unlock()
			}
			return e.Answer(req)
		}}
		r, err := s.StartWith(scenestest.Settings{Model: m, Clock: agenda.Realtime, Workers: 2}, scenes.InFront(func(agent string, env *protocol.Envelope) {
			mu.Lock()
			if urgent := env.Priority == protocol.Critical; env.Kind == protocol.KindAnswer && (alarmed[agent] && !urgent || strings.HasPrefix(agent, "c_") && urgent) {
				late++
			}
			mu.Unlock()
		}))
		if err != nil {
			t.Fatal(err)
		}
		if r := r.Close(); r.Err != nil {
			t.Error(r)
		}
	})
	if late > 0 {
		t.Errorf("%d answers of a model that do not go on before others, or do without need", late)
	}
	t.Logf("other calls that began first: %v", waited)
	if raised == 0 || len(waited) != 2 || waited["watch"] > 100 || waited["last"] > 100 {
		t.Errorf("the alarm was raised after %d calls; others that began before it was perceived: %v, want at most 100", raised, waited)
	}
}

// ear is the project's model, and keeps which events every deliberation
// perceives, in the order in which the agent is shown them.
type ear struct {
	llm.Instant
	mu    sync.Mutex
	turns map[turnKey][]string // ids of events
}

type turnKey struct {
	agent string
	turn  uint64
}

func newEar(t testing.TB, s *scenestest.Scene) *ear {
	t.Helper()
	m, err := scenestest.Model(s.Project, s.Def)
	if err != nil {
		t.Fatal(err)
	}
	return &ear{Instant: m.(llm.Instant), turns: map[turnKey][]string{}}
}

// Answer implements llm.Instant.
func (e *ear) Answer(req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	e.hear(req)
	return e.Instant.Answer(req)
}

// Complete implements llm.Provider.
func (e *ear) Complete(ctx context.Context, req *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	e.hear(req)
	return e.Instant.Complete(ctx, req, sink)
}

func (e *ear) hear(req *protocol.ModelRequest) {
	turn, _ := req.Variables["turn"].(int64)
	var ids []string
	list, _ := req.Variables["incoming_events"].([]any)
	for _, v := range list {
		id, _ := v.(map[string]any)["id"].(string)
		ids = append(ids, id)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turns[turnKey{req.Agent, uint64(turn)}] = ids
}

// urgent is one critical event, and how long it took to be handled.
type urgent struct {
	id      string
	waiting map[string]int // receivers that have not handled it: others that they handled since
	turns   int            // of others since it was published
	// the most that any receiver, and the scene, handled before it
	inbox, scene int
}

// alarms reads in the journal what was handled between the publication of a
// critical event and its handling, which is the end of the deliberation that
// perceived it:
//
//   - inbox: other events that the receiver perceived, in deliberations that
//     ended since, or before it in the same one;
//   - scene: deliberations of anybody that ended since and perceived no critical
//     event.
//
// Publication is the end of the publisher's deliberation on the realtime clock.
// On the virtual clock it is the moment at which the event is routed: all
// deliberations of a wave happen at that moment, in whatever order they are kept.
// Events that the channel routes meanwhile are not counted: to route is to decide
// who handles an event.
func (e *ear) alarms(t testing.TB, s *scenestest.Scene, clock agenda.ClockKind) (list []*urgent) {
	t.Helper()
	codec := machines.NewCodec()
	ended := map[turnKey]int{} // turns that had ended with it
	total := 0
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(r protocol.Record) error {
			switch r.Kind {
			case bus.FactRouted:
				f, err := bus.ReadRouted(r.Data)
				if err == nil && f.Priority == protocol.Critical {
					since := 0
					if clock == agenda.Realtime {
						since = total - ended[turnKey{f.Source, f.Turn}]
					}
					list = append(list, announced(s, f, since))
				}
				return err
			case agentfact.FactTurnEnded:
				f, err := codec.ReadFact(r.Kind, r.Data)
				if err != nil {
					return err
				}
				key := turnKey{r.Actor, f.(*agentfact.TurnEnded).Turn}
				if !e.ended(key, list) {
					total++
				}
				ended[key] = total
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return list
}

func announced(s *scenestest.Scene, f *bus.Routed, since int) *urgent {
	a := &urgent{id: f.ID, waiting: map[string]int{}, turns: since}
	agents, _ := s.Def.Agents(0)
	var ids []string
	for in := range agents.All() {
		ids = append(ids, in.ID)
	}
	for o := range f.Receivers.All() {
		a.waiting[ids[o]] = 0
	}
	return a
}

// ended notes the end of a deliberation, and whether it perceived an alarm.
func (e *ear) ended(key turnKey, list []*urgent) (heard bool) {
	events := e.turns[key]
	for _, a := range list {
		heard = heard || slices.Contains(events, a.id)
	}
	for _, a := range list {
		before, waits := a.waiting[key.agent]
		if at := slices.Index(events, a.id); waits && at >= 0 {
			a.inbox, a.scene = max(a.inbox, before+at), max(a.scene, a.turns)
			delete(a.waiting, key.agent)
		} else if waits {
			a.waiting[key.agent] += len(events)
		}
		if !heard {
			a.turns++
		}
	}
	return heard
}

// mustHandle holds that the storm had so many critical events, and that each was
// handled by every receiver within a hundred others.
func (e *ear) mustHandle(t testing.TB, s *scenestest.Scene, clock agenda.ClockKind, want int) {
	t.Helper()
	mustCountTurns(t, s)
	list := e.alarms(t, s, clock)
	if len(list) < want {
		t.Errorf("%d critical events, want %d", len(list), want)
	}
	for _, a := range list {
		t.Logf("critical event %s: %d other events before it at a receiver, %d other deliberations in the scene", a.id, a.inbox, a.scene)
		if len(a.waiting) > 0 || a.inbox > 100 || a.scene > 100 {
			t.Errorf("critical event %s: want it handled within 100 others, and by everybody; %d receivers have not", a.id, len(a.waiting))
		}
	}
}

// heapPeak watches the heap while f runs: the most that was in use, over what
// was in use before. A collection before each look leaves out garbage.
func heapPeak(f func()) int64 {
	heap := func() int64 {
		runtime.GC()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		return int64(live[0].Value.Uint64())
	}
	before, peak := heap(), int64(0)
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for wait := 20 * time.Millisecond; ; {
			select {
			case <-done:
				return
			case <-time.After(wait):
			}
			began := time.Now()
			peak = max(peak, heap()-before)
			wait = max(wait, 10*time.Since(began))
		}
	}()
	f()
	close(done)
	<-watched
	return max(peak, heap()-before)
}
