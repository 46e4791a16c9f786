package knowledge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/protocol"
)

var noon = protocol.TimeOf(time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC))

func state(t testing.TB) State {
	t.Helper()
	s, err := NewState(herbal(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fold1(s State, facts []protocol.Fact) State {
	for _, f := range facts {
		s = Apply(s, f)
	}
	return s
}

// Promise 4, §3.4: what an agent writes is marked with source, author and times, whatever
// it says itself.
func TestWrite_3_4_AgentGenerated(t *testing.T) {
	s := state(t)
	facts := Decide(s, Commit{Now: noon, Requests: []Request{{ID: "r1", KB: "herbal", By: "elara", Permissions: []string{"read", PermitWrite},
		Entry: map[string]any{"entry_type": "best_practice_summary", "content": "Sell at noon.", "source": "me", "created_at": "1990-01-01T00:00:00Z"}}}})
	w, ok := facts[0].(*Written)
	if !ok || len(facts) != 1 || w.EntryID != "best_practice.elara.1" || w.By != "elara" || w.Request != "r1" {
		t.Fatalf("facts %+v", facts)
	}
	b, _ := fold1(s, facts).Base("herbal")
	e, ok := b.Get("best_practice.elara.1")
	if !ok || e.EntryType != TypeBestPractice || e.Source != SourceAgent || e.Author != "elara" || !e.CreatedAt.Equal(noon.Std()) || !e.UpdatedAt.Equal(noon.Std()) {
		t.Errorf("entry %+v", e)
	}
	if before, _ := s.Base("herbal"); before.Len() != 6 || b.Len() != 7 {
		t.Errorf("%d then %d entries", before.Len(), b.Len())
	}
}

// §2.1.5: existing entries change in content or metadata; §2.1.3: so does the
// status of a goal.
func TestUpdate_2_1_5(t *testing.T) {
	s := state(t)
	facts := Decide(s, Commit{Now: noon, Requests: []Request{
		{KB: "herbal", By: "elara", Op: OpUpdate, Permissions: []string{PermitWrite}, Entry: map[string]any{
			"id": "shop", "goal": map[string]any{"status": "completed"}, "tags": []any{"done"}, "author": "mallory"}},
		{KB: "herbal", By: "elara", Op: OpUpdate, Permissions: []string{PermitWrite}, Entry: map[string]any{
			"id": "sunpetal", "custom_metadata": map[string]any{"region": nil, "seen": true}, "title": nil}},
	}})
	b, _ := fold1(s, facts).Base("herbal")
	shop, _ := b.Get("shop")
	if shop.Status() != GoalCompleted || shop.Goal.Description != "Maintain the herb shop" || shop.UpdatedBy != "elara" || shop.Author != "" || shop.Tags[0] != "done" {
		t.Errorf("goal %+v %+v", shop, shop.Goal)
	}
	sun, _ := b.Get("sunpetal")
	if _, kept := sun.CustomMetadata["region"]; kept || sun.CustomMetadata["seen"] != true || sun.CustomMetadata["price"] == nil || sun.Title != "" {
		t.Errorf("entry %+v", sun)
	}
	if ids(b.Query(Query{Text: "Sunpetal"})) != "" || ids(b.Query(Query{Tags: []string{"done"}})) != "shop" {
		t.Error("the index still holds the old entry")
	}
}

// Promise 3: each broken rule is one fact with its reason, which changes nothing.
func TestRefusals(t *testing.T) {
	write := []string{PermitWrite}
	note := map[string]any{"id": "n", "entry_type": "lore", "content": "x"}
	with := func(changes map[string]any) map[string]any { return overlay(note, changes).(map[string]any) }
	for name, c := range map[string]struct {
		r    Request
		kind protocol.ErrorKind
		want string
	}{
		"unknown base":         {Request{KB: "gone", Entry: note}, protocol.KindNotFound, "knowledge base gone: no such base"},
		"no permission":        {Request{KB: "herbal", By: "a", Entry: note}, protocol.KindDenied, "a may only read it"},
		"read only":            {Request{KB: "herbal", By: "a", Permissions: []string{"read"}, Entry: note}, protocol.KindDenied, "a may only read it"},
		"suggest only":         {Request{KB: "herbal", By: "a", Permissions: []string{PermitSuggest}, Entry: note}, protocol.KindDenied, "use mode suggest"},
		"suggest reviews":      {Request{KB: "herbal", By: "a", Op: OpReview, Mode: ModeSuggest, Permissions: []string{PermitSuggest}}, protocol.KindDenied, "may suggest only"},
		"duplicate":            {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"id": "mint"})}, protocol.KindConflict, `entry "mint" exists`},
		"id is a key":          {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"id": "whispering_woods"})}, protocol.KindInvalid, `already the reference key of entry "forest"`},
		"key is an id":         {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"reference_key": "mint"})}, protocol.KindInvalid, `already the name of entry "mint"`},
		"unknown field":        {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"colour": "red"})}, protocol.KindInvalid, "colour: unknown field"},
		"wrong type":           {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"tags": int64(1)})}, protocol.KindInvalid, "tags: want a list of texts"},
		"no type":              {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"entry_type": nil})}, protocol.KindInvalid, "entry_type: is missing"},
		"no content":           {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"content": nil})}, protocol.KindInvalid, "content: is missing"},
		"content is a number":  {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"content": int64(3)})}, protocol.KindInvalid, "want text or an object"},
		"goal of lore":         {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"goal": map[string]any{}})}, protocol.KindInvalid, "has no goal"},
		"goal status":          {Request{KB: "herbal", By: "a", Op: OpUpdate, Permissions: write, Entry: map[string]any{"id": "shop", "goal": map[string]any{"status": "won"}}}, protocol.KindInvalid, `"won" is not known`},
		"condition":            {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"activation_criteria": map[string]any{"condition": "1 +"}})}, protocol.KindInvalid, "activation_criteria/condition"},
		"brace in id":          {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"id": "a}"})}, protocol.KindInvalid, "holds a brace"},
		"too large":            {Request{KB: "herbal", By: "a", Permissions: write, Entry: with(map[string]any{"content": strings.Repeat("x", MaxEntryBytes)})}, protocol.KindInvalid, "the limit of an entry"},
		"update of nothing":    {Request{KB: "herbal", By: "a", Op: OpUpdate, Permissions: write, Entry: with(map[string]any{"id": "gone"})}, protocol.KindNotFound, `no entry "gone"`},
		"update without id":    {Request{KB: "herbal", By: "a", Op: OpUpdate, Permissions: write, Entry: map[string]any{"title": "x"}}, protocol.KindInvalid, "needs the id"},
		"unknown operation":    {Request{KB: "herbal", By: "a", Op: "erase", Permissions: write, Entry: note}, protocol.KindInvalid, `operation "erase"`},
		"unknown mode":         {Request{KB: "herbal", By: "a", Mode: "maybe", Permissions: write, Entry: note}, protocol.KindInvalid, `mode "maybe"`},
		"review of nothing":    {Request{KB: "herbal", Op: OpReview, Suggestion: 4}, protocol.KindNotFound, "no suggestion 4"},
		"no value":             {Request{KB: "herbal", Entry: map[string]any{"id": make(chan int)}}, protocol.KindInvalid, "no value"},
		"nothing at all":       {Request{KB: "herbal"}, protocol.KindInvalid, "entry_type: is missing"},
		"bad suggestion":       {Request{KB: "herbal", By: "a", Mode: ModeSuggest, Permissions: []string{PermitSuggestAlias}, Entry: with(map[string]any{"colour": "red"})}, protocol.KindInvalid, "colour: unknown field"},
		"priority not finite ": {Request{KB: "herbal", Entry: with(map[string]any{"priority": "high"})}, protocol.KindInvalid, "priority: want a number"},
	} {
		s := state(t)
		c.r.ID = name
		facts := Decide(s, Commit{Now: noon, Requests: []Request{c.r}})
		r, ok := facts[0].(*Refused)
		if !ok || len(facts) != 1 || r.Reason != c.kind || !strings.Contains(r.Message, c.want) || r.Request != name || r.At != noon {
			t.Errorf("%s: got %+v; want %s %q", name, facts, c.kind, c.want)
		}
		if got, want := encode(t, Apply(s, r)), encode(t, s); got != want {
			t.Errorf("%s: a refusal changed the state", name)
		}
	}
}

// §2.2: suggest_edits lands in the review queue; a review applies it or drops it.
func TestSuggest_2_2(t *testing.T) {
	s := state(t)
	suggest := Request{KB: "herbal", By: "bo", Mode: ModeSuggest, Permissions: []string{PermitSuggestAlias}, Entry: map[string]any{"id": "n", "entry_type": "lore", "content": "x"}}
	s = fold1(s, Decide(s, Commit{Now: noon, Requests: []Request{suggest, suggest}}))
	if q := s.Suggestions("herbal"); len(q) != 2 || q[0].ID != 1 || q[1].ID != 2 || q[0].By != "bo" {
		t.Fatalf("queue %+v", q)
	}
	if b, _ := s.Base("herbal"); b.Len() != 6 {
		t.Error("a suggestion changed the base")
	}
	facts := Decide(s, Commit{Now: noon + 1, Requests: []Request{
		{KB: "herbal", Op: OpReview, Suggestion: 1, Accept: true},
		{KB: "herbal", Op: OpReview, Suggestion: 2, Accept: true}, // a duplicate by now
		{KB: "herbal", Op: OpReview, Suggestion: 1},               // no longer there
		{KB: "herbal", Op: OpReview, Suggestion: 2},
	}})
	var kinds []string
	for _, f := range facts {
		kinds = append(kinds, f.FactKind())
	}
	if got := strings.Join(kinds, " "); got != "knowledge.reviewed knowledge.written knowledge.refused knowledge.refused knowledge.reviewed" {
		t.Fatal(got)
	}
	s = fold1(s, facts)
	b, _ := s.Base("herbal")
	if e, ok := b.Get("n"); !ok || e.Author != "bo" || len(s.Suggestions("herbal")) != 0 {
		t.Errorf("entry %+v, queue %v", e, s.Suggestions("herbal"))
	}
}

// Promise 5: a full queue refuses.
func TestSuggestionsAreBounded(t *testing.T) {
	s := state(t)
	sh := s.shelves["herbal"]
	sh.queue = make([]Suggestion, MaxSuggestions)
	s.shelves["herbal"] = sh
	facts := Decide(s, Commit{Requests: []Request{{KB: "herbal", Mode: ModeSuggest, Entry: map[string]any{"entry_type": "lore", "content": "x"}}}})
	if r, ok := facts[0].(*Refused); !ok || r.Reason != protocol.KindLimit {
		t.Errorf("%+v", facts)
	}
}

func encode(t interface{ Fatal(...any) }, s State) string {
	b, err := Snapshot(protocol.NewCodec(), s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Facts survive the journal; a snapshot plus its tail equals the whole (I3).
func TestFactsAndSnapshots(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	rapid.Check(t, func(rt *rapid.T) {
		initial := state(t)
		cut := rapid.IntRange(0, 10).Draw(rt, "cut")
		whole, restored := initial, initial
		for i := range 10 {
			if i == cut {
				snap, err := Snapshot(codec, whole)
				if err != nil {
					rt.Fatal(err)
				}
				if restored, err = Restore(codec, initial, snap); err != nil {
					rt.Fatal(err)
				}
			}
			facts := Decide(whole, Commit{Now: noon + protocol.Time(i), Requests: genRequests(rt)})
			for _, f := range facts {
				raw, err := codec.Marshal(f)
				if err != nil {
					rt.Fatal(err)
				}
				back, err := codec.ReadFact(f.FactKind(), raw)
				if err != nil || fmt.Sprintf("%#v", back) != fmt.Sprintf("%#v", f) {
					rt.Fatalf("%#v came back as %#v, %v", f, back, err)
				}
				whole = Apply(whole, back)
				if i >= cut {
					restored = Apply(restored, back)
				}
			}
		}
		if cut < 10 && encode(rt, whole) != encode(rt, restored) {
			rt.Fatal("a snapshot and its tail differ from the whole")
		}
		a, _ := whole.Base("herbal")
		b, _ := restored.Base("herbal")
		if cut < 10 && show2(a) != show2(b) {
			rt.Fatalf("%s\n%s", show2(a), show2(b))
		}
	})
}

func show2(b *Base) string {
	var out strings.Builder
	for e := range b.Entries() {
		fmt.Fprintf(&out, "%s\n", e.Encode())
	}
	for _, h := range b.Query(Query{Text: "herb moon", Limit: 100}) {
		fmt.Fprintln(&out, h.Entry.ID, h.Score)
	}
	return out.String()
}

func genRequests(rt *rapid.T) []Request {
	var out []Request
	for range rapid.IntRange(0, 3).Draw(rt, "requests") {
		e := genEntry(rt)
		v := e.Value()
		if rapid.Bool().Draw(rt, "unnamed") {
			delete(v, "id")
		}
		out = append(out, Request{
			ID: "r", KB: rapid.SampledFrom([]string{"herbal", "herbal", "gone"}).Draw(rt, "kb"), By: rapid.SampledFrom([]string{"", "elara", "bo"}).Draw(rt, "by"),
			Op: rapid.SampledFrom([]Op{"", OpUpdate, OpReview}).Draw(rt, "op"), Mode: rapid.SampledFrom([]Mode{"", ModeSuggest}).Draw(rt, "mode"),
			Permissions: []string{rapid.SampledFrom([]string{PermitWrite, PermitSuggest}).Draw(rt, "permission")}, Entry: v,
			Suggestion: rapid.Uint64Range(1, 3).Draw(rt, "suggestion"), Accept: rapid.Bool().Draw(rt, "accept"),
		})
	}
	return out
}

func TestSnapshotFaults(t *testing.T) {
	codec := protocol.NewCodec(Facts())
	s := state(t)
	s = fold1(s, Decide(s, Commit{Now: noon, Requests: []Request{{KB: "herbal", Entry: map[string]any{"id": "n", "entry_type": "lore", "content": "x"}}}}))
	snap, err := Snapshot(codec, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(codec, State{}, snap); protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("missing base: %v", err)
	}
	for i := range snap {
		if _, err := Restore(codec, state(t), snap[:i]); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
	}
	if _, err := codec.ReadFact("knowledge.burned", nil); protocol.KindOf(err) != protocol.KindUnknown {
		t.Errorf("unknown fact: %v", err)
	}
	if _, err := NewState(herbal(t), herbal(t)); err == nil {
		t.Error("two bases of one id")
	}
}
