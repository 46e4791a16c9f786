package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/person"
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
