package knowledge

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/knowledge/score"
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

func base(t testing.TB, def KnowledgeBase) *Base {
	t.Helper()
	def.ID = "kb"
	for i := range def.Entries {
		def.Entries[i].EntryType = cmp.Or(def.Entries[i].EntryType, "lore")
	}
	b, err := New(def)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each rule of the rank alone: what is first, and why.
func TestRank(t *testing.T) {
	at := func(hours int) time.Time { return noon.Std().Add(time.Duration(hours) * time.Hour) }
	for name, c := range map[string]struct {
		def  KnowledgeBase
		text string
		want string
	}{
		"stems": {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "The healers sell herbs."}}}, "healer of herb", "a"},
		"a stem of a word that is no prefix of it":     {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "two ponies"}}}, "pony", "a"},
		"words of other alphabets keep their ends":     {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "Häuser"}}}, "Häuse", ""},
		"stop words find nothing beside others":        {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "the inn"}, {ID: "b", Content: "the road"}}}, "the inn", "a"},
		"stop words alone do":                          {KnowledgeBase{Entries: []Entry{{ID: "a", Title: "The Who"}, {ID: "b", Content: "a road"}}}, "who", "a"},
		"what apostrophes leave":                       {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "the king's crown"}, {ID: "b", Content: "the queen's crown"}}}, "the king's", "a"},
		"the title counts twice":                       {KnowledgeBase{Entries: []Entry{{ID: "a", Title: "song", Content: "mill"}, {ID: "b", Title: "mill", Content: "song"}}}, "mill", "b a"},
		"importance":                                   {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "mill"}, {ID: "b", Content: "mill", Importance: 1}}}, "mill", "b a"},
		"use":                                          {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "mill", Used: 1, Helped: 1}, {ID: "b", Content: "mill", Used: 100, Helped: 90}}}, "mill", "b a"},
		"recency":                                      {KnowledgeBase{HalfLifeHours: 24, Entries: []Entry{{ID: "a", Content: "mill", CreatedAt: at(-48)}, {ID: "b", Content: "mill", CreatedAt: at(-72), UpdatedAt: at(-24)}}}, "mill", "b a"},
		"no recency without a half life":               {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "mill", CreatedAt: at(-48)}, {ID: "b", Content: "mill", CreatedAt: at(-24)}}}, "mill", "a b"},
		"neighbours, the one before and the one after": {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "Where is the mill?"}, {ID: "b", Content: "By the ford.", Follows: "a"}, {ID: "c", Content: "Thanks.", Follows: "b"}}}, "ford", "b c a"},
		"text weighs more than all else that is equal to nothing": {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "mill"}, {ID: "b", Content: "road", Importance: 10}}}, "mill", "a"},
		"priority, then id, of equal scores":                      {KnowledgeBase{Entries: []Entry{{ID: "b", Content: "mill"}, {ID: "a", Content: "mill"}, {ID: "c", Content: "mill", Priority: 1}}}, "mill", "c a b"},
		"pairs of Chinese characters":                             {KnowledgeBase{Entries: []Entry{{ID: "a", Content: "月光森林"}, {ID: "b", Content: "月林"}}}, "森林", "a"},
	} {
		if got := ids(base(t, c.def).Query(Query{Text: c.text, Now: noon})); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A neighbour's text counts 0.4, and goes with the entry when it changes.
func TestNeighboursFollowWrites(t *testing.T) {
	b := base(t, KnowledgeBase{Entries: []Entry{{ID: "a", Content: "mill"}, {ID: "b", Content: "road", Follows: "a"}, {ID: "c", Content: "inn"}}})
	if got := ids(b.Query(Query{Text: "mill"})); got != "a b" {
		t.Fatalf("got %q", got)
	}
	moved := b.with(newDoc(&Entry{ID: "b", EntryType: "lore", Content: "road", Follows: "c"}, true))
	if got := ids(moved.Query(Query{Text: "mill"})) + ", " + ids(moved.Query(Query{Text: "road"})); got != "a, b c" {
		t.Errorf("after b follows c: %q", got)
	}
	said := moved.with(newDoc(&Entry{ID: "c", EntryType: "lore", Content: "ford"}, true))
	if got := ids(said.Query(Query{Text: "inn"})) + ", " + ids(said.Query(Query{Text: "ford"})); got != ", c b" {
		t.Errorf("after c changed: %q", got)
	}
}

// The entries that a search leaves out are none of the best: a base whose terms have
// lists of every grade answers as the stupid twin.
func TestGradesEqualTwin(t *testing.T) {
	d := protocol.NewDraw(7)
	var def KnowledgeBase
	for i := range 150 {
		var text []string
		for range 1 + d.IntN(30) {
			text = append(text, fmt.Sprintf("w%d", d.IntN(1+d.IntN(40))))
		}
		def.Entries = append(def.Entries, Entry{ID: fmt.Sprintf("e%03d", i), EntryType: "lore", Content: strings.Join(text, " "), Importance: float64(d.IntN(2))})
	}
	b := base(t, def)
	for i := range 12 {
		var text []string
		for range 1 + i%6 {
			text = append(text, fmt.Sprintf("w%d", d.IntN(40)))
		}
		q := Query{Text: strings.Join(text, " "), Limit: 1 + i%12}
		if got, want := show(b.Query(q)), show(twin(def, q)); got != want {
			t.Fatalf("%+v\ngot  %s\ntwin %s", q, got, want)
		}
	}
}

// What a search passes over changes no answer: bases of many blocks, in several layers, with
// importance, ages, times and filters answer as by adding up every posting of every term.
func TestPassedOverIsNoAnswer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := protocol.NewDraw(rapid.Uint64().Draw(rt, "seed"))
		b, _ := New(KnowledgeBase{ID: "kb", HalfLifeHours: float64(d.IntN(2))})
		raised := d.IntN(2) // whether entries have importance
		text := func(most int) string {
			var out []string
			for range 1 + d.IntN(most) {
				out = append(out, fmt.Sprintf("w%dx", d.IntN(1+d.IntN(1+d.IntN(200)))))
			}
			return strings.Join(out, " ")
		}
		for n := rapid.IntRange(1, 3).Draw(rt, "layers"); n > 0; n-- {
			var docs []*doc
			for range n * n * 80 {
				e := Entry{ID: fmt.Sprintf("e%04d", d.IntN(3000)), EntryType: "lore", Content: text(30), Priority: float64(d.IntN(2)), Importance: float64(raised * d.IntN(2)), Tags: []string{fmt.Sprint(d.IntN(2))}, CreatedAt: noon.Std().Add(-time.Duration(d.IntN(4)) * time.Hour)}
				if d.IntN(10) == 0 {
					e.ValidUntil = noon.Std()
				}
				if !slices.ContainsFunc(docs, func(o *doc) bool { return o.entry.ID == e.ID }) {
					docs = append(docs, newDoc(&e, true))
				}
			}
			b = b.with(docs...)
		}
		for range 8 {
			q := Query{Text: text(6), Now: noon, Limit: 1 + d.IntN(20)}
			if d.IntN(3) == 0 {
				q.Tags = []string{"1"}
			}
			if got, want := show(b.Query(q)), show(b.plainly(q)); got != want {
				rt.Fatalf("%+v\ngot   %s\nplain %s", q, got, want)
			}
		}
	})
}

// plainly adds up all postings of a query.
func (b *Base) plainly(q Query) []Hit {
	f := newFilter(q)
	top, terms := best{limit: f.limit}, words.OfQuery(q.Text)
	s := ranking{base: b, filter: &f, top: &top, count: int64(b.count), lengths: max(b.lengths, 1), halfLife: b.halfLife()}
	for n, l := range b.layers {
		s.n, s.layer = n, l
		for i, text := range s.texts(n, terms) {
			if d := l.docs[i]; slices.ContainsFunc(terms, d.has) && s.finds(n, d) {
				top.add(d, score.Scaled(text, score.Million+s.rise(d)))
			}
		}
	}
	return top.hits
}

func (d *doc) has(term string) (found bool) {
	d.terms.All(func(t string, _ int32) { found = found || t == term })
	return found
}

// A ranking is a total order: of two different entries one is always first, and the
// order is transitive.
func TestRankIsTotal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hits := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Hit {
			return Hit{Entry: &Entry{ID: rapid.StringMatching("[ab]{1,2}").Draw(rt, "id"), Priority: float64(rapid.IntRange(0, 1).Draw(rt, "priority"))}, Score: rapid.Int64Range(0, 2).Draw(rt, "score")}
		}), 3, 3).Draw(rt, "hits")
		a, b, c := hits[0], hits[1], hits[2]
		if compareHits(a, b) != -compareHits(b, a) || compareHits(a, b) == 0 && a.Entry.ID != b.Entry.ID {
			rt.Fatalf("%v, %v", a, b)
		}
		if compareHits(a, b) <= 0 && compareHits(b, c) <= 0 && compareHits(a, c) > 0 {
			rt.Fatalf("%v, %v, %v", a, b, c)
		}
	})
}

// zipf is a base of texts with a vocabulary as language has it, and queries of four
// words out of one text each.
func zipf(tb testing.TB, entries int) (*Base, []string) {
	d := protocol.NewDraw(1)
	word := func() string { // the probability of a word falls with its number
		n := math.Pow(50_000, float64(d.IntN(1<<20))/(1<<20))
		return fmt.Sprintf("w%dx", int(n))
	}
	var def KnowledgeBase
	var queries []string
	for i := range entries {
		var text []string
		for range 20 + d.IntN(80) {
			text = append(text, word())
		}
		def.Entries = append(def.Entries, Entry{ID: fmt.Sprintf("e%06d", i), EntryType: "lore", Title: text[0], Content: strings.Join(text, " ")})
		if i%(entries/400) == 0 {
			queries = append(queries, strings.Join([]string{text[1], text[5], text[9], text[13]}, " "))
		}
	}
	return base(tb, def), queries
}

// BenchmarkQuery reports the median of the queries, each the fastest of its rounds, and
// beside it the limit: the same for a bare walk over the postings of the query.
func BenchmarkQuery(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kb, queries := zipf(b, 100_000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	best, walk := make([]time.Duration, len(queries)), make([]time.Duration, len(queries))
	for b.Loop() {
		for i, q := range queries {
			best[i] = faster(best[i], func() { kb.Query(Query{Text: q}) })
			walk[i] = faster(walk[i], func() { sink = walked(kb, words.OfQuery(q)) })
		}
	}
	slices.Sort(best)
	slices.Sort(walk)
	b.ReportMetric(float64(best[len(best)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(best[len(best)*9/10].Nanoseconds())/1e3, "p90-µs")
	b.ReportMetric(float64(walk[len(walk)/2].Nanoseconds())/1e3, "walk-p50-µs")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/100_000, "B/entry")
}

var sink int64

func faster(best time.Duration, f func()) time.Duration {
	began := time.Now()
	f()
	if took := time.Since(began); best == 0 || took < best {
		return took
	}
	return best
}

// walked adds up the weights of all postings of terms.
func walked(b *Base, terms []string) (sum int64) {
	for _, l := range b.layers {
		for _, t := range terms {
			at := l.terms[t]
			for _, p := range l.lists[at.from : at.from+at.n] {
				for _, x := range p.list {
					sum += int64(x.Weight) * int64(l.length[x.Doc])
				}
			}
		}
	}
	return sum
}
