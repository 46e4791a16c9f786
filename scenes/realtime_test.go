package scenes_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/director"
	"tavernsim/llm"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/project"
	"tavernsim/scenes/scenestest"
)

// slow is a model that is not Instant: it takes its time on the clock.
type slow struct {
	answer func(ctx context.Context, req protocol.ModelRequest) (protocol.ModelAnswer, error)
	mu     sync.Mutex
	asked  []string
	open   int
}

func (s *slow) Name() string { return "slow" }
func (s *slow) Close() error { return nil }
func (s *slow) Complete(ctx context.Context, req protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
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

func (s *slow) count() (asked, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked), s.open
}

// after answers with a text when so much time has passed, or as the context ends.
func after(d time.Duration, text string) func(context.Context, protocol.ModelRequest) (protocol.ModelAnswer, error) {
	return func(ctx context.Context, _ protocol.ModelRequest) (protocol.ModelAnswer, error) {
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
	base, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
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
	p, err := scenestest.Load(scenestest.Files(base, txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// live starts a realtime scene in a bubble.
func live(t *testing.T, s *scenestest.Scene, set scenestest.Settings) *scenestest.Running {
	t.Helper()
	set.Clock, set.Workers = director.Realtime, 2
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
			case director.FactStarted:
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
		if r.Err != nil || r.Reason != director.StoppedByTime || time.Since(began).Round(time.Millisecond) != 5*time.Second {
			t.Error(r, time.Since(began))
		}
	})
	got := strings.Join(turns(t, s), " ")
	// Turn 2 of the caller says something that both hear at once.
	if want := "caller@0s hearer@0s caller@2s caller@2s hearer@2s caller@4s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	mustRestore(t, s, scenestest.Settings{Clock: director.Realtime})
}
