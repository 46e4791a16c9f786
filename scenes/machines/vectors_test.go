package machines_test

import (
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/knowledge"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

const vectors = `-- agent_profiles/scout.yaml --
id: scout
name: Scout
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: lore, access_permissions: [read]}]
tool_ids_inventory: [QueryKnowledgeBaseTool]
-- knowledgebases/lore.yaml --
id: lore
schema_version: "1.0"
embedding: {model: near}
entries:
  - {id: ford, entry_type: lore, content: The ford is deep.}
-- models/voices.yaml --
otherwise: {text: ""}
-- models/near.yaml --
kind: static
words: models/words/small.txt
-- models/words/small.txt --
ford 1 0
-- scenes/s.yaml --
id: s
name: Lore
schema_version: "1.0"
agent_instances: [{instance_id: ada, profile_id: scout}]
`

// Where the turn failed in which the scene asks for vectors, the agents go on before it asks again.
func TestVectorsBehindAFailure(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(vectors))), nil)
	if err != nil {
		t.Fatal(err)
	}
	made := scenestest.New(t, p, "").Made(t, scenestest.Settings{})
	s := begin(t, made)
	stage := machines.NewStage(s.StageState, machines.StageConfig{Snapshots: machines.SnapshotPolicy{Facts: -1}}, machines.Kept{}, s.Shown())
	var woken func(machines.Input) []string
	woken = func(in machines.Input) (kinds []string) {
		effects, err := stage.Decide(machines.Moment{}, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range effects {
			switch e.Act {
			case machines.ActWake:
				kinds = append(kinds, made.Name(e.Agent)+" "+e.Kind)
			case machines.ActAsk: // the channel, which has nobody to tell
				return append(kinds, woken(&machines.ServiceAnswered{View: s.Shown()})...)
			}
		}
		return kinds
	}
	if got, want := woken(&machines.Begin{}), []string{setup.ActorScene + " " + knowledge.MomentEmbed}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if got, want := woken(&machines.ActorFailed{Actor: setup.ActorScene, Error: "it broke"}), []string{"ada "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
