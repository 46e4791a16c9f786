package learn

import (
	"fmt"
	"reflect"
	"testing"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/goal"
	"tavernsim/protocol"
)

// §2.1.5, minds §12: the lessons of a turn are credited once a goal ended, by base.
func TestCredit(t *testing.T) {
	var s Shown
	for _, l := range [][2]string{{"roads", "a"}, {"own", "x"}, {"roads", "b"}, {"roads", "a"}} {
		s.Show(l[0], l[1])
	}
	ends := func(status string) protocol.Fact {
		return &agentfact.GoalsUpdated{Goal: goal.Goal{ID: "g", Status: status}}
	}
	changes := func(status string) protocol.Fact {
		return &agentfact.GoalChanged{Goal: goal.Goal{ID: "g", Status: status}}
	}
	for _, c := range []struct {
		facts []protocol.Fact
		want  string
	}{
		{nil, ""},
		{[]protocol.Fact{ends(goal.Active), &agentfact.Said{}}, ""},
		{[]protocol.Fact{&agentfact.GoalsUpdated{Goal: goal.Goal{ID: "g", Status: goal.Completed}, Removed: true}}, ""},
		{[]protocol.Fact{&agentfact.GoalChanged{Goal: goal.Goal{ID: "g", Status: goal.Failed}, From: goal.Failed}}, ""},
		{[]protocol.Fact{ends(goal.Failed)}, "roads used [a b] false; own used [x] false; "},
		{[]protocol.Fact{&agentfact.GoalsUpdated{Goal: goal.Goal{ID: "done", Status: goal.Completed}}}, ""}, // only its text
		{[]protocol.Fact{&agentfact.GoalsUpdated{Goal: goal.Goal{ID: "done", Status: goal.Active}}, &agentfact.GoalsUpdated{Goal: goal.Goal{ID: "done", Status: goal.Completed}}}, "roads used [a b] true; own used [x] true; "},
		{[]protocol.Fact{changes(goal.Failed), changes(goal.Completed)}, "roads used [a b] true; own used [x] true; "},
	} {
		got := ""
		for _, q := range s.Credit(c.facts, []goal.Goal{{ID: "done", Status: goal.Completed}}) {
			got += fmt.Sprintf("%s %s %v %v; ", q.KB, q.Op, q.Entry["ids"], q.Entry["helped"])
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Minds §12: an entry that names no base goes to that of its type, or of all other types.
func TestWriteByType(t *testing.T) {
	writes := map[string]string{"best_practice": "guild", "*": "diary"}
	for kind, want := range map[string]any{"best_practice": "guild", "best_practice_summary": "guild", "note": "diary"} {
		if got := Write(map[string]any{"entry_type": kind}, writes); got["kb"] != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	if got := Write(map[string]any{"entry_type": "note"}, map[string]string{"best_practice": "guild"}); got["kb"] != nil {
		t.Error(got)
	}
}

func TestWrite(t *testing.T) {
	e := map[string]any{"id": "x", "kb": "own", "op": "update"}
	if got := Write(e, map[string]string{"*": "other"}); !reflect.DeepEqual(got, map[string]any{"entry": map[string]any{"id": "x"}, "kb": "own", "op": "update"}) || len(e) != 3 {
		t.Errorf("%v of %v", got, e)
	}
	if got := Write(map[string]any{"id": "x"}, nil); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
