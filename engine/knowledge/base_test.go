package knowledge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/knowledge/score"
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

func herbal(t testing.TB) *Base {
	t.Helper()
	b, err := New(KnowledgeBase{ID: "herbal", SchemaVersion: "1.0", Entries: []Entry{
		{ID: "mint", EntryType: "lore", Title: "Mint", Content: "A cooling herb for tea.", Tags: []string{"herb", "common"}, Priority: 1},
		{ID: "sunpetal", EntryType: "lore", Title: "Sunpetal", Content: "A rare herb that blooms at noon.", Tags: []string{"herb", "rare"}, Priority: 5,
			CustomMetadata: map[string]any{"region": "forest", "price": map[string]any{"gold": int64(12)}}},
		{ID: "wolf", EntryType: "character", Content: map[string]any{"name": "Grey", "habits": []any{"howls at the moon"}}, Tags: []string{"beast"}},
		{ID: "shop", EntryType: "goal_definition", Title: "Keep the shop", Priority: 0.8,
			Goal: &Goal{Description: "Maintain the herb shop", Status: GoalActive, CompletionCriteria: []goal.Condition{{Text: "stock is full"}}}},
		{ID: "lesson", EntryType: "failed_lesson_analysis", Content: "Never sell wolfsbane to strangers.", Source: SourceAgent, Author: "elara"},
		{ID: "forest", EntryType: "location", Title: "低语森林", Content: "黑暗的森林，月光透过树梢。药草师住在这里。", ReferenceKey: "whispering_woods"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ids(hits []Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Entry.ID)
	}
	return strings.Join(out, " ")
}

// §3.4: retrieval by text, keyword, tag and metadata.
func TestQuery_3_4(t *testing.T) {
	b := herbal(t)
	two := 2.0
	for name, c := range map[string]struct {
		q    Query
		want string
	}{
		"everything by priority, then id":      {Query{}, "sunpetal mint shop forest lesson wolf"},
		"text ranks":                           {Query{Text: "rare herb"}, "sunpetal mint shop"},
		"text finds content of objects":        {Query{Text: "moon"}, "wolf"},
		"text finds goals":                     {Query{Text: "stock"}, "shop"},
		"text without a shared term":           {Query{Text: "dragon"}, ""},
		"text of punctuation":                  {Query{Text: "?!"}, ""},
		"Chinese pairs":                        {Query{Text: "森林"}, "forest"},
		"Chinese pair that is not there":       {Query{Text: "林森"}, ""},
		"one Chinese character":                {Query{Text: "药"}, "forest"},
		"keyword inside a word":                {Query{Keywords: []string{"WOLF"}}, "lesson"},
		"keywords count":                       {Query{Keywords: []string{"herb", "noon"}}, "sunpetal mint shop"},
		"all keywords":                         {Query{AllKeywords: []string{"herb", "tea"}}, "mint"},
		"tags":                                 {Query{Tags: []string{"rare", "beast"}}, "sunpetal wolf"},
		"all tags":                             {Query{AllTags: []string{"herb", "rare"}}, "sunpetal"},
		"excluded tags":                        {Query{Tags: []string{"herb"}, ExcludeTags: []string{"rare"}}, "mint"},
		"entry type":                           {Query{EntryTypes: []string{"goal"}}, "shop"},
		"alias of an entry type":               {Query{EntryTypes: []string{"goal_definition", "failed_lesson"}}, "shop lesson"},
		"metadata":                             {Query{Metadata: map[string]any{"region": "forest"}}, "sunpetal"},
		"metadata path, number of either kind": {Query{Metadata: map[string]any{"price.gold": 12.0}}, "sunpetal"},
		"metadata differs":                     {Query{Metadata: map[string]any{"region": "hill"}}, ""},
		"ids":                                  {Query{IDs: []string{"wolf", "mint", "gone"}}, "mint wolf"},
		"status":                               {Query{Status: GoalActive}, "shop"},
		"source":                               {Query{Source: SourceAgent}, "lesson"},
		"author":                               {Query{Author: "elara"}, "lesson"},
		"min priority":                         {Query{MinPriority: &two}, "sunpetal"},
		"limit":                                {Query{Limit: 2}, "sunpetal mint"},
		"text and filter":                      {Query{Text: "herb", Tags: []string{"common"}}, "mint"},
		"text and keyword":                     {Query{Text: "herb", Keywords: []string{"noon"}}, "sunpetal"},
	} {
		if got := ids(b.Query(c.q)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestQueryOf(t *testing.T) {
	q, err := QueryOf(map[string]any{"query": "rare herb", "tags": "herb", "entry_type": []any{"lore"}, "limit": int64(1), "min_priority": int64(2)})
	if err != nil || ids(herbal(t).Query(q)) != "sunpetal" {
		t.Errorf("got %v, %v", ids(herbal(t).Query(q)), err)
	}
	_, err = QueryOf(map[string]any{"tag": "x", "limit": "many", "keywords": []any{int64(1)}, "status": "done"})
	for _, want := range []string{`status: "done" is not known; want pending, active, completed or failed`, "tag: unknown field", "limit: want a number", "keywords: item 0: want text"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if _, err := QueryOf(map[string]any{"limit": int64(0)}); err == nil || !strings.Contains(err.Error(), "limit: want 1 to 1000") {
		t.Errorf("limit 0: %v", err)
	}
}

// genEntry draws small entries over few ids and words, so that they collide.
func genEntry(rt *rapid.T) Entry {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"herb", "herbs", "tea", "wolf", "moon", "the", "森林", "月"}), 1, 6).Draw(rt, "words")
	used := rapid.Int64Range(0, 3).Draw(rt, "used")
	return Entry{
		Importance: float64(rapid.IntRange(0, 2).Draw(rt, "importance")), Used: used, Helped: rapid.Int64Range(0, used).Draw(rt, "helped"),
		CreatedAt: noon.Std().Add(-time.Duration(rapid.IntRange(0, 3).Draw(rt, "age")) * time.Hour),
		ID:        fmt.Sprintf("e%02d", rapid.IntRange(0, 30).Draw(rt, "id")), EntryType: rapid.SampledFrom([]string{"lore", "goal"}).Draw(rt, "type"),
		Title: words[0], Content: strings.Join(words, " "), Priority: float64(rapid.IntRange(0, 2).Draw(rt, "priority")),
		Tags: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(rt, "tags"),
	}
}

// Promises 1 and 2: the layers behave as a map, whatever the history, and an older base does not
// change: the ranking equals that of a stupid twin and of a base built at once.
func TestLayersEqualTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		def := KnowledgeBase{ID: "kb", HalfLifeHours: float64(rapid.IntRange(0, 2).Draw(rt, "half life"))}
		b, err := New(def)
		if err != nil {
			rt.Fatal(err)
		}
		model := map[string]Entry{}
		var old *Base
		var oldIDs string
		for range rapid.IntRange(0, 60).Draw(rt, "writes") {
			e := genEntry(rt)
			if old == nil && rapid.IntRange(0, 9).Draw(rt, "keep") == 0 {
				old, oldIDs = b, ids(b.Query(Query{Limit: 100}))
			}
			if from := fmt.Sprintf("e%02d", rapid.IntRange(0, 60).Draw(rt, "follows")); from != e.ID && model[from].ID != "" && (b.next(from) == nil || b.next(from).entry.ID == e.ID) {
				e.Follows = from
			}
			model[e.ID] = e
			b = b.with(newDoc(&e, true))
		}
		for _, id := range protocol.SortedKeys(model) {
			def.Entries = append(def.Entries, model[id])
		}
		once, err := New(def)
		if err != nil {
			rt.Fatal(err)
		}
		if max := levels(b.Len()) + 2; len(b.layers) > max {
			rt.Fatalf("%d layers for %d entries; want at most %d", len(b.layers), b.Len(), max)
		}
		q := Query{Text: rapid.SampledFrom([]string{"", "herb", "moon wolf", "the", "the herbs of tea wolf", "森林 tea", "月"}).Draw(rt, "text"), Now: noon,
			Tags: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 1).Draw(rt, "tag"), Limit: rapid.IntRange(1, 40).Draw(rt, "limit")}
		got, want := show(b.Query(q)), show(once.Query(q))
		if got != want || got != show(twin(def, q)) {
			rt.Fatalf("%+v\ngot  %s\nonce %s\ntwin %s", q, got, want, show(twin(def, q)))
		}
		if old != nil && ids(old.Query(Query{Limit: 100})) != oldIDs {
			rt.Fatal("an older base changed")
		}
	})
}

func levels(n int) int { return int(math.Log2(float64(n + 1))) }

func show(hits []Hit) string {
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&b, "%s %d %s; ", h.Entry.ID, h.Score, h.Entry.Content)
	}
	return b.String()
}

// twin scores every entry by the formula, without any index.
func twin(def KnowledgeBase, q Query) []Hit {
	entries := def.Entries
	at, next := map[string]int{}, map[string]int{}
	for i, e := range entries {
		at[e.ID] = i
		if e.Follows != "" {
			next[e.Follows] = i
		}
	}
	var st words.Stemmer
	count := func(e Entry, term string) (n, length int64) {
		add := func(text string, weight int64) {
			words.Each(words.Fold(text), func(word string, script bool) {
				one := func(t string) {
					length += weight
					if t == term {
						n += weight
					}
				}
				if script {
					words.Pairs(word, false, one)
					return
				}
				one(st.Stem(word))
			})
		}
		add(e.Title+"\n"+strings.Join(e.Tags, "\n"), 10)
		add(e.Content.(string), 5)
		neighbours := []int{}
		if i, ok := at[e.Follows]; ok {
			neighbours = append(neighbours, i)
		}
		if i, ok := next[e.ID]; ok {
			neighbours = append(neighbours, i)
		}
		for _, i := range neighbours {
			add(entries[i].Title+"\n"+strings.Join(entries[i].Tags, "\n")+"\n"+entries[i].Content.(string), 2)
		}
		return n, length
	}
	var total int64
	for _, e := range entries {
		_, l := count(e, "")
		total += l
	}
	var hits []Hit
	for i := range entries {
		e := entries[i]
		if len(q.Tags) > 0 && !slices.Contains(e.Tags, q.Tags[0]) {
			continue
		}
		h, found := Hit{Entry: &e}, q.Text == ""
		for _, term := range words.OfQuery(q.Text) {
			holding := 0
			for _, o := range entries {
				if n, _ := count(o, term); n > 0 {
					holding++
				}
			}
			if n, length := count(e, term); n > 0 {
				found = true
				h.Score += score.Contribution(score.Rarity(len(entries), holding), n, 5*(300+900*length*int64(len(entries))/total))
			}
		}
		if found {
			rise := int64(e.Importance*100_000) + score.LowerBound(e.Helped, e.Used)
			if age := q.Now.Std().Sub(e.CreatedAt).Hours(); q.Now != 0 && !e.CreatedAt.IsZero() && def.HalfLifeHours > 0 {
				rise += score.Halved(int64(age*1000), int64(def.HalfLifeHours*1000))
			}
			h.Score = h.Score * (1_000_000 + rise) / 1_000_000
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, compareHits)
	return hits[:min(q.Limit, len(hits))]
}

// The integer arithmetic is BM25 to a thousandth.
func TestArithmeticIsBM25(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.IntRange(1, 1_000_000).Draw(rt, "all")
		holding := rapid.IntRange(1, all).Draw(rt, "holding")
		n, length := rapid.Int64Range(1, 50).Draw(rt, "n"), rapid.Int64Range(1, 5000).Draw(rt, "length")
		total := rapid.Int64Range(int64(all), int64(all)*300).Draw(rt, "total")
		idf := math.Log2(1 + (float64(all)-float64(holding)+0.5)/(float64(holding)+0.5))
		share := float64(n) * 2.2 / (float64(n) + 1.2*(0.25+0.75*float64(length)*float64(all)/float64(total)))
		got := float64(score.Contribution(score.Rarity(all, holding), 5*n, score.Penalty(5*length, int64(all), 5*total))) / 1e6
		if want := idf * share; math.Abs(got-want) > 1e-3*(1+want) {
			rt.Fatalf("all %d holding %d n %d length %d total %d: got %v, want %v", all, holding, n, length, total, got, want)
		}
	})
}

func TestReadersOfABase(t *testing.T) {
	b := herbal(t)
	var all []string
	for e := range b.Entries() {
		all = append(all, e.ID)
	}
	if got := strings.Join(all, " "); got != "forest lesson mint shop sunpetal wolf" || b.Len() != 6 {
		t.Errorf("entries %s, %d", got, b.Len())
	}
	if e, ok := b.Reference("whispering_woods"); !ok || e.ID != "forest" {
		t.Errorf("reference key: %v", e)
	}
	shop, _ := b.Get("shop")
	mint, _ := b.Get("mint")
	if shop.EntryType != TypeGoal || shop.Status() != GoalActive || shop.Description() != "Maintain the herb shop" || mint.Status() != "" {
		t.Errorf("goal %+v", shop)
	}
}

func TestActivate(t *testing.T) {
	entries := []Entry{
		{ID: "always", Content: "x", ActivationCriteria: &criteria.Activation{Always: true}, Priority: 1},
		{ID: "any", Content: "x", ActivationCriteria: &criteria.Activation{Keywords: []string{"Wolf", "森林"}}, Priority: 9},
		{ID: "all", Content: "x", ActivationCriteria: &criteria.Activation{AllKeywords: []string{"wolf", "moon"}}},
		{ID: "not", Content: "x", ActivationCriteria: &criteria.Activation{Keywords: []string{"wolf"}, ExcludeKeywords: []string{"moon"}}},
		{ID: "only_not", Content: "x", ActivationCriteria: &criteria.Activation{ExcludeKeywords: []string{"zzz"}}},
		{ID: "case", Content: "x", ActivationCriteria: &criteria.Activation{Keywords: []string{"Wolf"}, CaseSensitive: true}},
		{ID: "tag", Content: "x", ActivationCriteria: &criteria.Activation{Tags: []string{"night"}}},
		{ID: "event", Content: "x", ActivationCriteria: &criteria.Activation{EventTypes: []string{"world.weather.*"}}},
		{ID: "exact", Content: "x", ActivationCriteria: &criteria.Activation{EventTypes: []string{"world.time"}}},
		{ID: "cond", Content: "x", ActivationCriteria: &criteria.Activation{Condition: "world.hour > 18 && self.mood === 'curious'"}},
		{ID: "broken", Content: "x", ActivationCriteria: &criteria.Activation{Condition: "world.hour.a.b > 1"}},
		{ID: "empty", Content: "x", ActivationCriteria: &criteria.Activation{}},
		{ID: "none", Content: "x"},
	}
	for i := range entries {
		entries[i].EntryType = "lore"
	}
	b, err := New(KnowledgeBase{ID: "kb", Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    criteria.Situation
		want string
	}{
		{criteria.Situation{}, "always"},
		{criteria.Situation{Text: "a wolf"}, "any always not"},
		{criteria.Situation{Text: "a Wolf under the moon"}, "any always all case"},
		{criteria.Situation{Text: "黑暗的森林"}, "any always"},
		{criteria.Situation{Tags: []string{"night"}}, "always tag"},
		{criteria.Situation{EventTypes: []string{"world.weather.changed"}}, "always event"},
		{criteria.Situation{EventTypes: []string{"world.weather", "world.time"}}, "always exact"},
		{criteria.Situation{World: map[string]any{"hour": int64(20)}, Self: map[string]any{"mood": "curious"}}, "always cond"},
		{criteria.Situation{Text: "a Wolf", Limit: 2}, "any always"},
	} {
		active := b.Activate(&c.s)
		got, warnings := active.Entries, active.Warnings
		var names []string
		for _, e := range got {
			names = append(names, e.ID)
		}
		if g := strings.Join(names, " "); g != c.want {
			t.Errorf("%+v: got %q, want %q", c.s, g, c.want)
		}
		if len(warnings) == 0 || warnings[len(warnings)-1].Entry != "cond" && warnings[0].Entry != "broken" {
			t.Errorf("%+v: warnings %v; want one for broken", c.s, warnings)
		}
	}
}

func benchBase(b *testing.B) *Base {
	words := strings.Fields("herb tea wolf moon forest river stone song bread coin sword cloak night road 森林 月光 药草 城镇 商人 故事")
	var def KnowledgeBase
	def.ID = "big"
	for i := range 10_000 {
		d := protocol.NewDraw(1, uint64(i))
		var text []string
		for range 60 {
			text = append(text, words[d.IntN(len(words))]+fmt.Sprint(d.IntN(50)))
		}
		def.Entries = append(def.Entries, Entry{ID: fmt.Sprintf("e%05d", i), EntryType: "lore", Title: text[0], Content: strings.Join(text, " ")})
	}
	base, err := New(def)
	if err != nil {
		b.Fatal(err)
	}
	return base
}

func BenchmarkQueryText(b *testing.B) {
	base := benchBase(b)
	b.ReportAllocs()
	for b.Loop() {
		base.Query(Query{Text: "wolf7 moon3 森林9"})
	}
}

func BenchmarkWrite(b *testing.B) {
	base := benchBase(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		base = base.with(newDoc(&Entry{ID: fmt.Sprintf("w%d", i%5000), EntryType: "reflection_note", Content: "sold three herbs at the market today"}, true))
	}
}
