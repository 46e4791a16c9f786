package verify_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// What an older program took, in definitions, in an order and in calls of an agent, leaves the facts that it left:
// delete keeps the value that nothing reads, and a zero in an entry that an agent writes is what is not given.
func TestWhatOlderProgramsTook(t *testing.T) {
	text := `-- scenes/s.yaml --
id: s
name: Older
schema_version: "1.0"
agent_instances: [{instance_id: a, profile_id: clerk}]
simulation: {stop: {after: 5s}}
script:
  states:
    - id: s
      on_enter: [{world: {path: gone, op: delete, value: 3}}, {private_state: {agent: a, path: gone, op: delete, value: 4, reason: y}}]
-- agent_profiles/clerk.yaml --
id: clerk
name: Clerk
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: kb, access_permissions: [read, write_caiu]}]
tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool, WriteToKnowledgeBaseTool]
-- knowledgebases/kb.yaml --
{id: kb, entries: []}
-- models/voices.yaml --
rules:
  - match: {variables: {turn: 1}}
    answer:
      calls:
        - {tool: RequestWorldStateUpdateTool, params: {path: gone, op: delete, value: ""}}
        - {tool: UpdatePrivateStateTool, params: {path: gone, op: delete, value: 5}}
        - {tool: WriteToKnowledgeBaseTool, params: {entry: {id: g, entry_type: goal, content: y, goal: {status: active, deadline: 0s, recurs: 0s}}}}
        - {tool: WriteToKnowledgeBaseTool, params: {entry: {id: w, entry_type: lore, content: z, activation_criteria: {always: true, group: x, weight: 0}}}}
otherwise: {text: ""}
`
	p, err := project.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), project.Options{Name: "test", Tools: agent.ProfileTools(), Kinds: setup.NodeKinds(), Stops: true, Begun: true})
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	s.Run(t, scenestest.Settings{Orders: []*machines.Order{{After: 2 * time.Second, Had: true, Intervened: &agenda.Intervened{ID: "o", Do: protocol.Encode([]any{
		map[string]any{"private_state": map[string]any{"agent": "a", "path": "gone", "op": "delete", "value": int64(6), "reason": "y"}},
		map[string]any{"world": map[string]any{"path": "gone", "op": "delete", "value": int64(7)}},
	})}}}})
	var updates []string
	written := map[string]string{}
	s.Facts(t, func(_ protocol.Record, f protocol.Fact) {
		switch f := f.(type) {
		case *agenda.EffectsDeferred:
			for _, e := range f.Effects {
				if e.To == worldstate.Service && !strings.Contains(shown(t, e.Data), "delete 3 ") {
					t.Errorf("the script asks for %s", shown(t, e.Data))
				}
			}
		case *agentfact.StateUpdated:
			updates = append(updates, shown(t, f.Value))
		case *agentfact.CallMade:
			if f.Error != "" {
				t.Errorf("%s: %s", f.Tool, f.Error)
			}
		case *knowledge.Written:
			written[f.EntryID] = shown(t, f.Entry)
		case *knowledge.Refused:
			t.Errorf("%+v", f)
		}
	})
	if slices.Sort(updates); strings.Join(updates, " ") != "4 5 6" {
		t.Errorf("private states were changed with %v", updates)
	}
	if keys := slices.Sorted(maps.Keys(written)); strings.Join(keys, " ") != "g w" || strings.Contains(written["g"]+written["w"], "deadline") || strings.Contains(written["w"], "weight") {
		t.Errorf("written %v", written)
	}
	if r := run(t, s, scenestest.Settings{}, 2); r.Difference != nil {
		t.Errorf("%+v\nrecorded %+v\ndecided  %+v", r.Difference, r.Difference.Recorded, r.Difference.Decided)
	}
}

func shown(t *testing.T, raw protocol.Raw) string {
	t.Helper()
	v, err := raw.Value()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(v)
}
