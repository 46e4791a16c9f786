package scenes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/bus"
	"tavernsim/internal/doctest"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// deliveries is what became of the deliveries to one agent.
type deliveries struct {
	routed, perceived, waiting int
	most                       int // that one turn perceived
	turns                      []protocol.Time
}

// deliveriesOf counts the deliveries to each agent of a run, from its facts. A
// delivery that was perceived twice counts twice.
func deliveriesOf(t testing.TB, s *scenestest.Scene, set scenestest.Settings) map[string]*deliveries {
	t.Helper()
	all := map[string]*deliveries{}
	state := s.Fold(t, set)
	for _, m := range state.Agents {
		all[m.ID.Instance] = &deliveries{waiting: m.State.Waiting()}
	}
	codec := machines.NewCodec()
	s.Journal(t, func(j *persistence.Journal) {
		err := j.Read(1, func(r protocol.Record) error {
			switch r.Kind {
			case bus.FactRouted:
				f, err := codec.ReadFact(r.Kind, r.Data)
				if err != nil {
					return err
				}
				for o := range f.(*bus.Routed).Receivers.All() {
					all[state.Name(o)].routed++
				}
			case agentfact.FactTurnEnded:
				f, err := codec.ReadFact(r.Kind, r.Data)
				if err != nil {
					return err
				}
				d, n := all[r.Actor], int(f.(*agentfact.TurnEnded).Perceived)
				d.perceived, d.most, d.turns = d.perceived+n, max(d.most, n), append(d.turns, r.Time)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return all
}

// mustKeepAll holds that every delivery was perceived once, or waits.
func mustKeepAll(t testing.TB, s *scenestest.Scene, set scenestest.Settings) map[string]*deliveries {
	t.Helper()
	all := deliveriesOf(t, s, set)
	for id, d := range all {
		if d.routed != d.perceived+d.waiting {
			t.Errorf("%s: %d events were routed, %d perceived, %d wait", id, d.routed, d.perceived, d.waiting)
		}
	}
	if has(t, s, agentfact.FactDropped) {
		t.Error("events were dropped")
	}
	return all
}

// crowded is a scene of two callers and a clerk whose node test:Shaky may fail.
const crowded = `
-- agent_profiles/clerk.yaml --
id: clerk
name: Clerk
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: shake
custom_runtime_config: {wake_on_start: false, max_restarts: 2, max_inbox: 40, inbox: {normal: {max: 2, policy: block}}}
-- workflows/shake.yaml --
interfaceInputs: {self: {dataFlowType: OBJECT}}
interfaceOutputs: {decision: {dataFlowType: OBJECT, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: shaky, type: "test:Shaky"}
  - {id: c, type: Expression, configValues: {type: OBJECT, expression: "({private_state: {shaken}})"}}
  - {id: out, type: GroupOutput}
edges:
  - {source: in, sourceHandle: self, target: shaky, targetHandle: in}
  - {source: shaky, sourceHandle: out, target: c, targetHandle: shaken}
  - {source: c, sourceHandle: value, target: out, targetHandle: decision}
-- scenes/s.yaml --
id: s
name: Crowd
schema_version: "1.0"
agent_instances:
  - {instance_id: "caller_{n}", profile_id: person, count: 2, custom_runtime_config: {deliberation_frequency_hz: 1}}
  - {instance_id: clerk, profile_id: clerk}
simulation: {stop: {ticks: 20}, limits: {restart_backoff: 3s}}
-- models/voices.yaml --
rules:
  - match: {agent: [caller_1, caller_2]}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.a, target_agent_instance_id: clerk}}, {tool: PublishEventTool, params: {type: talk.b, target_agent_instance_id: clerk}}]}
otherwise: {text: ""}
`

// A receiver that fails lets go of who waits for it, keeps what it had not
// perceived, and blocks again while it is restarted.
func TestBlockedOnAnAgentThatFails(t *testing.T) {
	var calls atomic.Int64
	p := shakyProject(t, crowded, func(any) any {
		if n := calls.Add(1); n == 2 || n == 3 {
			panic("the node fell over")
		}
		return "ok"
	})
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{Snapshots: 20}
	r := s.Run(t, set)
	if r.Err != nil || r.Reason != agenda.StoppedByTicks {
		t.Fatal(r)
	}
	mustRestore(t, s, set)
	mustVerify(t, s, set)
	if d := mustKeepAll(t, s, set)["clerk"]; d.most < 4 || len(d.turns) < 4 {
		t.Errorf("%+v", d)
	}
	text, _ := trace(t, s, 0, agenda.FactBlocked, agenda.FactAgentFailed, agentfact.FactTurnEnded)
	want := `wave 2 at +0s
  caller_1 turn 1 ok calls 2
  caller_2 turn 1 ok calls 2
  $scene caller_2/1.e1 blocks caller_2 for [clerk]
wave 3 at +1s
  clerk turn 1 ok events 4 calls 1
  caller_1 turn 2 ok calls 2
wave 4 at +2s
  $scene agent clerk failed 1: "panic: the node fell over"`
	if !strings.HasPrefix(text, want) {
		t.Errorf("%s\nwant it to begin with\n%s", text, want)
	}
}

// Nobody waits for an agent that was given up.
func TestBlockedOnAnAgentThatIsGivenUp(t *testing.T) {
	p := shakyProject(t, crowded, func(any) any { panic("the node fell over") })
	s := scenestest.New(t, p, "")
	r := s.Run(t, scenestest.Settings{})
	if r.Err != nil || r.Reason != agenda.StoppedByTicks || r.State.Tally.GivenUp != 1 {
		t.Fatal(r)
	}
	mustRestore(t, s, scenestest.Settings{})
	mustVerify(t, s, scenestest.Settings{})
	all := deliveriesOf(t, s, scenestest.Settings{})
	if n := len(all["caller_1"].turns); n < 10 || r.State.Agenda.Waiting() != 0 {
		t.Errorf("a caller had %d turns; %d wait", n, r.State.Agenda.Waiting())
	}
	if d := all["clerk"]; d.waiting != 40 {
		t.Errorf("%d events wait, of %d: want max_inbox", d.waiting, d.routed)
	}
}

// busy is a realtime scene: callers that would publish ten times a second, and a
// clerk whose thoughts take as long as its model.
const busy = `agent_instances:
  - {instance_id: "caller_{n}", profile_id: person, count: 2, custom_runtime_config: {deliberation_frequency_hz: 10}}
  - {instance_id: clerk, profile_id: person, custom_runtime_config: {wake_on_start: false, inbox: {normal: {max: 3, policy: block}}}}
initial_world_state: {log: []}
simulation: {clock: realtime, stop: {after: 20s}}`

// calling publishes one event to the clerk with every turn of the callers; a
// thought of the clerk takes two seconds.
func calling(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	if req.Agent == "clerk" {
		return after(2*time.Second, "")(ctx, req)
	}
	a, err := after(time.Millisecond, "")(ctx, req)
	a.Calls = []protocol.Call{{ID: "c", Tool: "PublishEventTool", Params: map[string]any{"type": "talk.x", "target_agent_instance_id": "clerk"}}}
	return a, err
}

// In realtime, two fast publishers are slowed to the pace of a slow receiver and
// nothing is lost; a run that is interrupted goes on so.
func TestRealtimeBlocks(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, busy), "")
	set := scenestest.Settings{Clock: agenda.Realtime}
	synctest.Test(t, func(t *testing.T) {
		r := live(t, s, scenestest.Settings{Model: &slow{answer: calling}})
		time.AfterFunc(5*time.Second, r.Interrupt)
		if res := r.Close(); res.Err != nil || res.Final {
			t.Error(res)
		}
		if n := s.Fold(t, set).Agenda.Waiting(); n != 2 {
			t.Errorf("%d wait, want both callers", n)
		}
		// Both callers find room at once and a tenth of a second later; one of them
		// is blocked then, the other with its next event. Each of their pauses ends
		// with the clerk's first turn that began after the event: its second.
		anybody := strings.NewReplacer("caller_1", "caller", "caller_2", "caller")
		want := "caller@0s caller@0s clerk@1ms caller@100ms caller@100ms caller@200ms clerk@2.001s caller@4.001s caller@4.001s caller@4.101s caller@4.101s caller@4.201s"
		if got := anybody.Replace(strings.Join(turns(t, s), " ")); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		r = live(t, s, scenestest.Settings{Model: &slow{answer: calling}})
		time.AfterFunc(5*time.Second, func() {
			r.Pause()
			if !r.WaitPaused(context.Background()) {
				t.Error("it did not pause")
			}
			r.Resume()
		})
		if res := r.Close(); res.Err != nil || res.Reason != agenda.StoppedByTime {
			t.Error(res)
		}
	})
	mustRestore(t, s, set)
	mustVerify(t, s, set)
	all := mustKeepAll(t, s, set)
	// Between two of its turns: up to the bound, then one more of each caller, and
	// a turn that a caller had begun meanwhile.
	if d := all["clerk"]; d.most > 3+2*2 || len(d.turns) < 8 || d.routed > 7*(len(d.turns)+2) {
		t.Errorf("%+v", d)
	}
	if n := len(all["caller_1"].turns); n < 10 || n > 50 {
		t.Errorf("a caller had %d turns in 20 s", n)
	}
}

// In realtime, too, two agents that flood each other go on.
func TestRealtimePairDoesNotDeadlock(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, `event_bus_config: {max_depth: 1000, max_revisits: 1000, inbox: {normal: {max: 1, policy: block}}}
agent_instances:
  - {instance_id: "twin_{n}", profile_id: person, count: 2}
initial_world_state: {log: []}
simulation: {clock: realtime, stop: {after: 60s}}`), "")
	synctest.Test(t, func(t *testing.T) {
		m := &slow{answer: func(ctx context.Context, req *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			a, err := after(time.Second, "")(ctx, req)
			for i := range 3 {
				a.Calls = append(a.Calls, protocol.Call{ID: fmt.Sprint(i), Tool: "PublishEventTool", Params: map[string]any{
					"type": "talk.x", "target_agent_instance_id": map[string]string{"twin_1": "twin_2", "twin_2": "twin_1"}[req.Agent]}})
			}
			return a, err
		}}
		if r := live(t, s, scenestest.Settings{Model: m}).Close(); r.Err != nil || r.Reason != agenda.StoppedByTime {
			t.Error(r)
		}
	})
	mustRestore(t, s, scenestest.Settings{Clock: agenda.Realtime})
	for id, d := range mustKeepAll(t, s, scenestest.Settings{Clock: agenda.Realtime}) {
		if id != "$scene" && (len(d.turns) < 25 || d.most > 1+2*3) {
			t.Errorf("%s: %d turns, %d events in one", id, len(d.turns), d.most)
		}
	}
	if !has(t, s, agenda.FactBlocked) {
		t.Error("nobody was blocked")
	}
}

// Random graphs of publishers with lanes that block: the run always ends, nobody
// starves, nothing is lost, and the story is the same for any number of workers
// and over an interruption.
func TestBlockingGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("the drawn projects of TestSameDigestOfRandomProjects run the same actors")
	}
	dirs := t
	blocked := 0
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(g.text))), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, g.text)
		}
		first := scenestest.New(dirs, p, "")
		want := first.Run(dirs, scenestest.Settings{Workers: 1})
		if want.Err != nil || want.Reason != agenda.StoppedByTicks {
			t.Fatalf("%v\n%s", want, g.text)
		}
		set := scenestest.Settings{Workers: 4, BatchFacts: rapid.IntRange(1, 50).Draw(t, "batch"), Snapshots: int64(rapid.IntRange(1, 40).Draw(t, "snapshots")),
			InterruptAt: rapid.Uint64Range(1, 12).Draw(t, "interrupt")}
		s := scenestest.New(dirs, p, "")
		s.Run(dirs, set)
		set.InterruptAt = 0
		if r, err := s.Start(set); err == nil { // else the end came before the interrupt
			r.Close()
		}
		var got persistence.Wave
		s.Journal(dirs, func(j *persistence.Journal) { got = j.Durable() })
		if got.Digest != want.Wave.Digest {
			t.Fatalf("digest %s, want %s; %+v\n%s", got.Digest, want.Digest(), set, g.text)
		}
		mustRestore(dirs, s, set)
		mustFoldAt(dirs, s, set, rapid.Uint64Range(0, got.Number).Draw(t, "cut"))
		mustVerify(dirs, s, set)
		g.mustHold(dirs, s, set)
		if dirs.Failed() {
			t.Fatalf("%+v\n%s", set, g.text)
		}
		if has(dirs, s, agenda.FactBlocked) {
			blocked++
		}
	})
	if blocked == 0 && scenestest.Long() {
		t.Error("in none of them was anybody blocked")
	}
}

// graph is a scene in which everybody publishes so many events to somebody of
// its own every turn.
type graph struct {
	text                string
	agents, most, bound int
	slowest             time.Duration
	delays              bool // a publisher waits anew for each event that is released
	again               bool // events may be perceived twice
}

func drawGraph(t *rapid.T) graph {
	g := graph{agents: rapid.IntRange(2, 6).Draw(t, "agents"), bound: rapid.IntRange(1, 4).Draw(t, "bound"), again: rapid.IntRange(0, 3).Draw(t, "again") == 0}
	var b strings.Builder
	fmt.Fprintf(&b, `-- scenes/s.yaml --
id: s
name: S
schema_version: "1.0"
event_bus_config:
  max_depth: 10000
  max_revisits: 10000
  inbox: {normal: {max: %d, policy: block}, high: {max: %d, policy: block}}
%sagent_instances:
  - {instance_id: "a_{n}", profile_id: person, count: %d, custom_runtime_config: {deliberation_frequency_hz: 1, max_inbox: 1000%s}}
simulation: {seed: %d, stop: {ticks: %d}}
-- models/voices.yaml --
rules:
`, g.bound, g.bound, rapid.SampledFrom([]string{"", "", "  throttle: [{type: talk.*, per: source, max: 2, window_seconds: 2, action: delay}]\n"}).Draw(t, "throttle"),
		g.agents, rapid.SampledFrom([]string{"", ", wake_on_start: false"}).Draw(t, "start")+map[bool]string{true: ", interrupt: {by: high}"}[g.again],
		rapid.IntRange(0, 1000).Draw(t, "seed"), rapid.IntRange(8, 30).Draw(t, "ticks"))
	for i := range g.agents {
		g.rule(t, &b, i+1)
	}
	b.WriteString("otherwise: {text: \"\"}\n")
	g.text = b.String()
	g.delays = strings.Contains(g.text, "throttle")
	return g
}

func (g *graph) rule(t *rapid.T, b *strings.Builder, agent int) {
	latency := time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1500, 4000}).Draw(t, "latency")) * time.Millisecond
	g.slowest = max(g.slowest, latency)
	n := rapid.IntRange(1, 4).Draw(t, "events")
	g.most = max(g.most, n)
	var calls []string
	for range n {
		who := func() int { return rapid.IntRange(1, g.agents).Draw(t, "who") }
		more := rapid.SampledFrom([]string{"", "", ", priority: high"}).Draw(t, "more")
		if g.again {
			more += rapid.SampledFrom([]string{"", ", requires_ack: true"}).Draw(t, "ack")
		}
		calls = append(calls, fmt.Sprintf(`{tool: PublishEventTool, params: {type: talk.x, target_agent_instance_id: "{{pick \"a_%d\" \"a_%d\"}}"%s}}`, who(), who(), more))
	}
	fmt.Fprintf(b, "  - match: {agent: a_%d}\n    latency: {fixed: %v}\n    answer: {calls: [%s]}\n", agent, latency, strings.Join(calls, ", "))
}

// mustHold: nothing was lost, nobody starved, nobody's inbox grew without bound.
func (g *graph) mustHold(t testing.TB, s *scenestest.Scene, set scenestest.Settings) {
	t.Helper()
	look := mustKeepAll
	if g.again {
		look = deliveriesOf
	}
	all := look(t, s, set)
	// A chain of waits has at most so many links, and each ends with a turn. Of what
	// is delayed two events are released every two seconds.
	patience := func(turns int) time.Duration {
		wait := time.Duration(g.agents) * (g.slowest + 2*time.Second)
		if g.delays {
			wait += time.Duration(g.most*turns) * time.Second
		}
		return wait
	}
	end := s.Fold(t, set).Agenda.Now
	for id, d := range all {
		if id == "$scene" {
			continue
		}
		for i, at := range append(slices.Clone(d.turns), end) {
			if i > 0 && at.Sub(d.turns[i-1]) > patience(i) {
				t.Errorf("%s was not woken from %v to %v", id, d.turns[i-1], at)
			}
		}
		if limit := 2*g.bound + 3*g.agents*g.most; !g.again && d.most > limit {
			t.Errorf("%s perceived %d events at once; the most is %d", id, d.most, limit)
		}
	}
}

// The example of docs/formats/events.md does what the page says.
func TestDocsFullInboxes(t *testing.T) {
	example := doctest.Examples(t, "formats/events.md", "inbox")[0]
	var calls []string
	for _, lane := range []string{"low", "normal", "high"} {
		for range 6 {
			calls = append(calls, fmt.Sprintf("{tool: PublishEventTool, params: {type: talk.%s, target_agent_instance_id: clerk, priority: %s}}", lane, lane))
		}
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte("-- scenes/s.yaml --\nid: s\nname: S\nschema_version: \"1.0\"\n"+example+`
  - {instance_id: guest, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 1}}
simulation: {stop: {ticks: 4}}
-- models/voices.yaml --
rules: [{match: {agent: guest, variables: {turn: 1}}, answer: {calls: [`+strings.Join(calls, ", ")+`]}}, {match: {agent: clerk}, latency: {fixed: 1500ms}, answer: {text: ""}}]
otherwise: {text: ""}
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	s.Run(t, scenestest.Settings{})
	got, _ := trace(t, s, 0, agentfact.FactDropped, agentfact.FactTurnEnded, agenda.FactBlocked)
	want := `wave 2 at +0s
  porter turn 1 ok
  guest turn 1 ok calls 18
  $scene guest/1.e15 blocks guest for [clerk]
wave 3 at +1s
  clerk dropped 3 refused 2; guest/1.e1 of guest: inbox_full; guest/1.e2 of guest: inbox_full; guest/1.e3 of guest: inbox_full; guest/1.e11 of guest: queue_full; guest/1.e12 of guest: queue_full
  clerk turn 1 ok events 13 took 1.5s
wave 4 at +2s
  guest turn 2 ok observations 2
wave 5 at +3s
  guest turn 3 ok
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	state := s.Fold(t, scenestest.Settings{})
	o, _ := state.Ordinal("porter")
	if lanes := state.Agents[o].Def.Limits.Lanes; lanes == nil || lanes[1] != (profile.Lane{Max: 200, Policy: profile.LaneBlock}) {
		t.Errorf("porter has the lanes %v, want those of the scene", lanes)
	}
}
