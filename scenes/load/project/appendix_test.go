package project

import (
	"os"
	"reflect"
	"testing"

	"tavernsim/engine/agent/profile"
)

func loadAppendix(t *testing.T) *Project {
	t.Helper()
	p, err := Load(os.DirFS("testdata/appendix"), Options{Name: "appendix", Tools: []string{
		"ReadPrivateStateTool", "UpdatePrivateStateTool", "QueryKnowledgeBaseTool", "WriteToKnowledgeBaseTool",
		"PublishEventTool", "ReadWorldStateTool", "PanelInteractionTool"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Promise 3. Appendix A, verbatim with its comments, loads; its references are followed by
// path and by alias.
func TestAppendixA(t *testing.T) {
	p := loadAppendix(t)
	f, ok := p.Profile("comfytavern_advanced_npc_v1.2")
	if !ok {
		t.Fatal(p.ProfileIDs())
	}
	d := f.Definition
	for _, tc := range []struct{ what, got, want string }{
		{"name", d.Name, "Advanced NPC - Elara the Herbalist"},
		{"version", d.Version, "1.2.0"},
		{"core", d.CoreDeliberationWorkflowID, "core_npc_deliberation_v1"},
		{"first skill", d.SkillWorkflowIDsInventory[0], "npc_greet_player_skill"},
		{"reflection by name", d.ReflectionWorkflowID, "npc_reflect_on_day_skill"},
		{"goal base by alias", d.InitialGoalsReference[0].KBAliasOrID, "kb_elara_personal_journal_v1"},
		{"filter", f.Subscriptions[3].FilterText(), "payload.target_npc_id === self.instance_id"},
		{"metadata", d.CustomMetadata["creation_date"].(string), "2025-06-12"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.what, tc.got, tc.want)
		}
	}
	if len(d.SkillWorkflowIDsInventory) != 5 || len(d.ToolIDsInventory) != 7 || len(f.Subscriptions) != 4 {
		t.Errorf("%d skills, %d tools, %d subscriptions", len(d.SkillWorkflowIDsInventory), len(d.ToolIDsInventory), len(f.Subscriptions))
	}
	if ref, ok := f.KnowledgeBase("myJournal"); !ok || ref.SourceID != "kb_elara_personal_journal_v1" {
		t.Error("alias", ref)
	}
	if err := f.CheckState(map[string]any{"mood": "sad", "player_reputation": int64(1)}); err == nil {
		t.Error("a mood outside the enumeration is valid")
	}
}

// Appendix B, verbatim with its comments, loads; what it overrides wins (§2.3.1),
// the rest comes from the profile, and the schema's default fills nothing here.
func TestAppendixB(t *testing.T) {
	p := loadAppendix(t)
	s, err := p.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Agents(0)
	if err != nil || a.Len() != 2 {
		t.Fatal(a, err)
	}
	elara := a.At(0)
	want := map[string]any{
		"mood": "curious", "player_reputation": int64(5),
		"known_recipes_mastery":  map[string]any{"healing_potion_simple": 0.9, "stamina_draught": 0.6},
		"active_personal_quests": []any{"elara_find_rare_herb_quest"},
	}
	if !reflect.DeepEqual(elara.State, want) {
		t.Errorf("state %v", elara.State)
	}
	if len(elara.Goals) != 1 || elara.Goals[0].CAIUID != "goal_elara_warn_player_about_woods" {
		t.Errorf("goals %+v", elara.Goals)
	}
	if elara.Runtime.DeliberationFrequencyHz != 0.5 || elara.Runtime.MaxModelCalls != 8 {
		t.Errorf("runtime %+v", elara.Runtime)
	}
	if got := a.At(1).State["current_location_tag"]; got != "forest_outskirts" {
		t.Error("player at", got)
	}
	if d := s.Definition; d.EventBusConfig.DefaultEventTTLSeconds != 3600 || d.EventBusConfig.MaxDepth != 32 {
		t.Errorf("event bus %+v", d.EventBusConfig)
	}
	want2 := Lifecycle{Start: "forest_outskirts_setup", End: "generic_encounter_wrapup",
		Events: map[string]string{"player_leaves_area": "handle_player_exit_forest_outskirts"}}
	if !reflect.DeepEqual(s.Lifecycle, want2) {
		t.Errorf("lifecycle %+v", s.Lifecycle)
	}
	if got := s.Lifecycle.Events["player_leaves_area"]; got == "" {
		t.Error("the event player.leaves.area has no workflow")
	}
	if len(p.Warnings) != 1 { // no stop condition
		t.Errorf("warnings %v", p.Warnings)
	}
}

// A workflow is found by id, and by path in every spelling.
func TestWorkflowNames(t *testing.T) {
	p := loadAppendix(t)
	for _, ref := range []string{"npc_greet_player_skill", "workflows/skills/npc_greet_player_skill.json",
		"workflows/skills/npc_greet_player_skill", "skills/npc_greet_player_skill.json", "skills/npc_greet_player_skill",
		"./workflows/skills/npc_greet_player_skill.json", "skills/npc_greet_player_skill.yaml"} {
		if w, ok := p.Workflow(ref); !ok || w.ID != "npc_greet_player_skill" {
			t.Errorf("%q is not found", ref)
		}
	}
	for _, ref := range []string{"", ".", "/", "workflows/", "..", "../appendix/workflows/skills/npc_greet_player_skill.json",
		"workflows/../workflows/skills/npc_greet_player_skill", "npc_greet_player_skill.json", "skills", "skills//npc_greet_player_skill"} {
		if w, ok := p.Workflow(ref); ok {
			t.Errorf("%q finds %s", ref, w.ID)
		}
	}
	if w, ok := p.Workflow("workflows/player/proxy_turn.json"); !ok || w.ID != "player/proxy_turn" {
		t.Error("a workflow without an id is named by its path")
	}
}

// The defaults that the loader fills in are those of the agent engine.
func TestRuntimeDefaults(t *testing.T) {
	var c profile.RuntimeConfig
	want := c.Limits()
	FillRuntime(&c)
	if got := c.Limits(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
