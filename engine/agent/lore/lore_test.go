package lore_test

import (
	"fmt"
	"testing"

	"tavernsim/engine/agent/lore"
	"tavernsim/engine/agent/private"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

func books(t *testing.T, entries ...knowledge.Entry) *lore.Books {
	t.Helper()
	for i := range entries {
		entries[i].EntryType = "lore"
	}
	base, err := knowledge.New(knowledge.KnowledgeBase{ID: "kb", Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	bases, err := knowledge.NewState(base)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := world.FromValue(map[string]any{"weather": "rain"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &lore.Books{Access: profile.Accesses{{Alias: "mine", ID: "kb", Read: true}}, Bases: bases, World: doc, Own: &private.State{Private: map[string]any{"mood": map[string]any{"now": "merry"}}}}
}

func ask(said *int) *lore.Ask {
	return &lore.Ask{Who: criteria.Who{Instance: "ada", Profile: "smith"}, Scene: "s", Turn: 1, Draw: protocol.NewDraw(1), Learnt: func(string, string) {},
		History: func() []criteria.Line { *said++; return []criteria.Line{{Who: "bo", Text: "the ford"}} }, Observations: func() []criteria.Line { return nil }}
}

func ids(f *lore.Found) (out []string) {
	for _, v := range f.Entries {
		out = append(out, fmt.Sprint(v.(map[string]any)["id"]))
	}
	return out
}

// Promise 1: sources are made for a base that scans, and for no other.
func TestSourcesAreMadeWhenWanted(t *testing.T) {
	said := 0
	f := books(t, knowledge.Entry{ID: "a", Content: "x", ActivationCriteria: &criteria.Activation{Tags: []string{"smith"}}}).Active(ask(&said))
	if said != 0 || fmt.Sprint(ids(&f)) != "[a]" {
		t.Errorf("%d, %v", said, ids(&f))
	}
	word := func(id, word string, scan criteria.Scan) knowledge.Entry {
		return knowledge.Entry{ID: id, Content: "x", ActivationCriteria: &criteria.Activation{Keywords: []string{word}, Scan: &scan}}
	}
	f = books(t, word("a", "bo: the ford", criteria.Scan{History: 1}), word("b", "rain", criteria.Scan{World: []string{"weather"}}), word("c", "merry", criteria.Scan{Self: []string{"mood"}}), word("d", "null", criteria.Scan{Self: []string{"no"}})).Active(ask(&said))
	if said != 1 || fmt.Sprint(ids(&f)) != "[a b c]" {
		t.Errorf("%d, %v", said, ids(&f))
	}
}

// Promise 2: a reference without an end, and a condition that fails; at most so many.
func TestWarnings(t *testing.T) {
	entries := []knowledge.Entry{
		{ID: "a", Content: "{{{nowhere}}}", ActivationCriteria: &criteria.Activation{Always: true}},
		{ID: "b", Content: "x", ActivationCriteria: &criteria.Activation{Condition: "world.weather.a.b > 1"}},
	}
	said := 0
	f := books(t, entries...).Active(ask(&said))
	if len(f.Warnings) != 2 || f.Warnings[0].Entry != "b" || f.Warnings[1] != (lore.Warning{KB: "mine", Entry: "a", Message: "reference {{{nowhere}}}: missing reference"}) {
		t.Errorf("%+v", f.Warnings)
	}
	for i := range 9 {
		entries = append(entries, knowledge.Entry{ID: fmt.Sprint("c", i), Content: "{{{nowhere}}}", ActivationCriteria: &criteria.Activation{Always: true, OutsideLimit: true}})
	}
	if f = books(t, entries...).Active(ask(&said)); len(f.Warnings) != lore.MaxWarnings {
		t.Errorf("%d warnings", len(f.Warnings))
	}
}

// The trace is asked for by who looks, and names every entry.
func TestTrace(t *testing.T) {
	said, seen := 0, ""
	a := ask(&said)
	a.Purpose = protocol.PurposeReflect
	a.Trace = func(kb, purpose string, list []knowledge.Traced) {
		for _, x := range list {
			seen += fmt.Sprint(kb, " ", purpose, " ", x.Entry.ID, " ", x.In, " ", x.Why, "; ")
		}
	}
	books(t, knowledge.Entry{ID: "a", Content: "x", ActivationCriteria: &criteria.Activation{Always: true}}, knowledge.Entry{ID: "b", Content: "x", ActivationCriteria: &criteria.Activation{Always: true, Delay: 1}}).Active(a)
	if seen != "kb reflect a true its criteria hold; kb reflect b false delay: from turn 2 on; " {
		t.Error(seen)
	}
}
