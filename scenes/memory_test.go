package scenes_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/scenestest"
)

// Minds §10, §12: a society lives on: what its agents remember, what they are asked and what a
// day writes stays bounded, and the run has one digest. SIMD_TEST_LONG=1 lets it live 300 days.
func TestASocietyRemembers(t *testing.T) {
	days := 6
	if scenestest.Long() {
		days = 300
	} else if testing.Short() {
		t.Skip("many days of what other scenes do")
	}
	const agents, keep = 6, 30
	p, err := scenestest.Load(scenestest.Files(txtar.Parse(fmt.Appendf(nil, `
-- agent_profiles/villager.yaml --
id: villager
name: Villager
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
reflection_workflow_id: std/reflect
knowledge_base_references: [{source_id: diary, access_permissions: [read, write_caiu]}]
subscribed_event_types: [agent.said]
tool_ids_inventory: [SleepTool, WriteToKnowledgeBaseTool, UpdateGoalTool, UpdatePrivateStateTool, QueryKnowledgeBaseTool]
memory: {episodes: {keep: %d, recall: 4, half_life: 48h}}
reflection: {before_sleep: true, min_interval: 12h, max_per_day: 1}
custom_runtime_config: {deliberation_frequency_hz: 0.00007}
-- knowledgebases/diary.yaml --
id: diary
schema_version: "1.0"
learning: {keep: 20}
entries: []
-- models/voices.yaml --
rules:
  - match: {purpose: reflect}
    answer: '{"entries": [{"entry_type": "best_practice", "content": "On day {{.variables.now}} the {{pick "ford" "bridge" "mill"}} was {{pick "dry" "closed" "crowded" "empty"}}, with {{pick "bread" "mint" "fish"}}."}]}'
  - match: {chance: 0.2}
    answer: {calls: [{tool: SleepTool, params: {seconds: 28800, wake_on: critical}}]}
  - match: {chance: 0.5}
    answer: "At the {{pick "ford" "bridge" "mill" "inn"}} I saw {{pick "bread" "mint" "fish" "a cart"}} in turn {{.variables.turn}}."
  - match: {chance: 0.3}
    answer: {calls: [{tool: QueryKnowledgeBaseTool, params: {kb: episodes, query: "bread at the mill", limit: 2}}, {tool: UpdateGoalTool, params: {id: day, status: completed}}]}
otherwise: ""
-- scenes/s.yaml --
id: s
name: Village
schema_version: "1.0"
agent_instances: [{instance_id: "v_{n}", profile_id: villager, count: %d}]
simulation: {tick: 10m, seed: 3, stop: {after: %dh}}
`, keep, agents, 24*days))), nil)
	if err != nil {
		t.Fatal(err)
	}
	first := scenestest.New(t, p, "s")
	want := first.Run(t, scenestest.Settings{Workers: 1})
	if want.Err != nil {
		t.Fatal(want)
	}
	third := func(at protocol.Time) int { // of the days
		return min(int(at.Sub(protocol.TimeOf(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))/(24*time.Hour))*3/days, 2)
	}
	var asked [3]int64 // the longest prompt, in tokens
	var written, reflected [3]int
	first.Facts(t, func(r protocol.Record, fact protocol.Fact) {
		k := third(r.Time)
		written[k] += len(r.Data)
		switch x := fact.(type) {
		case *agentfact.ModelAnswered:
			asked[k] = max(asked[k], x.Input)
		case *agentfact.Reflected:
			reflected[k]++
		}
	})
	if reflected[2] == 0 || asked[2] > asked[1]*5/4 || written[2] > written[1]*5/4 {
		t.Errorf("by thirds of %d days: longest prompts %v tokens, facts %v bytes, reflections %v: they grow, or nobody reflects", days, asked, written, reflected)
	}
	state := first.Fold(t, scenestest.Settings{})
	kept := 0
	for _, m := range state.Agents {
		if n := len(m.State.Mind().Episodes()); n > keep || n == 0 && m.ID.Instance != setup.ActorScene {
			t.Errorf("%s remembers %d turns; at most %d", m.ID.Instance, n, keep)
		}
	}
	if err := state.Parts(func(_ string, raw []byte) { kept += len(raw) }); err != nil {
		t.Fatal(err)
	}
	if most := agents*(keep*800+32<<10) + 64<<10; kept > most {
		t.Errorf("a snapshot has %d bytes; want %d at most", kept, most)
	}
	t.Logf("%d days: prompts %v tokens, facts %v bytes, reflections %v, a snapshot %d bytes", days, asked, written, reflected, kept)
	mustGoOn(t, p, want, 200, 9, 40)
}
