package scenes_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/internal/metrics"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/llm/llmtest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// counts are what a scrape shows.
type counts map[string]float64 // by name and labels: name{a=b,c=d}

func countsOf(t testing.TB, set *metrics.Set) counts {
	t.Helper()
	families, err := set.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := counts{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			got[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = v
		}
	}
	return got
}

// sum adds up the series of a metric that have all of the labels.
func (c counts) sum(name string, labels ...string) (n int64) {
	for k, v := range c {
		series, of, _ := strings.Cut(strings.TrimSuffix(k, "}"), "{")
		has := strings.Split(of, ",")
		if series == "simd_"+name && !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
			n += int64(v)
		}
	}
	return n
}

// countedRun runs a scene and returns what was counted.
func countedRun(t testing.TB, s *scenestest.Scene, set scenestest.Settings, change ...func(*scenes.Options)) (scenestest.Result, counts) {
	t.Helper()
	m := metrics.New()
	change = append(change, func(o *scenes.Options) { o.Metrics = m.Scene(s.Def.Definition.ID) })
	r, err := s.StartWith(set, change...)
	if err != nil {
		t.Fatal(err)
	}
	agents := r.Sources().Agents
	stop := m.Watch(r.Sources())
	countsOf(t, m) // while it runs
	stop()
	res := r.Close()
	m.Watch(metrics.Sources{Agents: agents})
	return res, countsOf(t, m)
}

// agree holds that what was counted is what the facts say.
func agree(t *testing.T, r scenestest.Result, c counts, agents int64) {
	t.Helper()
	tally := &r.State.Tally
	var refused int64
	for _, n := range tally.Refused {
		refused += n
	}
	for _, x := range []struct {
		what      string
		got, want int64
	}{
		{"deliberations", c.sum("agent_deliberations_total"), tally.Deliberations},
		{"failed ones", c.sum("agent_deliberations_total") - c.sum("agent_deliberations_total", "outcome=ok"), tally.Failed},
		{"measured ones", c.sum("agent_deliberation_duration_seconds"), c.sum("agent_deliberations_total") - c.sum("agent_deliberations_total", "outcome=crashed")},
		{"restarts", c.sum("agent_restarts_total", "reason=failure") + c.sum("actor_restarts_total", "reason=failure"), tally.Restarts},
		{"agents given up", c.sum("agent_restarts_total", "reason=given_up"), tally.GivenUp},
		{"agents given up, as a state", c.sum("agents", "state=given_up"), tally.GivenUp},
		{"agents", c.sum("agents"), agents},
		{"agents at work after the end", c.sum("agents", "state=deliberating"), 0},
		{"reflections", c.sum("agent_reflections_total"), tally.Reflections},
		{"calls", c.sum("tool_calls_total"), tally.Calls},
		{"failed calls", c.sum("tool_calls_total", "outcome=error") + c.sum("tool_calls_total", "outcome=denied"), tally.CallsFailed},
		{"events", c.sum("events_published_total"), tally.EventsRouted},
		{"deliveries", c.sum("events_delivered_total"), tally.EventsDelivered},
		{"refused events", c.sum("events_dropped_total"), refused},
		{"commits", c.sum("world_commits_total"), tally.Commits},
		{"changes", c.sum("world_updates_total", "outcome=applied"), tally.Changes},
		{"conflicts", c.sum("world_updates_total", "outcome=conflict"), tally.Conflicts},
		{"refused changes", c.sum("world_updates_total") - c.sum("world_updates_total", "outcome=applied"), tally.WorldRefused},
		{"entries", c.sum("knowledge_writes_total", "outcome=written"), tally.Entries},
		{"facts", c.sum("scene_facts_total"), tally.Facts},
		{"waves", c.sum("sim_steps_total"), int64(r.State.Agenda.Wave)},
		{"waves, as keeping", c.sum("step_phase_duration_seconds", "phase=keep"), int64(r.State.Agenda.Wave)},
		{"seconds", c.sum("sim_seconds_total"), int64(r.State.Agenda.Now.Sub(r.State.Agenda.Begun()).Seconds())},
		{"scenes at their end", c.sum("scenes", "state=ended"), 1},
		{"scenes", c.sum("scenes"), 1},
	} {
		if x.got != x.want {
			t.Errorf("%s: counted %d, the facts say %d", x.what, x.got, x.want)
		}
	}
}

// Metrics of a scene in which everything happens.
func TestCountsAgreeWithTheFacts(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	r, c := countedRun(t, s, scenestest.Settings{Workers: 4})
	if r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	agree(t, r, c, 13)
	if got, want := c.sum("llm_requests_total"), r.State.Tally.ModelCalls; got != want {
		t.Errorf("%d model requests, the facts say %d", got, want)
	}
	for _, name := range []string{
		"agent_reflections_total", "events_dropped_total", "knowledge_writes_total", "tool_calls_total", "world_update_duration_seconds",
		"agent_deliberation_stage_duration_seconds",
	} {
		if c.sum(name) == 0 {
			t.Errorf("%s did not move: the town is too quiet to test it", name)
		}
	}
	if n := c.sum("events_published_total", "event_type=other"); n > 0 {
		t.Errorf("%d events of types that nobody knows, with a subscription to town.*", n)
	}
	if n := c.sum("replay_events_total"); n != 0 {
		t.Errorf("%d facts replayed by a run from its beginning", n)
	}
}

// The scene's own turns are no deliberations, and what their models took counts (decision 11).
func TestCountsOfTheScenesOwnModels(t *testing.T) {
	r, c := countedRun(t, scriptScene(t, "lifecycle_latency"), scenestest.Settings{})
	if r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	agree(t, r, c, 2)
	if got, want, agents := c.sum("llm_requests_total"), r.State.Tally.ModelCalls, r.State.Tally.Deliberations; got != want || want != agents+1 {
		t.Errorf("%d model requests, the facts say %d, %d of agents", got, want, agents)
	}
}

const misread = `
-- project.json --
{"id": "test", "model": "models/m.yaml"}
-- models/m.yaml --
rules:
  - match: {variables: {turn: 1}}
    answer: <tools><shout>x</shout></tools>
  - match: {variables: {turn: 2}}
    answer: <tools><ctrl>c</ctrl>
otherwise: {text: ""}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
custom_runtime_config: {deliberation_frequency_hz: 1}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
simulation: {seed: 1, stop: {ticks: 3}}
`

// What is wrong with answers of models is counted once, by the run alone.
func TestCountsOfMisreadAnswers(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(misread))), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, c := countedRun(t, scenestest.New(t, p, ""), scenestest.Settings{})
	if r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	if n, w := c.sum("tool_parse_errors_total"), c.sum("tool_parse_warnings_total"); n != 1 || w != 1 || c.sum("tool_parse_warnings_total", "format=toolsxml", "warning=missing_root_close") != 1 {
		t.Errorf("%d errors and %d warnings", n, w)
	}
}

// cloud is a model behind the gate of an endpoint.
type cloud struct {
	*llmtest.Fake
	gate *gate.Gate
}

func (c cloud) Gate(*protocol.ModelRequest) (*gate.Gate, int64) { return c.gate, 1 }

// What a gate does is counted by the name of its endpoint.
func TestCountsOfAGate(t *testing.T) {
	model := cloud{gate: gate.New("cloud", limit.Options{}), Fake: &llmtest.Fake{Reply: func(_ context.Context, n int, _ *protocol.ModelRequest) (string, error) {
		if n == 3 {
			return "", &llm.Failure{Outcome: llm.OutcomeTruncated, Message: "cut"}
		}
		return "well", nil
	}}}
	r, c := countedRun(t, scenestest.New(t, scenestest.Town(t), ""), scenestest.Settings{Workers: 4, Model: model})
	if r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	calls := int64(model.Calls())
	for _, x := range []struct {
		what      string
		got, want int64
	}{
		{"attempts", c.sum("llm_requests_total"), calls},
		{"attempts that were cut", c.sum("llm_requests_total", "outcome=truncated"), 1},
		{"waits", c.sum("llm_queue_wait_seconds", "provider=cloud"), calls},
		{"repetitions", c.sum("llm_retries_total", "provider=cloud", "reason=truncated"), 1},
		{"all repetitions", c.sum("llm_retries_total"), 1},
		{"requests of the facts", r.State.Tally.ModelCalls, calls - 1},
	} {
		if x.got != x.want {
			t.Errorf("%s: %d, want %d", x.what, x.got, x.want)
		}
	}
}

// Agents and services that fail, one of them for good.
func TestCountsOfFailures(t *testing.T) {
	var calls atomic.Int64
	p := shakyProject(t, strings.Replace(shaky, "ticks: 12", "ticks: 60", 1), func(in any) any {
		if id := instance(in); id == "a_1" || id == "a_2" && calls.Add(1) == 3 {
			panic("it fell over")
		}
		return "ok"
	})
	for _, service := range scenes.Services() {
		s := scenestest.New(t, p, "")
		r, c := countedRun(t, s, scenestest.Settings{Workers: 3}, scenes.FailService(service, 3, 2))
		if r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		agree(t, r, c, 3)
		kind := "kind=" + strings.TrimPrefix(service, "$")
		if n := c.sum("actor_restarts_total", kind, "reason=failure"); n != 2 {
			t.Errorf("%s: %d restarts were counted, want 2", service, n)
		}
		if n := c.sum("agent_restarts_total", "reason=given_up"); n != 1 {
			t.Errorf("%s: %d agents given up, want 1", service, n)
		}
		if c.sum("replay_events_total") == 0 {
			t.Errorf("%s: it was restored from the journal, and no fact was counted as replayed", service)
		}
	}
}

// The scene's own agent fails, and is given up in the end. It does not deliberate, so
// its failures are no deliberations.
func TestCountsOfTheScenesOwnFailures(t *testing.T) {
	for _, times := range []int64{2, 1 << 30} {
		var calls, others atomic.Int64
		text := strings.Replace(shaky, "simulation:", "scene_lifecycle_workflows: {on_tick_event: shake}\nsimulation:", 1)
		p := shakyProject(t, strings.Replace(text, "ticks: 12", "ticks: 120", 1), func(in any) any {
			if id := instance(in); id == "$scene" && calls.Add(1) <= times || id == "a_1" && others.Add(1) == 9 {
				panic("it fell over")
			}
			return "ok"
		})
		s := scenestest.New(t, p, "")
		r, c := countedRun(t, s, scenestest.Settings{Workers: 3})
		if r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		agree(t, r, c, 3)
		if own := c.sum("actor_restarts_total", "kind=scene", "reason=failure"); own < 2 {
			t.Errorf("the scene's own agent failed %d times", own)
		}
		if n, want := c.sum("actor_restarts_total", "kind=scene", "reason=given_up"), int64(1); times > 2 && n != want {
			t.Errorf("it was given up %d times, want %d", n, want)
		}
		if got, want := turnsOfWaves(t, s), r.State.Tally.Deliberations; got != want {
			t.Errorf("the waves have %d turns, the tally %d deliberations", got, want)
		}
	}
}

// turnsOfWaves adds up the turns that the waves of a journal name.
func turnsOfWaves(t testing.TB, s *scenestest.Scene) (n int64) {
	t.Helper()
	s.Facts(t, func(_ protocol.Record, f protocol.Fact) { n += f.(*agenda.WaveClosed).Turns }, agenda.FactWaveClosed)
	return n
}

// What is given up ends the scene, and both are counted.
func TestCountsOfAnEndByFailure(t *testing.T) {
	p := shakyProject(t, shaky, func(any) any { return "ok" })
	r, c := countedRun(t, scenestest.New(t, p, ""), scenestest.Settings{}, scenes.FailService("$world", 3, 1000))
	if r.Err == nil {
		t.Fatal(r)
	}
	if c.sum("actor_restarts_total", "kind=world", "reason=given_up") != 1 || c.sum("scenes", "state=failed") != 1 {
		t.Errorf("%v", c)
	}
}

// A resumed run counts what it restored as replayed, and nothing of it twice;
// folding a journal counts nothing: package history knows no metrics.
func TestCountsOfAResumedRun(t *testing.T) {
	p := shakyProject(t, strings.Replace(shaky, "ticks: 12", "ticks: 200", 1), func(any) any { return "ok" })
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{InterruptAt: 20, Snapshots: -1, Stop: &agenda.Stop{Ticks: 1 << 30}} // however late it hears of the wave
	first, c := countedRun(t, s, set)
	if first.Final || c.sum("scenes", "state=interrupted") != 1 || c.sum("scene_transitions_total", "to=interrupted", "outcome=ok") != 1 {
		t.Fatal(first, c)
	}
	before := c.sum("scene_facts_total")
	r, c := countedRun(t, s, scenestest.Settings{Snapshots: -1})
	if r.Err != nil || !r.Final {
		t.Fatal(r)
	}
	if got, want := c.sum("scene_facts_total"), r.State.Tally.Facts-before; got != want {
		t.Errorf("%d facts counted after the resume, want %d", got, want)
	}
	tail := c.sum("replay_events_total") // a stop may take a snapshot; what it covers is not folded
	if tail < 0 || tail > before {
		t.Errorf("%d facts replayed of %d", tail, before)
	}
}

// A pause is a state of the scene.
func TestCountsOfAPause(t *testing.T) {
	p := shakyProject(t, strings.Replace(shaky, "ticks: 12", "ticks: 100000", 1), func(any) any { return "ok" })
	s := scenestest.New(t, p, "")
	m := metrics.New()
	r, err := s.StartWith(scenestest.Settings{}, func(o *scenes.Options) { o.Metrics = m.Scene("s") })
	if err != nil {
		t.Fatal(err)
	}
	r.Pause()
	if !r.WaitPaused(t.Context()) {
		t.Fatal("it did not pause")
	}
	if c := countsOf(t, m); c.sum("scenes", "state=paused") != 1 || c.sum("scenes") != 1 {
		t.Errorf("paused: %v", c)
	}
	r.Resume()
	r.Interrupt()
	r.Close()
	if c := countsOf(t, m); c.sum("scene_transitions_total", "to=running") != 2 || c.sum("scenes", "state=interrupted") != 1 {
		t.Errorf("interrupted: %v", c)
	}
}
