package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/verify"
)

// whispered is a scene in which ada tells gm something that nobody keeps. What gm makes of it is drawn up by the
// caller, as are more lines of the scene.
func whispered(t *testing.T, scene, calls string) *scenestest.Scene {
	t.Helper()
	text := fmt.Sprintf(`-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
subscribed_event_types: [talk.e]
tool_ids_inventory: [PublishEventTool, RestAgentTool]
-- scenes/s.yaml --
id: s
name: Whispers
schema_version: "1.0"
%s
agent_instances: [{instance_id: gm, profile_id: person}, {instance_id: ada, profile_id: person}, {instance_id: bo, profile_id: person, custom_runtime_config: {subscribed_event_types: [talk.b]}}]
-- models/voices.yaml --
rules:
  - match: {agent: ada, variables: {turn: 1}}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.e, ephemeral: true, payload: 1}}, {tool: PublishEventTool, params: {type: talk.b}}]}
  - match: {agent: gm, events: talk.e}
    answer: {calls: [%s]}
otherwise: {text: ""}
`, scene, calls)
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	if r := s.Run(t, scenestest.Settings{}); r.Err != nil {
		t.Fatal(r)
	}
	return s
}

// mustTake holds that a walk finds no difference, takes facts of a kind with the reason lost, and comes to the state
// of the fold.
func mustTake(t *testing.T, s *scenestest.Scene, set scenestest.Settings, kind string) {
	t.Helper()
	there := false
	s.Rewrite(t, func(r *protocol.Record) { there = there || r.Kind == kind })
	if !there {
		t.Fatalf("the history has no %s: nothing is tested", kind)
	}
	r, state := runTo(t, s, set, 2)
	if r.Difference != nil || r.Taken[verify.TakenLost] == 0 {
		t.Fatalf("taken %v, difference %+v", r.Taken, r.Difference)
	}
	if got, _ := state.Hash(); got != s.FoldHash(t, set) {
		t.Error("the walk ends in another state than the fold")
	}
}

const (
	directed = "directors: [gm]\nsimulation: {stop: {ticks: 8}}"
	crammed  = "simulation: {stop: {ticks: 8}, limits: {max_wave_bytes: 65536}}"
	letsRest = "{tool: RestAgentTool, params: {agents: ada}}"
	nobody   = "{tool: RestAgentTool, params: {agents: nobody}}"
)

func shouts(size int) string {
	return fmt.Sprintf("{tool: PublishEventTool, params: {type: talk.x, payload: %s}}", strings.Repeat("x", size))
}

// Promise 2: what a lost turn asks of the stage is known by what came of it, and taken.
func TestWhatCameOfALostTurn(t *testing.T) {
	for name, c := range map[string]struct{ scene, calls, kind string }{
		"a director lets somebody rest": {directed, letsRest, agenda.FactRested},
		"a director is refused":         {directed, nobody, agenda.FactNotChanged},
		"there is no room":              {crammed, shouts(70_000), agenda.FactNoRoom},
	} {
		t.Run(name, func(t *testing.T) {
			mustTake(t, whispered(t, c.scene, c.calls), scenestest.Settings{}, c.kind)
		})
	}
}

// Promise 2: nothing is held back in the last wave, so what a lost turn of the scene asks for there is taken, whatever
// its latency.
func TestALostTurnOfTheEnd(t *testing.T) {
	s := whispered(t, "scene_lifecycle_workflows: {on_scene_end: std/core, on_talk_e_event: std/core}\nsimulation: {stop: {ticks: 1}}",
		"]}\n  - match: {agent: $scene}\n    latency: {fixed: 3s}\n    answer: {calls: [{tool: RequestWorldStateUpdateTool, params: {path: epilogue, value: 1}}")
	mustTake(t, s, scenestest.Settings{}, world.FactCommitted)
}

// How much a lost turn asks for is not known: nor, then, that a turn behind it has no room. That is taken, too.
func TestNoRoomBehindALostTurn(t *testing.T) {
	s := whispered(t, crammed, shouts(40_000)+`]}
  - match: {agent: bo, events: talk.b}
    answer: {calls: [`+shouts(40_000))
	mustTake(t, s, scenestest.Settings{}, agenda.FactNoRoom)
	s.Facts(t, func(_ protocol.Record, f protocol.Fact) {
		if x, ok := f.(*agenda.EffectsRefused); ok && x.By != "bo" {
			t.Errorf("%s had no room: nothing is tested", x.By)
		}
	}, agenda.FactNoRoom)
}

// On the realtime clock turns are lost whose agent's inbox was full once.
func TestADirectorWithAFullInboxInRealtime(t *testing.T) {
	text := `-- agent_profiles/person.yaml --
id: person
name: Person
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: [PublishEventTool, RestAgentTool]
-- scenes/s.yaml --
id: s
name: Crier
schema_version: "1.0"
directors: [gm]
agent_instances:
  - {instance_id: gm, profile_id: person, custom_runtime_config: {max_inbox: 1, subscribed_event_types: [talk.*]}}
  - {instance_id: "a_{n}", profile_id: person, count: 4, custom_runtime_config: {deliberation_frequency_hz: 5}}
simulation: {stop: {after: 3s}}
-- models/voices.yaml --
rules:
  - match: {agent: "a_*"}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.x, payload: 1}}, {tool: PublishEventTool, params: {type: talk.x, payload: 2}}]}
  - match: {agent: gm, events: talk.x}
    answer: {calls: [` + nobody + `]}
otherwise: {text: ""}
`
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, set := scenestest.New(t, p, ""), scenestest.Settings{Clock: agenda.Realtime, Workers: 2, Stop: &agenda.Stop{After: protocol.Duration(3 * time.Second)}}
	synctest.Test(t, func(t *testing.T) {
		if r := s.Run(t, set); r.Err != nil {
			t.Fatal(r.Err)
		}
	})
	mustTake(t, s, set, agenda.FactNotChanged)
}

// Promise 2: only what the requests of a lost turn can have caused is taken. A fact of the stage that names another
// agent, another turn or somebody who directs nothing is a difference.
func TestWhatCannotComeOfALostTurn(t *testing.T) {
	planted := func(s *scenestest.Scene, kind string, change func(protocol.Fact)) *scenestest.Scene {
		return rewritten(t, s, func(r *protocol.Record) bool { return r.Kind == kind }, change)
	}
	resting, refused, full := whispered(t, directed, letsRest), whispered(t, directed, nobody), whispered(t, crammed, shouts(70_000))
	undirected := *resting
	undirected.Def = whispered(t, "simulation: {stop: {ticks: 8}}", letsRest).Def
	for name, s := range map[string]*scenestest.Scene{
		"of an agent whose turn is known": planted(resting, agenda.FactRested, func(f protocol.Fact) { f.(*agenda.Rested).By = "bo" }),
		"of another turn":                 planted(resting, agenda.FactRested, func(f protocol.Fact) { f.(*agenda.Rested).ID = "gm/9.1" }),
		"of an order":                     planted(resting, agenda.FactRested, func(f protocol.Fact) { f.(*agenda.Rested).By = "$order" }),
		"refused to somebody else":        planted(refused, agenda.FactNotChanged, func(f protocol.Fact) { f.(*agenda.ChangeRefused).By = "bo" }),
		"no room for somebody else":       planted(full, agenda.FactNoRoom, func(f protocol.Fact) { f.(*agenda.EffectsRefused).By = "bo" }),
		"another limit":                   planted(full, agenda.FactNoRoom, func(f protocol.Fact) { f.(*agenda.EffectsRefused).Limit++ }),
		"of no director":                  &undirected,
	} {
		if r := run(t, s, scenestest.Settings{}, 2); r.Difference == nil {
			t.Errorf("%s: nobody noticed; taken %v", name, r.Taken)
		}
	}
}
