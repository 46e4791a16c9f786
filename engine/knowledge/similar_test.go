package knowledge

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/protocol"
)

func similar(id, content, to string, above float64) Entry {
	e := lore(id, content)
	e.ActivationCriteria = &criteria.Activation{Similar: &criteria.Similar{To: to, Above: above}}
	return e
}

func activeBy(s State, text string, at ...int8) (out []string) {
	base, _ := s.Base("lore")
	a := base.Activate(&criteria.Situation{Text: text, Vector: vector.New(at)})
	for _, e := range a.Entries {
		out = append(out, e.ID)
	}
	return out
}

// Minds §11, similar: in a base with vectors the text at hand is compared with the entry, or with
// what to says, by their vectors; where one of the two has none, by its words.
func TestSimilarByVectors(t *testing.T) {
	vectors := map[string][]int8{"near": {4, 3}, "far": {0, 1}, "other": {0, 1}, "{other}": {1, 0}, "wordless": {0, 0}}
	entries := []Entry{
		similar("near", "carts cross here", "", 0.8), similar("strict", "carts cross here", "", 0.81), similar("far", "taxes are due", "", 0.8),
		similar("other", "the miller", "a stream that many carts cross", 1), similar("wordless", "xyzzy grows here", "", 0.9),
	}
	vectors["strict"] = vectors["near"]
	s := seenBase(t, entries, func(name string) []int8 { return vectors[name] })
	for _, c := range []struct {
		text string
		at   []int8
		want []string
	}{
		{"a brook", []int8{127, 0}, []string{"near", "other"}}, // 0.8 exactly, and 1
		{"a brook", []int8{0, 127}, []string{"far"}},           // 0.6 of near
		{"taxes are due", []int8{127, 0}, []string{"near", "other"}},
		{"xyzzy grows here", []int8{0, 127}, []string{"far", "wordless"}}, // a text without a vector: its words
		{"taxes are due", nil, []string{"far"}},                           // the situation has none: words
	} {
		if got := activeBy(s, c.text, c.at...); !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v, want %v", c.text, c.at, got, c.want)
		}
	}
	base, _ := s.Base("lore")
	if !base.Compares() {
		t.Error("a base with similar compares no situation")
	}
	for _, x := range base.Trace(&criteria.Situation{Text: "a brook", Vector: vector.New([]int8{0, 127})}) {
		if x.Entry.ID == "near" && x.Why != "similar: the vectors have the cosine 0.600" {
			t.Error(x.Why)
		}
	}
}

// What to says has a vector of its own: it is asked for when it changes, kept when the entry changes
// otherwise, and comes back out of a snapshot.
func TestVectorsOfSimilarTo(t *testing.T) {
	of := func(string) []int8 { return []int8{1, 2} }
	s := seenBase(t, []Entry{similar("a", "ford", "a stream", 0.5)}, of)
	write := func(fields map[string]any) {
		for _, f := range Decide(s, Commit{Now: 5, Requests: []Request{{KB: "lore", Op: OpUpdate, Entry: fields}}}) {
			s = Apply(s, f)
		}
	}
	like := func(to string) map[string]any {
		return map[string]any{"similar": map[string]any{"to": to, "above": 0.5}}
	}
	write(map[string]any{"id": "a", "content": "bridge"})
	if w := s.Wanted(5); len(w) != 1 || !slices.Equal(w[0].Texts, []string{"bridge"}) {
		t.Errorf("%+v", w)
	}
	write(map[string]any{"id": "a", "activation_criteria": like("a river")})
	if w := s.Wanted(5); s.Wants(5) != 2 || len(w) != 1 || !slices.Equal(w[0].Texts, []string{"bridge", "a river"}) || w[0].Entries[1][0] != "{a}" {
		t.Errorf("%d, %+v", s.Wants(5), w)
	}
	s = given(t, s, 5, of)
	codec := protocol.NewCodec(Facts())
	raw, err := Snapshot(codec, s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restore(codec, seenBase(t, []Entry{similar("a", "ford", "a stream", 0.5)}, of), raw)
	if err != nil || again.Wants(5) != 0 || !slices.Equal(activeBy(again, "x", 1, 2), []string{"a"}) || activeBy(again, "x", -1, 0) != nil {
		t.Errorf("%v, %d wanted", err, again.Wants(5))
	}
	write(map[string]any{"id": "a", "activation_criteria": like("")})
	if s.Wants(5) != 0 {
		t.Error("an entry without to wants its vector")
	}
}

// Which entries are similar does not depend on how the base was written.
func TestSimilarIsOrderFree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		vectors := map[string][]int8{}
		var entries []Entry
		for i := range rapid.IntRange(1, 12).Draw(r, "entries") {
			id := string(rune('a' + i))
			e := similar(id, "entry "+id, rapid.SampledFrom([]string{"", "like " + id}).Draw(r, "to"), rapid.SampledFrom([]float64{0.2, 0.5, 0.9}).Draw(r, "above"))
			for _, name := range []string{id, "{" + id + "}"} {
				vectors[name] = rapid.SliceOfN(rapid.Int8Range(-127, 127), 3, 3).Draw(r, "vector")
			}
			entries = append(entries, e)
		}
		of := func(name string) []int8 { return vectors[name] }
		at := rapid.SliceOfN(rapid.Int8Range(-127, 127), 3, 3).Draw(r, "at")
		want := activeBy(seenBase(t, entries, of), "nothing", at...)
		late := seenBase(t, entries[:1], of)
		for _, i := range rapid.Permutation(entries[1:]).Draw(r, "order") {
			for _, f := range Decide(late, Commit{Requests: []Request{{KB: "lore", Entry: i.Value()}}}) {
				late = Apply(late, f)
			}
			if rapid.Bool().Draw(r, "now") {
				late = given(t, late, 1, of)
			}
		}
		if got := activeBy(given(t, late, 1, of), "nothing", at...); !slices.Equal(got, want) {
			r.Fatalf("%v, written at once %v", got, want)
		}
	})
}
