package knowledge

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

func TestValidateFindsEveryFault(t *testing.T) {
	def := KnowledgeBase{SchemaVersion: "9", Entries: []Entry{
		{ID: "a", EntryType: "lore", Content: "x"},
		{ID: "a", EntryType: "lore", Content: "x", ReferenceKey: "b"},
		{ID: "b", EntryType: "lore", Content: true, Priority: math.Inf(1), Tags: []string{" "}},
		{ID: " c", Content: "x"},
		{ID: "d", EntryType: "lore", Content: "x", Goal: &Goal{Status: "won"}, ActivationCriteria: &criteria.Activation{Condition: "payload.x", Keywords: []string{""}}},
		{ID: "e", EntryType: "goal", CustomMetadata: map[string]any{"t": struct{}{}}},
	}}
	var got []string
	for _, f := range Validate(&def) {
		got = append(got, f.Path)
	}
	want := "/id /schema_version /entries/1/id /entries/2/content /entries/2/priority /entries/2/tags/0 " +
		"/entries/3/id /entries/3/entry_type /entries/4/activation_criteria/keywords/0 /entries/4/activation_criteria/condition /entries/4/goal " +
		"/entries/4/goal/status /entries/5/content /entries/5/custom_metadata /entries/1/reference_key"
	if g := strings.Join(got, " "); g != want {
		t.Errorf("got  %s\nwant %s", g, want)
	}
	if _, err := New(def); err == nil || !strings.Contains(err.Error(), "/entries/4/goal/status") {
		t.Errorf("New: %v", err)
	}
}

// Every field of a file survives Value and EntryOf, so every field survives the
// journal.
func TestEveryFieldSurvives(t *testing.T) {
	at := time.Date(2025, 6, 12, 8, 0, 0, 5, time.UTC)
	e := Entry{ID: "x", EntryType: "goal", Title: "t", Content: map[string]any{"a": "b"}, Tags: []string{"t"}, Priority: 2.5, ReferenceKey: "k",
		ActivationCriteria: &criteria.Activation{Always: true, Keywords: []string{"k"}, AllKeywords: []string{"l"}, ExcludeKeywords: []string{"m"},
			Tags: []string{"n"}, EventTypes: []string{"o.*"}, Condition: "self.x", CaseSensitive: true,
			AlsoKeywords: []string{"q"}, NotAllKeywords: []string{"r"}, Patterns: []string{"s+"}, WholeWords: new(bool), Chance: 50, Group: "u", Weight: 7, Choose: "priority", OutsideLimit: true, Wakes: true,
			Similar: &criteria.Similar{To: "v", Above: 0.5}, Scan: &criteria.Scan{Events: true, History: 3, Goals: true, Observations: true, Self: []string{"a"}, World: []string{"b"}},
			Scope:    &criteria.Scope{Profiles: []string{"p"}, Roles: []string{"r"}, Agents: []string{"a"}, Places: []string{"l"}, Except: true},
			Purposes: []string{"reflect"}, Delay: 1, Sticky: 2, Cooldown: 3, OutsideBudget: true, WokenBy: "text", Level: 4, Slot: "rules", Order: 5},
		Source: "s", Author: "a", CreatedAt: at, UpdatedAt: at, UpdatedBy: "u",
		Goal: &Goal{Description: "d", Status: GoalFailed, Preconditions: []goal.Condition{{Text: "p"}}, CompletionCriteria: []goal.Condition{{Text: "c"}},
			Rewards: int64(3), Penalties: map[string]any{"x": true}, ParentGoalID: "g",
			FailureCriteria: []goal.Condition{{Expr: "world.x"}}, CompletesBy: goal.ByAny, Deadline: protocol.Duration(time.Hour), Recurs: protocol.Duration(90 * time.Second), Exclusive: []string{"bed"}},
		CustomMetadata: map[string]any{"m": int64(1)}, Importance: 1.5, Used: 3, Helped: 2, Follows: "w",
		Version: 4, ValidFrom: at, ValidUntil: at.Add(time.Hour), Disabled: true, Locked: true, Confidence: 0.5, Evidence: []string{"e"}, Confirmed: 6,
		Supersedes: []string{"y"}, SupersededBy: "z", ConflictsWith: []string{"v"}}
	for _, v := range []reflect.Value{reflect.ValueOf(e), reflect.ValueOf(*e.Goal), reflect.ValueOf(*e.ActivationCriteria), reflect.ValueOf(*e.ActivationCriteria.Similar), reflect.ValueOf(*e.ActivationCriteria.Scan), reflect.ValueOf(*e.ActivationCriteria.Scope)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("the test does not set %s.%s", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
	back, err := decodeEntry(e.Encode())
	if err != nil || !reflect.DeepEqual(*back, e) {
		t.Errorf("%+v came back as %+v, %v", e, back, err)
	}
	file, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var names map[string]any
	if err := json.Unmarshal(file, &names); err != nil {
		t.Fatal(err)
	}
	if v := e.Value(); len(v) != len(names) {
		t.Errorf("Value has %d fields, the file %d", len(v), len(names))
	}
	for name := range names {
		if _, ok := e.Value()[name]; !ok {
			t.Errorf("Value lacks %s", name)
		}
	}
}

func FuzzEntryOf(f *testing.F) {
	e := Entry{ID: "x", EntryType: "goal", Title: "t", Content: map[string]any{"a": "b"}, Tags: []string{"t"}, Goal: &Goal{Status: GoalActive, Rewards: int64(3)},
		ActivationCriteria: &criteria.Activation{Always: true, Keywords: []string{"k"}}, CreatedAt: noon.Std(), CustomMetadata: map[string]any{"m": nil}}
	f.Add([]byte(e.Encode()))
	f.Fuzz(func(t *testing.T, b []byte) {
		entry, err := decodeEntry(b)
		if err != nil {
			return
		}
		again, err := decodeEntry(entry.Encode())
		if err != nil || string(again.Encode()) != string(entry.Encode()) {
			t.Fatalf("%+v came back as %+v, %v", entry, again, err)
		}
	})
}
