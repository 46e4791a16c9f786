package scenes_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// Both scenes write into a base that they share when they end; the inn keeps it.
const lastWords = `
-- project.json --
{"id": "shore", "model": "models/voices.yaml", "default_scene": "inn"}
-- knowledgebases/lore.yaml --
id: lore
shared: project
scenes: [inn, town]
EMBEDDING
-- models/near.yaml --
kind: static
words: models/words/small.txt
-- models/words/small.txt --
ford 1 0
-- agent_profiles/walker.yaml --
id: walker
name: Walker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: lore, access_permissions: [read, write_caiu]}]
tool_ids_inventory: [WriteToKnowledgeBaseTool]
-- workflows/farewell.yaml --
interfaceInputs: {scene: {dataFlowType: OBJECT}}
interfaceOutputs: {decision: {dataFlowType: OBJECT}}
nodes:
  - {id: c, type: Constant, configValues: {value: {calls: {tool: WriteToKnowledgeBaseTool, params: {kb: lore, entry: {entry_type: note, content: The ford is deep.}}}}}}
  - {id: out, type: GroupOutput}
edges: [{source: c, sourceHandle: value, target: out, targetHandle: decision}]
-- scenes/inn.yaml --
id: inn
name: Inn
schema_version: "1.0"
links: [{to: town, travel: 10s}]
simulation: INN
agent_instances: [{instance_id: ada, profile_id: walker, custom_runtime_config: {deliberation_frequency_hz: 0.01}}]
scene_lifecycle_workflows: {on_scene_end: farewell}
-- scenes/town.yaml --
id: town
name: Town
schema_version: "1.0"
links: [{to: inn, travel: 10s}]
simulation: TOWN
agent_instances: [{instance_id: bo, profile_id: walker, custom_runtime_config: {deliberation_frequency_hz: 1}}]
scene_lifecycle_workflows: {on_scene_end: farewell}
-- models/voices.yaml --
rules: [{match: {agent: ada, variables: {turn: 2}}, answer: {calls: [{tool: WriteToKnowledgeBaseTool, params: {entry: {entry_type: note, content: The ford is closed.}}}]}}]
otherwise: {text: ""}
`

// What a scene tells others in a wave before the next one of its agenda comes at the same moment, however long that
// wave takes: in its last one, or in one for vectors.
func TestLastWords(t *testing.T) {
	for name, c := range map[string]struct{ inn, town, over string }{
		"deliberations": {inn: "{stop: {deliberations: 3}}", town: "{stop: {after: 400s}}"},
		"limit":         {inn: "{stop: {after: 150s}}", town: "{stop: {after: 400s}}"},
		"vectors":       {inn: "{stop: {after: 250s}}", town: "{stop: {after: 400s}}", over: "embedding: {model: near}"},
		"quiet":         {inn: "{stop: {ticks: 100000}}", town: "{stop: {ticks: 100000}}"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("INN", c.inn, "TOWN", c.town, "EMBEDDING", c.over).Replace(lastWords)
			if name == "quiet" {
				text = strings.NewReplacer("deliberation_frequency_hz: 0.01", "wake_on_start: true", "deliberation_frequency_hz: 1}", "wake_on_start: true}").Replace(text)
			}
			want := ""
			for _, slow := range []string{"", "inn", "town"} {
				got := farewell(t, text, slow)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("where %s is slow:\n%s\nwant\n%s", slow, got, want)
				}
			}
			if !strings.Contains(want, travel.FactReceived) {
				t.Errorf("nothing was told:\n%s", want)
			}
		})
	}
}

// farewell runs both scenes, of which one takes an hour for each wave, and lists their digests and what came to them.
func farewell(t *testing.T, text, slow string) string {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	list := scenestest.New(t, p, "inn").Beside(t, "inn", "town")
	synctest.Test(t, func(t *testing.T) {
		for i, r := range list.Run(t, func(s *scenestest.Scene) (set scenestest.Settings) {
			set.Workers = 2
			if s.Def.Definition.ID == slow {
				set.Closing = func() { <-time.After(time.Hour) }
			}
			if s.Def.Definition.ID == "town" { // it is later than the inn when nobody has anything to do
				note := protocol.Encode([]any{map[string]any{"say": map[string]any{"text": "Good evening."}}})
				set.Orders = []*machines.Order{{Intervened: &agenda.Intervened{ID: "late", Do: note}, After: 55 * time.Second}}
			}
			return set
		}) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			b.WriteString(list[i].Def.Definition.ID + " " + r.Digest() + "\n")
		}
	})
	for _, s := range list {
		s.Facts(t, func(r protocol.Record, _ protocol.Fact) {
			b.WriteString(s.Def.Definition.ID + " " + r.Time.String() + " " + r.Kind + "\n")
		}, travel.FactReceived, travel.FactPosted, travel.FactDelivered, agenda.FactEnded)
	}
	return b.String()
}
