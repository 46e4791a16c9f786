package metrics

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus/delivery"
	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/persistence"
	"tavernsim/protocol"
)

// The real types serve as sources as they are.
var (
	_ StoreSource   = (*persistence.Store)(nil)
	_ JournalSource = (*persistence.Journal)(nil)
	_ AgentSource   = (*AgentTable)(nil)
)

// Promise 2. Conventions §6: what can be known stands at 0 before anything happened.
func TestCountersStandAtZero(t *testing.T) {
	s := New()
	s.Scene("tavern").Declare(Declared{Profiles: []string{"trader"}, EventTypes: []string{"offer.made"}, Tools: []string{"workflow:greet"}, KBs: []string{"lore"}, Provider: "scripted", Services: []string{"knowledge"}, Facts: []string{agentfact.FactTurnEnded}})
	expect(t, s.Registry, map[string]float64{
		`simd_agent_deliberations_total{outcome=cancelled,profile=trader}`:                        0,
		`simd_agent_restarts_total{profile=trader,reason=failure}`:                                0,
		`simd_actor_restarts_total{kind=knowledge,reason=failure}`:                                0,
		`simd_tool_calls_total{outcome=denied,tool=workflow:greet}`:                               0,
		`simd_tool_calls_total{outcome=denied,tool=other}`:                                        0,
		`simd_events_published_total{event_type=offer.made,source=scene}`:                         0,
		`simd_events_delivered_total{event_type=other}`:                                           0,
		`simd_events_dropped_total{reason=depth}`:                                                 0,
		`simd_events_dropped_total{reason=queue_full}`:                                            0,
		`simd_dead_letters_total{kind=wake}`:                                                      0,
		`simd_world_updates_total{op=push,outcome=conflict}`:                                      0,
		`simd_world_commits_total{scene=tavern}`:                                                  0,
		`simd_llm_requests_total{model=default,operation=chat,outcome=timeout,provider=scripted}`: 0,
		`simd_llm_tokens_total{model=default,provider=scripted,token_type=reasoning}`:             0,
		`simd_scene_facts_total{kind=agent.turn_ended}`:                                           0,
		`simd_scene_transitions_total{outcome=ok,to=failed}`:                                      0,
		`simd_snapshots_total{outcome=failed}`:                                                    0,
		`simd_replay_divergences_total{}`:                                                         0,
		`simd_journal_commit_duration_seconds_count{sync=process}`:                                0,
		`simd_metrics_label_overflow_total{label=event_type}`:                                     0,
		`simd_pebble_compactions_total{}`:                                                         0,
		`simd_ready{}`:                                                                            0,
	})
	families, err := s.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range families {
		there[f.GetName()] = true
	}
	named := []string{"tool", "plugin", "model", "provider", "warning", "kind"} // what only a run names, or a word of another package
	for _, d := range s.catalog {
		if d.kind == "counter" && !there[d.name] && !slices.ContainsFunc(d.labels, func(l string) bool { return slices.Contains(named, l) }) {
			t.Errorf("%s has no value before anything happened: make its values when it is registered (newClosed), or when a scene declares what it has", d.name)
		}
	}
}

// Every name and label is what promlint asks for.
func TestLint(t *testing.T) {
	s := New()
	exercise(t, s)
	problems, err := testutil.GatherAndLint(s.Registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, namespace) { // go_* is the Go client's own
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// The catalog is what the registry holds, and a gathering gives all of it.
func TestCatalogIsTheRegistry(t *testing.T) {
	s := New()
	exercise(t, s)
	families, err := s.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), namespace) {
			got[f.GetName()] = strings.ToLower(f.GetType().String()) + " " + f.GetHelp()
		}
	}
	for _, d := range s.catalog {
		if got[d.name] != d.kind+" "+d.help {
			t.Errorf("%s: the registry says %q, the catalog %q", d.name, got[d.name], d.kind+" "+d.help)
		}
		delete(got, d.name)
	}
	for name := range got {
		t.Errorf("%s is not in the catalog", name)
	}
}

// Promise 3. Conventions §6, cardinality: no label holds an id of an agent, a run or an event.
func TestNoForbiddenLabel(t *testing.T) {
	forbidden := []string{"agent", "agent_id", "instance", "instance_id", "run", "run_id", "session", "user", "prompt", "path", "error", "trace_id", "event_id"}
	for _, d := range New().catalog {
		for _, l := range d.labels {
			if slices.Contains(forbidden, l) {
				t.Errorf("%s has label %s", d.name, l)
			}
		}
	}
}

func series(t *testing.T, s *Set) int {
	t.Helper()
	n, err := testutil.GatherAndCount(s.Registry)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Promise 3. Conventions §6, cardinality: 200 values, then __other__, and a counter that
// says so; the number of series stands still.
func TestCardinalityCap(t *testing.T) {
	s := New()
	flood := func(from, to int) {
		for i := from; i < to; i++ {
			v := fmt.Sprint("v", i)
			sc := s.Scene(v)
			sc.Forget()
			sc.WaveClosed(time.Millisecond, 1)
			sc.Deliberated(v, v)
			sc.Took(v, time.Millisecond)
			sc.Failed(v, false)
			sc.ActorFailed(v)
			sc.Published(v, SourceAgent, 1)
			sc.Dropped(v)
			sc.Called(v, v, 1)
			sc.KnowledgeWritten(v, v)
			sc.WorldApplied(v)
			sc.WorldRefused(v, v)
			sc.Model(v, v, v, time.Millisecond, &protocol.ModelAnswer{Usage: protocol.Usage{Input: 1}})
			sc.Waited("model", v, limit.Normal, time.Millisecond)
			sc.Repeated("model", v, llm.Outcome(v))
			sc.Served(&llm.Served{Model: v, By: v, Audit: v})
			sc.Elsewhere(v, llm.Outcome(v))
			sc.Fact(v, 1)
			s.DeadLetter(protocol.Kind(i % 256))
		}
	}
	flood(0, MaxValues+1)
	full := series(t, s)
	flood(MaxValues+1, 3*MaxValues)
	if n := series(t, s); n != full {
		t.Errorf("%d series, then %d", full, n)
	}
	expect(t, s.Registry, map[string]float64{
		`simd_metrics_label_overflow_total{label=event_type}`:                        2 * MaxValues,
		`simd_metrics_label_overflow_total{label=scene}`:                             2 * MaxValues,
		`simd_events_published_total{event_type=__other__,source=agent}`:             2 * MaxValues,
		`simd_agent_deliberations_total{outcome=__other__,profile=__other__}`:        2 * MaxValues,
		`simd_sim_steps_total{scene=__other__}`:                                      2 * MaxValues,
		`simd_llm_tokens_total{model=__other__,provider=__other__,token_type=input}`: 2 * MaxValues,
		`simd_events_dropped_total{reason=__other__}`:                                3 * MaxValues,
		`simd_actor_restarts_total{kind=__other__,reason=failure}`:                   2*MaxValues + 1, // the scene has one of the values
	})
	if got := gathered(t, s.Registry); got[`simd_events_published_total{event_type=v0,source=agent}`] != 1 {
		t.Error("the first value lost its own series")
	}
}

// Promise 3: what a model invents never becomes a label once the project's names are known.
func TestUndeclaredIsOther(t *testing.T) {
	s := New()
	sc := s.Scene("tavern")
	sc.Declare(Declared{EventTypes: []string{"offer.made"}, Tools: []string{"PublishEventTool"}})
	for i := range 1000 {
		sc.Published(fmt.Sprint("invented.", i), SourceScene, 2)
		sc.Called(fmt.Sprint("Invented", i), "denied", 1)
	}
	expect(t, s.Registry, map[string]float64{
		`simd_events_published_total{event_type=other,source=scene}`: 1000,
		`simd_events_delivered_total{event_type=other}`:              2000,
		`simd_tool_calls_total{outcome=denied,tool=other}`:           1000,
		`simd_metrics_label_overflow_total{label=event_type}`:        0,
	})
}

func TestSourceOf(t *testing.T) {
	for id, want := range map[string]string{"$scene": "scene", "$world": "scene", "trader_7": "agent", "": "agent"} {
		if got := SourceOf(id).String(); got != want {
			t.Errorf("SourceOf(%q) = %s, want %s", id, got, want)
		}
	}
}

func TestSceneStates(t *testing.T) {
	s := New()
	sc := s.Scene("tavern")
	for _, to := range []SceneState{SceneRunning, ScenePaused, ScenePaused, SceneRunning, SceneFailed} {
		sc.Became(to)
	}
	expect(t, s.Registry, map[string]float64{
		`simd_scenes{state=starting}`:                         0,
		`simd_scenes{state=running}`:                          0,
		`simd_scenes{state=failed}`:                           1,
		`simd_scene_transitions_total{outcome=ok,to=paused}`:  1,
		`simd_scene_transitions_total{outcome=ok,to=running}`: 2,
	})
	sc.Forget()
	sc.Forget()
	sc.Became(SceneRunning)
	expect(t, s.Registry, map[string]float64{`simd_scenes{state=failed}`: 0, `simd_scenes{state=running}`: 0})
}

// A scene that waits for the disk counts as waiting until its next life begins;
// one that has ended does not wait.
func TestSceneWaits(t *testing.T) {
	s := New()
	s.Scene("tavern").Became(SceneFailed)
	s.Scene("market").Became(SceneEnded)
	for _, id := range []string{"tavern", "market", "nowhere"} {
		s.Run("").Waits(id)
	}
	expect(t, s.Registry, map[string]float64{`simd_scenes{state=waiting}`: 1, `simd_scenes{state=failed}`: 0, `simd_scenes{state=ended}`: 1})
	s.Scene("tavern").Became(SceneRunning)
	s.Run("").Ended("market")
	s.Run("").Ended("inn")
	expect(t, s.Registry, map[string]float64{`simd_scenes{state=waiting}`: 0, `simd_scenes{state=running}`: 1, `simd_scenes{state=ended}`: 2})
}

// The lanes of the metric are those of the mailboxes.
func TestLanes(t *testing.T) {
	got := lanes()
	if len(got) != 6 || got[0] != delivery.Control.String() || got[5] != delivery.Last.String() {
		t.Errorf("lanes %v", got)
	}
}

// A scrape counts every agent once, whatever changes meanwhile.
func TestAgentsAreCountedOnce(t *testing.T) {
	table := NewAgentTable([]string{"trader"})
	table.Add(0, AgentIdle, 2)
	table.Add(0, AgentAsleep, 2)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for st := AgentIdle; ; {
				next := (st + 1) % agentStates
				table.Move(0, st, next, 1)
				st = next
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 100_000 {
		all := 0
		table.AgentStates(func(_, state string, n int) {
			if n < 0 {
				t.Errorf("%d %s", n, state)
			}
			all += n
		})
		if all != 4 {
			t.Fatalf("%d agents, want 4", all)
		}
	}
	close(stop)
	wg.Wait()
}

// Everything is counted from many goroutines while scrapes read.
func TestConcurrentUse(t *testing.T) {
	s := New()
	sc := s.Scene("tavern")
	table := NewAgentTable([]string{"trader"})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 500 {
				sc.Deliberated(fmt.Sprint("p", i), "ok")
				sc.Published(fmt.Sprint("t", i), SourceAgent, 1)
				sc.Fact(agenda.FactEnded, 1)
				table.Move(0, AgentIdle, AgentState(i%int(agentStates)), 1)
				if i%100 == 0 {
					s.Watch(Sources{Agents: table, Store: &fakes{}})()
					gathered(t, s.Registry)
					sc.Became(SceneState((g + i) % int(sceneStates)))
				}
			}
		})
	}
	wg.Wait()
	if got := gathered(t, s.Registry)[`simd_scene_facts_total{kind=scene.ended}`]; got != 2000 {
		t.Errorf("%v facts, want 2000", got)
	}
}

// A collector that reads while the sources are stopped sees all or nothing.
func TestStopWaitsForScrape(t *testing.T) {
	s := New()
	src := &slow{entered: make(chan struct{}), leave: make(chan struct{})}
	stop := s.Watch(Sources{World: src})
	scraped, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(scraped); _, _ = s.Registry.Gather() }()
	<-src.entered
	go func() { defer close(stopped); stop() }()
	select {
	case <-stopped:
		t.Error("stop returned during the scrape")
	case <-time.After(20 * time.Millisecond):
	}
	close(src.leave)
	<-scraped
	<-stopped
}
