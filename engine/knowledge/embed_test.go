package knowledge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/protocol"
)

func seenBase(t testing.TB, entries []Entry, of func(id string) []int8) State {
	t.Helper()
	return given(t, bareBase(t, entries), 1, of)
}

// bareBase is a base whose entries want vectors and have none.
func bareBase(t testing.TB, entries []Entry) State {
	t.Helper()
	def := KnowledgeBase{ID: "lore", Embedding: &Embedding{Model: "near"}, Entries: entries}
	base, err := New(def)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewState(base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// given gives all entries that lack one their vectors, as the scene's turn does.
func given(t testing.TB, s State, now protocol.Time, of func(id string) []int8) State {
	t.Helper()
	for s.Wants(now) > 0 {
		for _, w := range s.Wanted(now) {
			var list [][]int8
			for _, ids := range w.Entries {
				list = append(list, of(ids[0]))
			}
			facts := Decide(s, Commit{Now: now, Requests: []Request{{KB: w.KB, Op: OpEmbed, Entry: w.Answer(vector.Pack(list), nil)}}})
			for _, f := range facts {
				if x, ok := f.(*Embedded); !ok || x.Error != "" {
					t.Fatalf("%#v", f)
				}
				s = Apply(s, f)
			}
		}
	}
	return s
}

func found(s State, text string, at ...int8) (out []string) {
	base, _ := s.Base("lore")
	for _, h := range base.Query(Query{Text: text, Vector: vector.New(at)}) {
		out = append(out, fmt.Sprint(h.Entry.ID, " ", h.Score))
	}
	return out
}

func lore(id, content string) Entry { return Entry{ID: id, EntryType: "lore", Content: content} }

// Known answers: 0.7 of the text's share, 0.3 of the cosine, times what there was; an entry
// without a common word needs the least cosine; equal scores go by priority, then id.
func TestRankByWordsAndVectors(t *testing.T) {
	entries := []Entry{lore("a", "river ford"), lore("b", "river ford"), lore("c", "stream"), lore("d", "tax"), lore("e", "river bank")}
	entries[1].Importance = 5
	vectors := map[string][]int8{"a": {3, 4}, "b": {4, 3}, "c": {1, 0}, "d": {0, 1}, "e": {0, -1}}
	s := seenBase(t, entries, func(id string) []int8 { return vectors[id] })
	for _, c := range []struct {
		text string
		at   []int8
		want []string
	}{
		// b has the same text and so the same vector as a: 0.7 + 0.3 × 0.6, and half of that for its importance.
		{"ford", []int8{127, 0}, []string{"b 1320000", "a 880000", "c 300000"}},
		{"ford", []int8{0, 127}, []string{"b 1410000", "a 940000", "d 300000"}},
		{"nothing", []int8{-127, 0}, nil},
		{"ford", nil, []string{"b", "a"}}, // the words alone, by BM25
	} {
		got := found(s, c.text, c.at...)
		for i := range got {
			if c.at == nil {
				got[i] = got[i][:1]
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v, want %v", c.text, c.at, got, c.want)
		}
	}
}

// An entry keeps its vector until it means something else, and is asked for again then.
func TestVectorsOfWrites(t *testing.T) {
	s := seenBase(t, []Entry{lore("a", "ford"), lore("b", "")}[:1], func(string) []int8 { return []int8{1, 2} })
	write := func(fields map[string]any) {
		for _, f := range Decide(s, Commit{Now: 5, Requests: []Request{{KB: "lore", Op: OpUpdate, Entry: fields}}}) {
			s = Apply(s, f)
		}
	}
	write(map[string]any{"id": "a", "importance": 3.0})
	if n := s.Wants(5); n != 0 {
		t.Errorf("%d entries lack a vector after a change that changes no words", n)
	}
	write(map[string]any{"id": "a", "content": "bridge"})
	if w := s.Wanted(5); len(w) != 1 || !slices.Equal(w[0].Texts, []string{"bridge"}) || w[0].Model != "near" {
		t.Errorf("%+v", w)
	}
	s = given(t, s, 5, func(string) []int8 { return []int8{2, 1} })
	write(map[string]any{"id": "a", "disabled": true})
	if n := s.Wants(5); n != 0 {
		t.Errorf("%d: an entry that nothing finds wants a vector", n)
	}
}

// After a failure words rank, and the model is asked again after a minute, then two.
func TestFailuresOfVectors(t *testing.T) {
	base, err := New(KnowledgeBase{ID: "lore", Embedding: &Embedding{Model: "near"}, Entries: []Entry{lore("a", "ford")}})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := NewState(base)
	at := protocol.Time(1)
	for i, wait := range []protocol.Time{60e9, 120e9, 240e9} {
		w := s.Wanted(at)
		if len(w) != 1 {
			t.Fatalf("attempt %d: %+v", i+1, w)
		}
		no := w[0].Answer("", protocol.Errorf(protocol.KindTimeout, "no answer"))
		facts := Decide(s, Commit{Now: at, Requests: []Request{{KB: "lore", Op: OpEmbed, Entry: no}}})
		if f, ok := facts[0].(*Embedded); !ok || f.Reason != protocol.KindTimeout || f.Error != "no answer" {
			t.Fatalf("%#v", facts[0])
		}
		s = Apply(s, facts[0])
		if s.Wants(at+wait-1) != 0 || s.Wants(at+wait) != 1 {
			t.Errorf("attempt %d is not %s after the one before", i+2, wait.Std())
		}
		at += wait
	}
	if got := found(s, "ford", 1, 0); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// Only the scene gives vectors, and no base without embedding takes any; vectors of other
// dimensions are a failure.
func TestVectorsThatAreRefused(t *testing.T) {
	s := seenBase(t, []Entry{lore("a", "ford")}, func(string) []int8 { return []int8{1, 2} })
	plain, _ := New(KnowledgeBase{ID: "plain", Entries: []Entry{lore("a", "ford")}})
	seen, _ := s.Base("lore")
	s, _ = NewState(seen, plain)
	w := vector.Wanted{Model: "near", Texts: []string{"x"}, Entries: [][]string{{"a"}}}
	ok := w.Answer(vector.Pack([][]int8{{1, 2}}), nil)
	unsaid := w.Answer(vector.Pack([][]int8{{1, 2}}), nil)
	unsaid["asked"] = []any{"x"}
	for name, q := range map[string]Request{
		"an agent": {KB: "lore", By: "ada", Op: OpEmbed, Entry: ok}, "no embedding": {KB: "plain", Op: OpEmbed, Entry: ok},
		"no vectors": {KB: "lore", Op: OpEmbed, Entry: map[string]any{}}, "not said of what": {KB: "lore", Op: OpEmbed, Entry: unsaid},
	} {
		if f := Decide(s, Commit{Requests: []Request{q}}); len(f) != 1 || f[0].FactKind() != FactRefused {
			t.Errorf("%s: %#v", name, f)
		}
	}
	other := w.Answer(vector.Pack([][]int8{{1, 2, 3}}), nil)
	if f, ok := Decide(s, Commit{Requests: []Request{{KB: "lore", Op: OpEmbed, Entry: other}}})[0].(*Embedded); !ok || f.Reason != protocol.KindConflict || len(f.Entries) != 0 {
		t.Errorf("%#v", f)
	}
}

// The rank is a total order that does not depend on how the base was written, nor on a
// snapshot between, and agrees with a search that looks at everything.
func TestRankOfVectorsIsTotal(t *testing.T) {
	vocabulary := []string{"river", "ford", "tax", "bread", "star"}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(r, "entries")
		var entries []Entry
		vectors := map[string][]int8{}
		for i := range n {
			words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 4).Draw(r, "words")
			e := lore(fmt.Sprintf("e%02d", i), fmt.Sprint(words, i))
			e.Importance = float64(rapid.IntRange(0, 3).Draw(r, "importance"))
			entries, vectors[e.ID] = append(entries, e), rapid.SliceOfN(rapid.Int8Range(-127, 127), 3, 3).Draw(r, "vector")
		}
		of := func(id string) []int8 { return vectors[id] }
		once := seenBase(t, entries, of)
		late := seenBase(t, entries[:n/2], of)
		for i := range entries[n/2:] {
			for _, f := range Decide(late, Commit{Requests: []Request{{KB: "lore", Entry: entries[n/2+i].Value()}}}) {
				late = Apply(late, f)
			}
			if rapid.Bool().Draw(r, "now") {
				late = given(t, late, 1, of)
			}
		}
		late = given(t, late, 1, of)
		text, at := rapid.SampledFrom(vocabulary).Draw(r, "query"), rapid.SliceOfN(rapid.Int8Range(-127, 127), 3, 3).Draw(r, "at")
		want := found(once, text, at...)
		if got := found(late, text, at...); !slices.Equal(got, want) {
			r.Fatalf("%v, written at once %v", got, want)
		}
		codec := protocol.NewCodec(Facts())
		raw, err := Snapshot(codec, late)
		if err != nil {
			r.Fatal(err)
		}
		project := seenBase(t, entries[:n/2], of)
		again, err := Restore(codec, project, raw)
		if err != nil {
			r.Fatal(err)
		}
		if got := found(again, text, at...); !slices.Equal(got, want) || again.Wants(1) != 0 {
			r.Fatalf("after a snapshot %v, want %v", got, want)
		}
	})
}

// BenchmarkQueryVectors reports the median of queries by words and vectors over 100,000 entries
// of 384 dimensions, each the fastest of its rounds; and beside it the limit, the bare products
// of the same vectors in one piece of memory, and the same queries by words alone.
func BenchmarkQueryVectors(b *testing.B) {
	const entries, dims = 100_000, 384
	kb, queries := zipf(b, entries)
	queries = queries[:40]
	def := kb.def
	def.Embedding = &Embedding{Model: "near"}
	kb.def = def
	draw, all := protocol.NewDraw(3), make([]int8, 0, entries*dims)
	var seen []seenEntry
	for e := range kb.Entries() {
		at := make([]int8, dims)
		for i := range at {
			at[i] = int8(draw.IntN(255) - 127)
		}
		all, seen = append(all, at...), append(seen, seenEntry{e.ID, vector.Bytes(at)})
	}
	kb = kb.dressed(seen)
	q := vector.New(all[:dims])
	near, words, dots := make([]time.Duration, len(queries)), make([]time.Duration, len(queries)), make([]time.Duration, len(queries))
	for b.Loop() {
		for i, text := range queries {
			near[i] = faster(near[i], func() { kb.Query(Query{Text: text, Vector: q}) })
			words[i] = faster(words[i], func() { kb.Query(Query{Text: text}) })
			dots[i] = faster(dots[i], func() {
				for k := 0; k < len(all); k += dims {
					sink += int64(vector.Dot(all[k:k+dims], all[:dims]))
				}
			})
		}
	}
	for name, list := range map[string][]time.Duration{"near": near, "words": words, "products": dots} {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Nanoseconds())/1e3, name+"-p50-µs")
	}
}

// However many entries say the same, each request is about a bounded number of them, and all get
// their vectors in the end.
func TestManyEntriesOfOneText(t *testing.T) {
	var entries []Entry
	for i := range 3*vector.MaxShared + 5 {
		entries = append(entries, lore(fmt.Sprintf("same%03d", i), "ford"))
	}
	base, err := New(KnowledgeBase{ID: "lore", Embedding: &Embedding{Model: "near"}, Entries: append(entries, lore("other", "tax"))})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := NewState(base)
	for _, w := range s.Wanted(1) {
		n := 0
		for _, ids := range w.Entries {
			n += len(ids)
		}
		if n > vector.MaxShared {
			t.Errorf("%d entries in a request", n)
		}
	}
	if s = given(t, s, 1, func(string) []int8 { return []int8{1, 2} }); s.Wants(1) != 0 {
		t.Errorf("%d entries have no vector", s.Wants(1))
	}
}

// A base whose last vector went goes on to want those of queries, also after a snapshot.
func TestLostVectorsAreRemembered(t *testing.T) {
	of := func(string) []int8 { return []int8{1, 2} }
	entries := []Entry{lore("a", "ford")}
	s := seenBase(t, entries, of)
	for _, f := range Decide(s, Commit{Now: 5, Requests: []Request{{KB: "lore", Op: OpUpdate, Entry: map[string]any{"id": "a", "content": "bridge"}}}}) {
		s = Apply(s, f)
	}
	codec := protocol.NewCodec(Facts())
	raw, err := Snapshot(codec, s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restore(codec, bareBase(t, entries), raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []State{s, again} {
		if b, ok := s.Base("lore"); !ok || !b.Embedded() {
			t.Error("the base forgot that it had vectors")
		}
	}
}
