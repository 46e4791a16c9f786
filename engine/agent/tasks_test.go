package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/person"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/agent/publish"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// TestAnswerLater: an answer turns after the question was perceived reaches the
// asker, also over a snapshot; an unknown task is refused, and the agent is told.
func TestAnswerLater(t *testing.T) {
	m := machine(t, echo())
	for i := range maxOwed + 1 {
		e := event(fmt.Sprint("q", i), 0)
		e.TaskID, e.ExpectsReply, e.Source = fmt.Sprint("task", i), true, fmt.Sprint("asker", i)
		m.Hear(e)
		if i%16 == 0 {
			decide(t, m, uint64(i+1))
		}
	}
	decide(t, m, 90)
	raw := bytesOf(t, m)
	back := machine(t, echo())
	var err error
	if back.State, err = Restore(protocol.NewCodec(), raw); err != nil {
		t.Fatal(err)
	}
	same(t, bytesOf(t, back), raw, "the state over its snapshot")
	for _, c := range []struct{ task, target, asker string }{
		{fmt.Sprint("task", maxOwed), "", fmt.Sprint("asker", maxOwed)}, {"task1", "", "asker1"}, {"task0", "", ""}, {"made up", "", ""}, {"made up", "bo", "bo"},
	} {
		say := map[string]any{"type": "later", "task_id": c.task}
		if c.target != "" {
			say["target_agent_instance_id"] = c.target
		}
		back.State.Private = map[string]any{"decision": map[string]any{"events": say}}
		d := decide(t, back, 100)
		to := ""
		for _, r := range d.Requests {
			draft, err := protocol.ReadDraft(r.Data)
			if err != nil {
				t.Fatal(err)
			}
			to = strings.Join(draft.Targets, " ")
		}
		if to != c.asker {
			t.Errorf("%s goes to %q, want %q", c.task, to, c.asker)
		}
		if told := slices.ContainsFunc(calls(d), func(s string) bool { return strings.Contains(s, "no question with it has reached you") }); told != (c.asker == "") {
			t.Errorf("%s: refused %t: %q", c.task, told, calls(d))
		}
	}
}

// What is made for models alone is no part of what a player is asked.
func TestPlayersAreNotShownTheMemoryOfModels(t *testing.T) {
	task := person.Act(&tooltask.Player{By: "mira"}, []string{inputConversation, memory.Base, memory.Summary, "mood"}, func(name string) any { return "the " + name })
	if asked := string(task.Params); strings.Contains(asked, "the "+memory.Base) || strings.Contains(asked, "the "+memory.Summary) || strings.Contains(asked, "the conversation") || !strings.Contains(asked, "the mood") {
		t.Errorf("%q", asked)
	}
}

// Whatever a tool puts a parameter into can be read again; what is too deep for that is refused.
func TestNoParameterIsTooDeep(t *testing.T) {
	nested := func(levels int) (v any) {
		v = int64(1)
		for range levels {
			v = []any{v}
		}
		return v
	}
	object := func(levels int) any {
		return map[string]any{"id": "e", "entry_type": "fact", "title": "t", "content": nested(levels - 1)}
	}
	for _, c := range []struct {
		tool    string
		params  func(levels int) map[string]any
		refused bool // at the bound, too: for another reason, or because the place is deep
	}{
		{publish.Tool, func(n int) map[string]any {
			return map[string]any{"type": "a.b", "payload": map[string]any{"v": nested(n - 1)}}
		}, false},
		{"UpdatePrivateStateTool", func(n int) map[string]any { return map[string]any{"path": "a", "value": nested(n - 2)} }, false},
		{"UpdatePrivateStateTool", func(n int) map[string]any { return map[string]any{"path": "a", "op": "push", "value": nested(n - 2)} }, false},
		{"UpdatePrivateStateTool", func(n int) map[string]any { return map[string]any{"value": map[string]any{"a": nested(n - 2)}} }, false},
		{"UpdatePrivateStateTool", func(n int) map[string]any { return map[string]any{"path": "a.b.c.d.e.f", "value": nested(n - 2)} }, true},
		{"RequestWorldStateUpdateTool", func(n int) map[string]any { return map[string]any{"path": "a", "value": nested(n)} }, false},
		{toolWriteKnowledge, func(n int) map[string]any { return map[string]any{"entry": object(n)} }, false},
		{tooltask.ReportTool, func(n int) map[string]any { return map[string]any{"task_id": "t", "result": nested(n)} }, false},
		{"Outside", func(n int) map[string]any { return map[string]any{"q": nested(n)} }, false},
	} {
		for _, levels := range []int{protocol.MaxNested, protocol.MaxNested + 1} {
			m := machine(t, echo(), func(d *Definition) {
				d.Knowledge = []profile.Access{{ID: "kb", Alias: "kb", Write: true}}
				d.External = []External{{Kind: "outside", Async: true, Spec: protocol.ToolSpec{Name: "Outside", Parameters: map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{}}}}}}
				d.Tools = append(slices.Clone(d.Tools), "Outside", tooltask.ReportTool)
			})
			e := event("asks", 0)
			e.TaskID = "t"
			m.Hear(e)
			m.State.Private = map[string]any{"decision": map[string]any{"calls": map[string]any{"tool": c.tool, "params": c.params(levels)}}}
			d := decide(t, m, 1)
			if said := calls(d); (levels > protocol.MaxNested || c.refused) != strings.Contains(strings.Join(said, " "), "nested deeper") {
				t.Errorf("%s with %d levels: %q", c.tool, levels, said)
			}
			for _, r := range d.Requests {
				if err := protocol.Check(r.Data); err != nil {
					t.Errorf("%s with %d levels: request: %v", c.tool, levels, err)
				}
			}
			for _, f := range d.Facts {
				if raw, err := protocol.NewCodec().Marshal(f); err != nil || protocol.Check(raw) != nil {
					t.Errorf("%s with %d levels: %T: %v, %v", c.tool, levels, f, err, protocol.Check(raw))
				}
			}
			m.State.Private["decision"] = nil
			if _, err := Restore(protocol.NewCodec(), bytesOf(t, m)); err != nil {
				t.Errorf("%s with %d levels: %v", c.tool, levels, err)
			}
		}
	}
}

// What a read gives an agent is kept with room for the observation of it.
func TestNoReadIsTooDeep(t *testing.T) {
	deep := any(int64(1))
	for range protocol.MaxDepth - 1 {
		deep = []any{deep}
	}
	m := machine(t, echo())
	m.State.Private = map[string]any{"x": deep, "decision": map[string]any{"calls": map[string]any{"tool": "ReadPrivateStateTool", "params": map[string]any{}}}}
	if said := calls(decide(t, m, 1)); len(said) != 1 || !strings.HasSuffix(said[0], " ok") {
		t.Fatal(said)
	}
	m.State.Private = map[string]any{}
	if _, err := Restore(protocol.NewCodec(), bytesOf(t, m)); err != nil {
		t.Error(err)
	}
}
