package memory

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/goal"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

const start = protocol.Time(1_000 * time.Hour)

// rules keep so many episodes.
func rules(keep int) *Rules { return &Rules{Keep: keep, Recall: 5, HalfLife: time.Hour} }

// lived is a mind after turns an hour apart, in each of which the agent said one text.
func lived(r *Rules, texts ...string) (m *Mind) {
	for i, text := range texts {
		m = m.Note(&agentfact.Said{Text: text})
		m = m.End(r, &agentfact.TurnEnded{Turn: uint64(i + 1), Outcome: agentfact.OutcomeOK}, start.Add(time.Duration(i)*time.Hour), nil)
	}
	return m
}

func numbers(list []*Episode) (out []uint64) {
	for _, e := range list {
		out = append(out, e.Turn)
	}
	return out
}

// Minds §10: importance by rule, and what an episode says.
func TestEpisodes(t *testing.T) {
	failed := agentfact.OutcomeFailed
	for _, c := range []struct {
		name       string
		facts      []agentfact.Fact
		heard      []Heard
		outcome    agentfact.Outcome
		importance int64
		text       string
	}{
		{name: "nothing", importance: 0},
		{name: "said", facts: []agentfact.Fact{&agentfact.Said{Text: "Good\n morning"}}, importance: 1, text: "you said: Good morning"},
		{name: "call", facts: []agentfact.Fact{&agentfact.CallMade{Tool: "Buy", Params: protocol.Encode(map[string]any{"what": "mint"}), Status: protocol.CallOK}}, importance: 1, text: `you called Buy {"what":"mint"}`},
		{name: "call not run", facts: []agentfact.Fact{&agentfact.CallMade{Tool: "Buy", Status: protocol.CallNotRun}}, importance: 0},
		{name: "told by its fact", facts: []agentfact.Fact{&agentfact.Said{Text: "Hm"}, &agentfact.CallMade{Tool: "SayTool", Status: protocol.CallOK}}, importance: 1, text: "you said: Hm"},
		{name: "a refused reflection is no failure", facts: []agentfact.Fact{&agentfact.CallMade{Tool: "ReflectTool", Status: protocol.CallFailed, Error: "too soon"}}, importance: 0},
		{name: "overheard", heard: []Heard{{From: "old", Text: "Rain"}}, importance: 1, text: "old said: Rain"},
		{name: "spoken to", heard: []Heard{{From: "old", Text: "Rain", ToMe: true}}, importance: 2, text: "old said: Rain"},
		{name: "first meeting", heard: []Heard{{From: "new", Text: "Rain"}}, importance: 3, text: "new said: Rain"},
		{name: "the scene is nobody to meet", heard: []Heard{{From: "$stage", Text: "Rain"}}, importance: 1, text: "$stage said: Rain"},
		{name: "failed call", facts: []agentfact.Fact{&agentfact.CallMade{Tool: "Buy", Status: protocol.CallDenied, Error: "no"}}, importance: 4, text: "you called Buy failed: no"},
		{name: "failed turn", outcome: failed, importance: 4, text: "you came to no decision: no model"},
		{name: "unknown", facts: []agentfact.Fact{&agentfact.OutcomeUnknown{Effect: "model", Error: "cut"}}, importance: 4, text: "nobody knows what became of a model call: cut"},
		{name: "goal", facts: []agentfact.Fact{&agentfact.GoalsUpdated{Goal: goal.Goal{ID: "mill", Status: goal.Completed}}}, importance: 6, text: "your goal mill was completed"},
		{name: "goal by rules", facts: []agentfact.Fact{&agentfact.GoalChanged{From: goal.Active, Goal: goal.Goal{ID: "mill", Status: goal.Failed}}}, importance: 6, text: "your goal mill failed"},
		{name: "goal goes on", facts: []agentfact.Fact{&agentfact.GoalChanged{From: goal.Pending, Goal: goal.Goal{ID: "mill", Status: goal.Active}}, &agentfact.GoalsUpdated{Goal: goal.Goal{ID: "x", Status: goal.Completed}, Removed: true}}, importance: 0},
		{name: "the highest counts", facts: []agentfact.Fact{&agentfact.Said{Text: "a"}, &agentfact.GoalsUpdated{Goal: goal.Goal{ID: "g", Status: goal.Failed}}}, heard: []Heard{{From: "new", Text: "b"}}, importance: 6, text: "new said: b; you said: a; your goal g failed"},
		{name: "interrupted", facts: []agentfact.Fact{&agentfact.Said{Text: "a"}}, outcome: agentfact.OutcomeInterrupted, importance: 0},
		{name: "idle", outcome: agentfact.OutcomeIdle, importance: 0},
	} {
		m := &Mind{met: []string{"old"}}
		for _, f := range c.facts {
			m = m.Note(f)
		}
		for _, h := range c.heard {
			m = m.Heard(h)
		}
		end := &agentfact.TurnEnded{Turn: 7, Outcome: c.outcome, Error: "no model"}
		m = m.End(rules(9), end, start, nil)
		got := m.Episodes()
		if c.importance == 0 {
			if len(got) != 0 {
				t.Errorf("%s: %+v", c.name, got[0])
			}
			continue
		}
		if len(got) != 1 || got[0].Importance != c.importance || got[0].Text != c.text || got[0].Turn != 7 || got[0].At != start {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Minds §10: nobody is met twice, and who was met longest ago is met anew beyond the bound.
func TestMeetings(t *testing.T) {
	var m *Mind
	turn := func(who string) int64 {
		m = m.Heard(Heard{From: who, Text: "x"}).End(rules(1), &agentfact.TurnEnded{Turn: 1}, start, nil)
		return m.Episodes()[0].Importance
	}
	if first, again := turn("bo"), turn("bo"); first != 3 || again != 1 {
		t.Errorf("bo: %d, then %d", first, again)
	}
	for i := range MaxMet {
		turn(fmt.Sprint(i))
	}
	if len(m.met) != MaxMet || turn("999") != 1 || turn("bo") != 3 {
		t.Errorf("%d were met; bo was not forgotten, or another one was", len(m.met))
	}
}

// Promise 2: at the bound the lowest rank goes: what is old and matters little.
func TestForgetting(t *testing.T) {
	r := rules(3)
	m := lived(r, "one", "two")
	m = m.Note(&agentfact.GoalsUpdated{Goal: goal.Goal{ID: "g", Status: goal.Completed}}).End(r, &agentfact.TurnEnded{Turn: 3}, start, nil)
	for n := uint64(4); n < 7; n++ {
		m = m.Note(&agentfact.Said{Text: "later"}).End(r, &agentfact.TurnEnded{Turn: n}, start.Add(time.Duration(n)*100*time.Hour), nil)
	}
	if got := numbers(m.Episodes()); !slices.Equal(got, []uint64{3, 5, 6}) {
		t.Errorf("left are %v", got)
	}
	if m := lived(rules(1), "a", "b"); !slices.Equal(numbers(m.Episodes()), []uint64{2}) {
		t.Error("the newest went")
	}
}

// Promise 3: known answers: stems, neighbours at 0.4, recency, importance; nothing without a
// common word; of equals the newer.
func TestRecall(t *testing.T) {
	m := lived(rules(10), "The ford floods.", "I went home.", "Bread is dear.", "Nothing.", "The mill stands.", "More bread.")
	now := start.Add(5 * time.Hour)
	for query, want := range map[string][]uint64{"flooding": {1, 2}, "home": {1, 2, 3}, "dragon": nil, "": nil, "the": {1, 4, 5, 6, 2}, "mill": {4, 5, 6}} {
		var got []uint64
		for _, h := range m.Recall(rules(10), query, now) {
			got = append(got, h.Turn)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
	hits := m.Query(rules(10), &knowledge.Query{Text: "bread", Now: now})
	if hits[0].Turn != 6 || hits[1].Turn != 3 {
		t.Errorf("the newer episode with bread is not first: %v", hits[0].Text)
	}
	same := lived(rules(10), "bread", "x", "y", "bread")
	if hits := same.Query(&Rules{Keep: 10}, &knowledge.Query{Text: "bread", Now: now}); hits[0].Turn != 4 || hits[1].Turn != 1 {
		t.Error("of equal ranks the older was first")
	}
}

// A search answers as one of a knowledge base.
func TestQuery(t *testing.T) {
	m, one := lived(rules(10), "a b", "b c", "c d"), 1.0
	for _, c := range []struct {
		q    knowledge.Query
		want []uint64
	}{
		{knowledge.Query{}, []uint64{3, 2, 1}},
		{knowledge.Query{Limit: 1}, []uint64{3}},
		{knowledge.Query{IDs: []string{"turn-2"}}, []uint64{2}},
		{knowledge.Query{EntryTypes: []string{"lore"}}, nil},
		{knowledge.Query{EntryTypes: []string{"lore", Type}, Limit: 1}, []uint64{3}},
		{knowledge.Query{Tags: []string{"x"}}, nil},
		{knowledge.Query{Text: "?!"}, nil},
		{knowledge.Query{Keywords: []string{"A B", "c d"}}, []uint64{3, 1}},
		{knowledge.Query{AllKeywords: []string{"b c", "B"}}, []uint64{2}},
		{knowledge.Query{Text: "b", AllKeywords: []string{"a b"}}, []uint64{1}},
		{knowledge.Query{ExcludeTags: []string{"x"}, MinPriority: new(float64)}, []uint64{3, 2, 1}},
		{knowledge.Query{AllTags: []string{"x"}}, nil},
		{knowledge.Query{Metadata: map[string]any{"x": "y"}}, nil},
		{knowledge.Query{Source: "x"}, nil},
		{knowledge.Query{Author: "x"}, nil},
		{knowledge.Query{Status: knowledge.GoalActive}, nil},
		{knowledge.Query{MinPriority: &one}, nil},
	} {
		var got []uint64
		for _, h := range m.Query(rules(10), &c.q) {
			got = append(got, h.Turn)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.q, got, c.want)
		}
	}
	if (*Mind)(nil).Query(rules(1), &knowledge.Query{}) != nil || (*Mind)(nil).Recall(rules(1), "x", 0) != nil {
		t.Error("a nil mind remembers")
	}
}

// The rank is the one of knowledge bases: a base whose entries follow each other answers alike.
func TestRankEqualsKnowledge(t *testing.T) {
	word := rapid.SampledFrom(strings.Fields("ford flood bread mill the cart 森林 rain dear"))
	rapid.Check(t, func(rt *rapid.T) {
		r := &Rules{Keep: 30, Recall: 30, HalfLife: time.Duration(rapid.IntRange(1, 50).Draw(rt, "half life")) * time.Hour}
		var m *Mind
		def := knowledge.KnowledgeBase{ID: "b", HalfLifeHours: r.HalfLife.Hours()}
		for i := range rapid.IntRange(1, 12).Draw(rt, "episodes") {
			text := strings.Join(rapid.SliceOfN(word, 1, 6).Draw(rt, "text"), " ")
			m = m.Note(&agentfact.Said{Text: text}).End(r, &agentfact.TurnEnded{Turn: uint64(i + 1)}, start.Add(time.Duration(i)*time.Hour), nil)
			e := m.episodes[i]
			entry := knowledge.Entry{ID: fmt.Sprintf("e%02d", i), EntryType: Type, Content: e.Text, Importance: float64(e.Importance), CreatedAt: e.At.Std()}
			if i > 0 {
				entry.Follows = fmt.Sprintf("e%02d", i-1)
			}
			def.Entries = append(def.Entries, entry)
		}
		base, err := knowledge.New(def)
		if err != nil {
			rt.Fatal(err)
		}
		query, now := strings.Join(rapid.SliceOfN(word, 1, 3).Draw(rt, "query"), " "), start.Add(20*time.Hour)
		want := map[uint64]int64{}
		for _, h := range base.Query(knowledge.Query{Text: query, Now: now, Limit: 100}) {
			var n uint64
			fmt.Sscanf(h.Entry.ID, "e%d", &n)
			want[n+1] = h.Score
		}
		hits := m.rank(r, query, now)
		hits = hits[:min(100, len(hits))]
		if len(hits) != len(want) {
			rt.Fatalf("%q: %d episodes, %d entries", query, len(hits), len(want))
		}
		for i, h := range hits {
			if want[h.Turn] != h.Score || i > 0 && hits[i-1].Score < h.Score {
				rt.Fatalf("%q: turn %d has %d, the entry %d", query, h.Turn, h.Score, want[h.Turn])
			}
		}
	})
}

// Promises 1 and 2: whatever happens, bounds hold, what is kept reads back, decay is monotone,
// and no mind that was seen changes.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rules(rapid.IntRange(1, 6).Draw(rt, "keep"))
		r.Reflect = &Triggers{GoalEnded: true, MaxPerDay: 2}
		var m *Mind
		at := start
		for i := range rapid.IntRange(1, 15).Draw(rt, "turns") {
			before := fmt.Sprint(numbers(m.Episodes()))
			old := m
			for range rapid.IntRange(0, 3).Draw(rt, "facts") {
				m = m.Note(rapid.SampledFrom([]agentfact.Fact{&agentfact.Said{Text: strings.Repeat("long wörd ", 60)}, &agentfact.Reflected{},
					&agentfact.GoalsUpdated{Goal: goal.Goal{ID: "g", Status: goal.Completed}}, &agentfact.CallMade{Tool: "T", Status: protocol.CallFailed}}).Draw(rt, "fact"))
			}
			at = at.Add(time.Duration(rapid.IntRange(0, 100).Draw(rt, "hours")) * time.Hour)
			m = m.End(r, &agentfact.TurnEnded{Turn: uint64(i + 1)}, at, map[string]any{"n": int64(i)})
			if fmt.Sprint(numbers(old.Episodes())) != before {
				rt.Fatal("an older mind changed")
			}
			if len(m.episodes) > r.Keep {
				rt.Fatalf("%d episodes; at most %d", len(m.episodes), r.Keep)
			}
			for _, e := range m.episodes {
				if len(e.Text) > maxText || !slices.IsSorted(numbers(m.episodes)) || e.rise(r, at) < e.rise(r, at.Add(time.Hour)) {
					rt.Fatalf("%+v", e)
				}
			}
			back, err := Load(m.Store())
			if err != nil || fmt.Sprintf("%+v %+v", numbers(back.episodes), back.since) != fmt.Sprintf("%+v %+v", numbers(m.episodes), m.since) {
				rt.Fatalf("%v: %+v, %+v", err, back, m)
			}
			for k, e := range back.episodes {
				if *e != *m.episodes[k] {
					rt.Fatalf("%+v, %+v", e, m.episodes[k])
				}
			}
		}
	})
	if (*Mind)(nil).Store() != nil {
		t.Error("nothing is stored as something")
	}
}

// Minds §12: which trigger begins a reflection.
func TestTriggers(t *testing.T) {
	all := Triggers{GoalEnded: true, BeforeSleep: true, Failures: 3, Importance: 30, Every: 20}
	for _, c := range []struct {
		name   string
		x      Triggers
		since  Since
		turn   Turn
		asleep bool
		want   string
	}{
		{"nothing", all, Since{}, Turn{importance: 1}, false, ""},
		{"goal", all, Since{}, Turn{ended: []string{"a", "b"}, importance: 6}, false, "goal ended: a, b"},
		{"no goals", Triggers{}, Since{}, Turn{ended: []string{"a"}, importance: 6}, true, ""},
		{"third failure", all, Since{Failures: 2}, Turn{failed: true, importance: 4}, false, "3 failures in a row"},
		{"second failure", all, Since{Failures: 1}, Turn{failed: true, importance: 4}, false, ""},
		{"the row is over", all, Since{Failures: 2}, Turn{importance: 1}, false, ""},
		{"importance", all, Since{Importance: 26}, Turn{importance: 4}, false, "importance 30"},
		{"not yet", all, Since{Importance: 25}, Turn{importance: 4}, false, ""},
		{"turns", all, Since{Turns: 19}, Turn{}, false, "20 turns"},
		{"not so many", all, Since{Turns: 18}, Turn{}, false, ""},
		{"sleep", all, Since{}, Turn{}, true, "before sleep"},
	} {
		m := &Mind{since: c.since}
		if got := m.Trigger(&Rules{Reflect: &c.x}, &c.turn, start, c.asleep); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if (*Mind)(nil).Trigger(&Rules{Reflect: &all}, &Turn{ended: []string{"a"}}, start, false) == "" {
		t.Error("the first turn of an agent begins no reflection")
	}
	if (*Mind)(nil).Trigger(&Rules{}, &Turn{ended: []string{"a"}}, start, false) != "" {
		t.Error("without triggers a reflection began")
	}
}

// Promise 4: bounds of reflections, also of those that are ordered, also before 1970.
func TestReflectionBounds(t *testing.T) {
	for _, day0 := range []protocol.Time{protocol.Time(100 * 24 * time.Hour), -protocol.Time(100 * 24 * time.Hour)} {
		r := &Rules{Keep: 9, Reflect: &Triggers{MinInterval: time.Hour, MaxPerDay: 2}}
		var m *Mind
		reflect := func(n uint64, at protocol.Time) {
			m = m.Note(&agentfact.Reflected{}).End(r, &agentfact.TurnEnded{Turn: n}, at, map[string]any{"n": int64(n)})
		}
		may := func(at protocol.Time) bool { return m.MayReflect(r, at) == nil }
		if !may(day0) {
			t.Error("the first one is refused")
		}
		reflect(1, day0)
		if may(day0.Add(time.Hour-1)) || !may(day0.Add(time.Hour)) {
			t.Error("min_interval does not hold")
		}
		reflect(2, day0.Add(2*time.Hour))
		if may(day0.Add(24*time.Hour-1)) || !may(day0.Add(24*time.Hour)) {
			t.Error("max_per_day does not hold")
		}
		if s := m.Since(); s.Turn != 2 || s.Count != 2 || s.State["n"] != int64(2) {
			t.Errorf("%+v", s)
		}
		reflect(3, day0.Add(25*time.Hour))
		if m.Since().Count != 1 {
			t.Errorf("the new day has %d", m.Since().Count)
		}
		if err := m.MayReflect(r, day0.Add(25*time.Hour)); protocol.KindOf(err) != protocol.KindLimit {
			t.Errorf("%v", err)
		}
	}
}

// What a reflection gets: the episodes since the last one, the goals that ended, the state.
func TestInputs(t *testing.T) {
	r := rules(9)
	r.Reflect = &Triggers{}
	m := lived(r, "one")
	m = m.Note(&agentfact.Reflected{}).End(r, &agentfact.TurnEnded{Turn: 2}, start, map[string]any{"mood": "calm"})
	m = m.Note(&agentfact.Said{Text: "three"}).End(r, &agentfact.TurnEnded{Turn: 3}, start, nil)
	now := m.Of([]protocol.Fact{&agentfact.GoalsUpdated{Goal: goal.Goal{ID: "g", Status: goal.Failed}}}, []Heard{{From: "bo", Text: "hm"}}, &agentfact.TurnEnded{})
	given, text := m.Inputs(&now, 4, start, []goal.Goal{{ID: "f"}, {ID: "g", Status: goal.Failed}}, nil)
	if want := "you said: three\nbo said: hm; your goal g failed\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	ended, _ := given["goals_ended"].([]any)
	then, _ := given["state_then"].(map[string]any)
	if list, _ := given[Base].([]any); len(list) != 2 || len(ended) != 1 || then["mood"] != "calm" {
		t.Errorf("%v", given)
	}
}

// Promise 5: without rules there is nothing. The defaults of a profile.
func TestRulesOf(t *testing.T) {
	if RulesOf(&profile.Profile{}, 16) != nil || RulesOf(&profile.Profile{Memory: &profile.Memory{}}, 16) != nil {
		t.Error("rules out of nothing")
	}
	p := &profile.Profile{Memory: &profile.Memory{Episodes: &profile.Episodes{}}}
	if r := RulesOf(p, 16); !reflect.DeepEqual(*r, Rules{Keep: 1000, Recall: 5, HalfLife: 24 * time.Hour}) {
		t.Errorf("%+v", r)
	}
	p.Memory.Summary = &profile.Summary{}
	if x := RulesOf(p, 16).Summary; *x != (Summarising{After: 16, Tokens: 500, HalfLife: 24 * time.Hour}) {
		t.Errorf("%+v", x)
	}
	p.Memory.Summary = nil
	p.Reflection = &profile.Reflection{Writes: map[string]string{"best_practice_summary": "guild"}}
	if w := RulesOf(p, 16).Writes; len(w) != 1 || w["best_practice"] != "guild" {
		t.Errorf("%v", w)
	}
	if x := RulesOf(p, 16).Reflect; *x != (Triggers{GoalEnded: true, Failures: 3, Importance: 30, MinInterval: 10 * time.Minute, MaxPerDay: 24}) {
		t.Errorf("%+v", x)
	}
	none, never, at := 0, false, protocol.Duration(0)
	p.Reflection = &profile.Reflection{GoalEnded: &never, Failures: &none, Importance: &none, MinInterval: &at, Every: 7, MaxPerDay: 1}
	if x := RulesOf(p, 16).Reflect; *x != (Triggers{Every: 7, MaxPerDay: 1}) {
		t.Errorf("%+v", x)
	}
}

func BenchmarkRecall(b *testing.B) {
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = fmt.Sprintf("the %d. day: bread %d at the mill, and the ford floods %d times after rain", i, i%7, i%13)
	}
	m := lived(rules(1000), texts...)
	for b.Loop() {
		if len(m.Recall(rules(1000), "does the ford flood when bread is dear?", start)) != 5 {
			b.Fatal("nothing")
		}
	}
}
