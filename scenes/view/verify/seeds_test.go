package verify_test

import (
	"fmt"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/script"
	"tavernsim/engine/script/turns"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/scenestest"
)

// chancy is a scene whose turns, ties and agents draw.
func chancy(t *testing.T) *scenestest.Scene {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(`-- scenes/s.yaml --
id: s
name: Chancy
schema_version: "1.0"
agent_instances: [{instance_id: "a_{n}", profile_id: person, count: 4, custom_runtime_config: {deliberation_frequency_hz: 1}}]
initial_world_state: {winner: ""}
simulation: {stop: {ticks: 24}}
turns: {policy: initiative, by: roll}
script:
  start: vote
  states:
    - id: vote
      collect: [{id: ballot, event: talk.cast, from: ["profile:person"], tally: choice, schema: {type: object, required: [choice]}, until: {count: 4, after: 10s}}]
      transitions: [{to: told, when: "collected.ballot.open === false"}]
    - id: told
      on_enter: [{world: {path: winner, value: "=collected.ballot.winner"}}]
      transitions: [{to: vote, after: 1s}]
-- models/voices.yaml --
rules:
  - match: {agent: a_1}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.cast, payload: {choice: x}}}, {tool: GenerateRandomNumberTool}]}
  - match: {agent: a_2}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.cast, payload: {choice: y}}}, {tool: GenerateRandomNumberTool}]}
  - match: {agent: a_3}
    answer: {calls: [{tool: PublishEventTool, params: {type: talk.cast, payload: {choice: x}}}, {tool: GenerateRandomNumberTool}]}
otherwise:
  calls: [{tool: PublishEventTool, params: {type: talk.cast, payload: {choice: y}}}, {tool: GenerateRandomNumberTool}]
`))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// What draws in a fork with another seed draws by that of its parent before the fork, and by its own behind it: the turns,
// the ties and the agents.
func TestSeedsOfAFork(t *testing.T) {
	for _, at := range []uint64{1, 2, 9, 20} {
		s := chancy(t)
		if r := s.Run(t, scenestest.Settings{Seed: 1}); r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		forkedAt(t, s, at, 7)
		set := scenestest.Settings{Seed: 7}
		if r := s.Run(t, set); r.Err != nil || !r.Final {
			t.Fatal(r)
		}
		if r := run(t, s, set, 1); r.Difference != nil || r.Deliberations < 12 {
			t.Errorf("forked behind wave %d: %+v, %+v", at, r, r.Difference)
		}
	}
	drawn := func(seed uint64) (orders, winners string) {
		s := chancy(t)
		s.Run(t, scenestest.Settings{Seed: seed})
		s.Facts(t, func(_ protocol.Record, f protocol.Fact) {
			switch x := f.(type) {
			case *turns.Began:
				orders += fmt.Sprint(x.Order)
			case *script.Closed:
				winners += fmt.Sprint(*x)
			}
		})
		return orders, winners
	}
	orders, winners := drawn(1)
	if o, w := drawn(7); o == orders || w == winners || w == "" {
		t.Errorf("the seeds draw the same: %s\n%s", o, w)
	}
}

// forkedAt makes a scene a fork of itself with a seed.
func forkedAt(t *testing.T, s *scenestest.Scene, wave, seed uint64) {
	t.Helper()
	store, err := persistence.Open(s.Dir, persistence.Options{Traces: history.Traces()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	id := s.Def.Definition.ID
	if err := store.CutAfter(id, wave); err != nil {
		t.Fatal(err)
	}
	j, err := store.Journal(id)
	if err == nil {
		_, err = history.Fork(s.Made(t, scenestest.Settings{Seed: seed}), j, history.Options{}, &agenda.Forked{Parent: "s", Wave: wave, Seed: seed}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}
