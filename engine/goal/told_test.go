package goal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A goal shows what its entry says beside what it holds itself, and its own words win.
func TestTold(t *testing.T) {
	told := Told{}
	told.Add("kb", "g", map[string]any{"parent": "big", "rewards": "a song"})
	told.Add("kb", "none", nil)
	if len(told) != 1 {
		t.Errorf("%v", told)
	}
	own := Goal{ID: "g", KB: "kb", Status: Active, More: &More{Parent: "other"}}
	want := map[string]any{"id": "g", "kb": "kb", "description": "", "priority": 0.0, "status": Active, "details": nil, "parent": "other", "rewards": "a song"}
	if diff := cmp.Diff(want, told.Value(&own)); diff != "" {
		t.Error(diff)
	}
	for _, g := range []Goal{{ID: "g", Status: Active}, {ID: "g", KB: "kb2"}, {ID: "none", KB: "kb"}} {
		if diff := cmp.Diff(g.Value(), told.Value(&g)); diff != "" {
			t.Errorf("%s/%s: %s", g.KB, g.ID, diff)
		}
		if diff := cmp.Diff(g.Value(), Told(nil).Value(&g)); diff != "" {
			t.Error(diff)
		}
	}
}

// Of goals with one id the first is held.
func TestOnce(t *testing.T) {
	goals := []Goal{{ID: "a", KB: "x"}, {ID: "b"}, {ID: "a", KB: "y"}, {ID: "c"}, {ID: "b"}}
	want := []Goal{{ID: "a", KB: "x"}, {ID: "b"}, {ID: "c"}}
	if diff := cmp.Diff(want, Once(goals)); diff != "" {
		t.Error(diff)
	}
	if same := Once(want); &same[0] != &want[0] || Once(nil) != nil {
		t.Error("goals of which no two have one id were copied")
	}
	if goals[2].KB != "y" {
		t.Error("the list was changed")
	}
}
