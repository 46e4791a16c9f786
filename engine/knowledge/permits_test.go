package knowledge

import (
	"testing"

	"tavernsim/protocol"
)

// Minds §10, permissions per entry: what agents would change of a locked entry waits for review, whatever
// they may do; the status of its goal does not, and no agent locks or unlocks.
func TestLockedEntries(t *testing.T) {
	b, err := New(KnowledgeBase{ID: "village", Learning: &Learning{Keep: 1}, Entries: []Entry{
		{ID: "law", EntryType: "lore", Content: "No blades.", Locked: true},
		{ID: "feast", EntryType: "goal", Content: "A feast.", Locked: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewState(b)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		op    Op
		entry map[string]any
		want  string
	}{
		{OpUpdate, map[string]any{"id": "law", "content": "Blades for all."}, "suggested"},
		{OpArchive, map[string]any{"id": "law"}, "suggested"},
		{OpSupersede, map[string]any{"id": "new", "entry_type": "lore", "content": "Blades.", "supersedes": []any{"law"}, "evidence": []any{"me"}}, "suggested"},
		{OpUpdate, map[string]any{"id": "law", "locked": false}, "suggested"},
		{OpUpdate, map[string]any{"id": "feast", "goal": map[string]any{"status": "completed"}}, "update feast"},
		{OpCreate, map[string]any{"id": "mine", "entry_type": "lore", "content": "Mine.", "locked": true}, "create mine"},
		{OpUpdate, map[string]any{"id": "mine", "content": "Still mine."}, "update mine"},
		{OpCreate, map[string]any{"id": "other", "entry_type": "lore", "content": "No law.", "conflicts_with": []any{"law"}}, "create other"},
	} {
		var got string
		if s, got = learn(s, "a/1", c.op, c.entry, PermitCriteria); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	if law := get(t, s, "law"); get(t, s, "mine").Locked || !law.Locked || law.Content != "No blades." || len(law.ConflictsWith) > 0 {
		t.Error("an agent has locked an entry, or changed a locked one")
	}
	s = fold1(s, Decide(s, Commit{Now: noon, Requests: []Request{{ID: "r", KB: "village", Op: OpReview, Suggestion: 1, Accept: true}, {ID: "u", KB: "village", Op: OpUpdate, Entry: map[string]any{"id": "feast", "content": "Two feasts."}}}}))
	if get(t, s, "law").Content != "Blades for all." || get(t, s, "feast").Content != "Two feasts." {
		t.Error("neither a review nor the scene may change it")
	}
}

// Minds §10, permissions per type: an agent with write_types writes and suggests these alone, and
// changes none of another type into one.
func TestWriteTypes(t *testing.T) {
	s := village(t, &Learning{})
	for _, mode := range []Mode{ModeWrite, ModeSuggest} {
		for name, c := range map[string]struct {
			op    Op
			entry map[string]any
			kind  string
		}{
			"its type":        {OpCreate, lesson("Floods."), ""},
			"another":         {OpCreate, map[string]any{"entry_type": "lore", "content": "x"}, FactRefused},
			"into its type":   {OpUpdate, map[string]any{"id": "ford", "entry_type": "failed_lesson"}, FactRefused},
			"archive another": {OpArchive, map[string]any{"id": "ford"}, FactRefused},
			"supersede": {OpSupersede, map[string]any{"entry_type": "failed_lesson", "content": "y", "supersedes": []any{"ford"}, "evidence": []any{"me"}},
				FactRefused},
		} {
			q := Request{ID: "a/1", KB: "village", By: "a", Op: c.op, Mode: mode, Permissions: []string{PermitWrite}, Types: []string{"failed_lesson"}, Entry: c.entry}
			back, err := RequestOf(protocol.Encode(q.Value()))
			if err != nil {
				t.Fatal(err)
			}
			facts := Decide(s, Commit{Now: noon, Requests: []Request{back}})
			if refused := facts[0].FactKind() == FactRefused; refused != (c.kind == FactRefused) {
				t.Errorf("%s, %s: %#v", name, mode, facts[0])
			}
			if f, ok := facts[0].(*Refused); ok && f.Reason != protocol.KindDenied {
				t.Errorf("%s: %s", name, f.Reason)
			}
		}
	}
}
