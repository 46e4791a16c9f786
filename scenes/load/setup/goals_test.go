package setup_test

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/scenestest"

	"github.com/google/go-cmp/cmp"
)

const aims = `-- agent_profiles/seeker.yaml --
id: seeker
name: Seeker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: quests, alias: q}]
initial_goals_reference: [{caiu_id: find}, {caiu_id: go}, {caiu_id: wait}]
initial_private_state_values: {home: Brill}
-- agent_profiles/driven.yaml --
id: driven
name: Driven
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: quests}]
initial_goals_reference: [{caiu_id: find}]
motivation: {}
-- knowledgebases/quests.yaml --
id: quests
schema_version: "1.0"
entries:
  - id: find
    entry_type: goal
    content: "Find {{{keeper}}}"
    goal:
      preconditions: [a lamp]
      completion_criteria: [he speaks]
      failure_criteria: [it is dawn]
      rewards: {mood: glad}
      penalties: shame
      parent_goal_id: go
  - {id: go, entry_type: goal, content: {description: "Go to {{{self.home}}} while it is {{{world.sky}}}", where: "{{{self.home}}}"}, goal: {status: active}}
  - {id: wait, entry_type: goal, title: Wait, goal: {status: pending}}
  - {id: anselm, entry_type: character, reference_key: keeper, content: "Anselm of {{{town}}}"}
  - {id: town, entry_type: place, content: Brill}
-- scenes/aims.yaml --
id: aims
name: Aims
schema_version: "1.0"
initial_world_state: {sky: grey}
agent_instances:
  - {instance_id: ada, profile_id: seeker}
  - {instance_id: bo, profile_id: seeker, initial_private_state_override: {home: Oakley}}
  - {instance_id: cy, profile_id: driven}
  - {instance_id: dee, profile_id: seeker, spawnable: true}
simulation: {stop: {ticks: 1}}
`

// The texts of initial goals have their references filled in, of the private state for each agent.
func TestTextsOfGoals(t *testing.T) {
	s := build(t, scenestest.Town(t, aims), "aims", setup.Options{Seed: 1})
	texts := func(o uint32) (all []string) {
		for _, g := range s.Machine(o).State.Goals {
			v, _ := g.Details.Value()
			all = append(all, fmt.Sprintf("%s/%s %s %s %v", g.KB, g.ID, g.Status, g.Description, v))
		}
		return all
	}
	for o, home := range []string{"Brill", "Oakley"} {
		want := []string{
			`q/find active Find Anselm of Brill Find Anselm of Brill`,
			`q/go active Go to HOME while it is grey map[description:Go to HOME while it is grey where:HOME]`,
			`q/wait pending Wait <nil>`,
		}
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "HOME", home)
		}
		if diff := cmp.Diff(want, texts(uint32(o))); diff != "" {
			t.Error(diff)
		}
	}

	m := s.Machine(3)
	if err := s.Enter(m, &agenda.Spawned{Agent: 3, State: protocol.Encode(map[string]any{"home": "Ford"})}); err != nil {
		t.Fatal(err)
	}
	if got := m.State.Goals[1].Description; got != "Go to Ford while it is grey" {
		t.Errorf("of an agent that comes with a state of its own: %q", got)
	}
}

// What the entry of a goal says is shown to its agent, whether or not rules weigh its goals.
func TestWhatEntriesOfGoalsSay(t *testing.T) {
	s := build(t, scenestest.Town(t, aims), "aims", setup.Options{Seed: 1})
	said := map[string]any{"preconditions": []any{"a lamp"}, "completion_criteria": []any{"he speaks"}, "failure_criteria": []any{"it is dawn"},
		"rewards": map[string]any{"mood": "glad"}, "penalties": "shame", "parent": "go"}
	for _, o := range []uint32{0, 2} {
		m := s.Machine(o)
		v := m.Def.Told.Value(&m.State.Goals[0])
		for name, want := range said {
			if diff := cmp.Diff(want, v[name]); diff != "" {
				t.Errorf("%s, %s: %s", m.ID.Instance, name, diff)
			}
		}
	}
	m := s.Machine(0)
	if v := m.Def.Told.Value(&m.State.Goals[2]); len(v) != 6 || len(m.Def.Told) != 1 {
		t.Errorf("a goal whose entry says nothing more: %v", v)
	}
}
