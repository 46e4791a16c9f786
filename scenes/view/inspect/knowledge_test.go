package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/scenes/run/runner"
)

// Minds §11: a turn that was is decided again from the fold, and says why entries were
// active in it.
func TestKnowledgeOfAPastTurn(t *testing.T) {
	files := map[string]string{
		"project.json":               `{"id": "p", "name": "P", "version": "1.0.0", "schema_version": "1.0", "model": "models/voice.yaml"}`,
		"agent_profiles/keeper.yaml": `{id: keeper, name: Keeper, version: "1.0.0", schema_version: "1.0", core_deliberation_workflow_id: std/core, knowledge_base_references: [{source_id: lore}]}`,
		"knowledgebases/lore.yaml": `{id: lore, schema_version: "1.0", entries: [
 {id: ford, entry_type: lore, content: "It floods.", activation_criteria: {keywords: [ford], scan: {history: 1}, sticky: 1, cooldown: 2}},
 {id: late, entry_type: lore, content: "Night falls.", activation_criteria: {always: true, delay: 2}},
 {id: mill, entry_type: lore, content: "It turns.", activation_criteria: {keywords: [mill]}}]}`,
		"scenes/s.yaml":     `{id: s, name: S, schema_version: "1.0", agent_instances: [{instance_id: ada, profile_id: keeper, custom_runtime_config: {deliberation_frequency_hz: 1}}], simulation: {stop: {after: 5s}}}`,
		"models/voice.yaml": `{otherwise: {text: "To the ford."}}`,
	}
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, ranProject(t, dir, runner.Options{}, nil))
	for turn, want := range map[int]string{
		1: "late false delay: from turn 3 on",
		2: "ford true its criteria hold; late false delay: from turn 3 on",
		3: "ford true sticky: active before; late true its criteria hold",
		4: "late true its criteria hold; ford false cooldown: until turn 5",
	} {
		d, err := s.Deliberation(fmt.Sprint("ada/", turn))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range d.Knowledge {
			got = append(got, fmt.Sprint(k.Entry, " ", k.In, " ", k.Why))
		}
		if g := strings.Join(got, "; "); g != want || d.Differs != "" {
			t.Errorf("turn %d: %s; want %s (differs %q)", turn, g, want, d.Differs)
		}
	}
}
