package knowledge

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tavernsim/engine/knowledge/choose"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

func traced(b *Base, s *criteria.Situation) string {
	var out []string
	for _, x := range b.Trace(s) {
		if x.In {
			out = append(out, "+"+x.Entry.ID)
		} else {
			out = append(out, x.Entry.ID+": "+x.Why)
		}
	}
	return strings.Join(out, "; ")
}

// Minds §11, a row each: why an entry stands in the prompt, or does not.
func TestTrace(t *testing.T) {
	off := false
	for name, c := range map[string]struct {
		entries []Entry
		text    string
		want    string
	}{
		"keywords":             {[]Entry{with("a", criteria.Activation{Keywords: []string{"ford"}})}, "the inn", "a: keywords: none occurs"},
		"whole words":          {[]Entry{with("a", criteria.Activation{Keywords: []string{"king"}}), with("b", criteria.Activation{Keywords: []string{"king"}, WholeWords: &off})}, "to my liking", "+b; a: keywords: none occurs"},
		"patterns":             {[]Entry{with("a", criteria.Activation{Patterns: []string{"for[dt]"}})}, "the inn", "a: keywords: none occurs"},
		"also":                 {[]Entry{with("a", criteria.Activation{Keywords: []string{"ford"}, AlsoKeywords: []string{"rain"}})}, "the ford", "a: also_keywords: none occurs"},
		"all":                  {[]Entry{with("a", criteria.Activation{AllKeywords: []string{"ford", "rain"}})}, "the ford", "a: all_keywords: absent: rain"},
		"excluded":             {[]Entry{with("a", criteria.Activation{Keywords: []string{"ford"}, ExcludeKeywords: []string{"rain"}})}, "ford in the rain", "a: exclude_keywords: there are: rain"},
		"not all":              {[]Entry{with("a", criteria.Activation{Keywords: []string{"ford"}, NotAllKeywords: []string{"rain"}})}, "ford in the rain", "a: not_all_keywords: all occur"},
		"tags":                 {[]Entry{with("a", criteria.Activation{Tags: []string{"night"}})}, "", "a: tags: none is one of the situation"},
		"event types":          {[]Entry{with("a", criteria.Activation{EventTypes: []string{"x.*"}})}, "", "a: event_types: none is perceived"},
		"condition":            {[]Entry{with("a", criteria.Activation{Condition: "false"})}, "", "a: condition: false"},
		"disabled":             {[]Entry{{ID: "a", Disabled: true, ActivationCriteria: &criteria.Activation{Always: true}}}, "", "a: disabled"},
		"not valid":            {[]Entry{{ID: "a", ValidUntil: noon.Std(), ActivationCriteria: &criteria.Activation{Always: true}}}, "", "a: not valid at this time"},
		"nothing can hold":     {[]Entry{with("a", criteria.Activation{ExcludeKeywords: []string{"x"}})}, "", "a: no criterion that can hold"},
		"limit":                {[]Entry{with("a", criteria.Activation{Always: true}), with("b", criteria.Activation{Always: true}), with("c", criteria.Activation{Always: true}), with("d", criteria.Activation{Always: true, OutsideLimit: true})}, "", "+a; +b; +d; c: limit: 2 entries of this base"},
		"group":                {[]Entry{with("a", criteria.Activation{Always: true, Group: "g", Choose: choose.ByPriority}), {ID: "b", Priority: 1, ActivationCriteria: &criteria.Activation{Always: true, Group: "g", Choose: choose.ByPriority}}}, "", "+b; a: group g: b stands"},
		"chance":               {[]Entry{with("a", criteria.Activation{Always: true, Chance: 0.0001})}, "", "a: chance: 0.0001 %"},
		"woken by a text":      {[]Entry{{ID: "a", Content: "the wyrm", ActivationCriteria: &criteria.Activation{Keywords: []string{"ford"}, Wakes: true}}, {ID: "b", Content: "gold", ActivationCriteria: &criteria.Activation{Keywords: []string{"wyrm"}, Wakes: true}}, with("c", criteria.Activation{Keywords: []string{"gold"}})}, "ford", "+a; +b; c: limit: 2 entries of this base"},
		"not without wakes":    {[]Entry{{ID: "a", Content: "the wyrm", ActivationCriteria: &criteria.Activation{Keywords: []string{"ford"}}}, with("b", criteria.Activation{Keywords: []string{"wyrm"}})}, "ford", "+a; b: keywords: none occurs"},
		"no text wakes itself": {[]Entry{{ID: "a", Content: "ford", ActivationCriteria: &criteria.Activation{Keywords: []string{"ford"}, Wakes: true}}}, "the inn", "a: keywords: none occurs"},
	} {
		for i := range c.entries {
			if c.entries[i].Content == nil {
				c.entries[i].Content = "x"
			}
		}
		b := base(t, KnowledgeBase{Entries: c.entries})
		if got := traced(b, &criteria.Situation{Text: c.text, Limit: 2, Now: noon, Draw: protocol.NewDraw(7)}); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func with(id string, a criteria.Activation) Entry { return Entry{ID: id, ActivationCriteria: &a} }

// Minds §11: texts wake others three times at most, whatever they say.
func TestWakingEnds(t *testing.T) {
	def := KnowledgeBase{}
	for i := range 9 {
		def.Entries = append(def.Entries, Entry{ID: fmt.Sprint("e", i), Content: fmt.Sprint("word", i+1), ActivationCriteria: &criteria.Activation{Keywords: []string{fmt.Sprint("word", i)}, Wakes: true}})
	}
	got := base(t, def).Activate(&criteria.Situation{Text: "word0"}).Entries
	if len(got) != maxSteps+1 {
		t.Errorf("%d entries", len(got))
	}
}

// Minds §11: the chance is that of the turn and the entry: the same turn draws the same.
func TestChanceIsOfTheTurn(t *testing.T) {
	b := base(t, KnowledgeBase{Entries: []Entry{{ID: "a", Content: "x", ActivationCriteria: &criteria.Activation{Always: true, Chance: 50}}}})
	n := 0
	for turn := range uint64(400) {
		one := b.Activate(&criteria.Situation{Draw: protocol.NewDraw(turn)}).Entries
		again := b.Activate(&criteria.Situation{Draw: protocol.NewDraw(turn)}).Entries
		if len(one) != len(again) {
			t.Fatalf("turn %d draws twice", turn)
		}
		n += len(one)
	}
	if n < 160 || n > 240 {
		t.Errorf("%d of 400", n)
	}
}

// Minds §11, the rest of the table, a row each.
func TestTraceOfTheRest(t *testing.T) {
	back := func(texts ...string) *criteria.Sources {
		src := &criteria.Sources{}
		for _, x := range texts {
			src.History = append(src.History, criteria.Line{Who: "ann", Text: x})
		}
		return src
	}
	ford := criteria.Activation{Keywords: []string{"ford"}}
	scans := func(scan criteria.Scan) criteria.Activation {
		return criteria.Activation{Keywords: []string{"ford"}, Scan: &scan}
	}
	sources := &criteria.Sources{
		Events: []criteria.Line{{Who: "bo", Text: "the inn"}}, Goals: []criteria.Line{{Text: "reach the mill"}}, Observations: []criteria.Line{{Text: "the bridge"}},
		History: []criteria.Line{{Who: "ann", Text: "the ford"}, {Who: "cy", Text: "the wood"}},
		Self:    func(path string) string { return map[string]string{"mood": "merry"}[path] },
		World:   func(path string) string { return map[string]string{"weather": "rain"}[path] },
	}
	word := func(word string, scan criteria.Scan) criteria.Activation {
		return criteria.Activation{Keywords: []string{word}, Scan: &scan}
	}
	wakes := func(id, text, key string) Entry {
		return Entry{ID: id, Content: text, ActivationCriteria: &criteria.Activation{Keywords: []string{key}, Wakes: true}}
	}
	who := criteria.Who{Instance: "mira", Name: "Mira the smith", Profile: "smith", Roles: []string{"judge"}, Places: []string{"forge"}}
	scope := func(s criteria.Scope) criteria.Activation {
		return criteria.Activation{Always: true, Scope: &s}
	}
	for name, c := range map[string]struct {
		entries []Entry
		s       criteria.Situation
		def     *criteria.Defaults
		want    string
	}{
		"scan events":       {[]Entry{with("a", word("inn", criteria.Scan{Events: true})), with("b", word("bo", criteria.Scan{Events: true})), with("c", word("inn", criteria.Scan{Goals: true}))}, criteria.Situation{Sources: sources}, nil, "+a; +b; c: keywords: none occurs"},
		"scan history":      {[]Entry{with("a", scans(criteria.Scan{History: 2})), with("b", scans(criteria.Scan{History: 1})), with("c", word("ann: the ford", criteria.Scan{History: 9}))}, criteria.Situation{Sources: sources}, nil, "+a; +c; b: keywords: none occurs"},
		"scan goals":        {[]Entry{with("a", word("mill", criteria.Scan{Goals: true}))}, criteria.Situation{Sources: sources}, nil, "+a"},
		"scan observations": {[]Entry{with("a", word("bridge", criteria.Scan{Observations: true}))}, criteria.Situation{Sources: sources}, nil, "+a"},
		"scan self":         {[]Entry{with("a", word("mood: merry", criteria.Scan{Self: []string{"mood"}})), with("b", word("merry", criteria.Scan{Self: []string{"mind"}}))}, criteria.Situation{Sources: sources}, nil, "+a; b: keywords: none occurs"},
		"scan world":        {[]Entry{with("a", word("rain", criteria.Scan{World: []string{"weather"}}))}, criteria.Situation{Sources: sources}, nil, "+a"},
		"scan of the base":  {[]Entry{with("a", ford), with("b", word("inn", criteria.Scan{Events: true}))}, criteria.Situation{Text: "no", Sources: sources}, &criteria.Defaults{Scan: &criteria.Scan{History: 5}}, "+a; +b"},
		"similar":           {[]Entry{with("a", criteria.Activation{Similar: &criteria.Similar{To: "crossing rivers by the ford", Above: 0.5}}), {ID: "b", Content: "The dragon sleeps on gold.", ActivationCriteria: &criteria.Activation{Similar: &criteria.Similar{Above: 0.5}}}}, criteria.Situation{Text: "hello\nhow do we cross the river at the ford\n"}, nil, "+a; b: similar: no line is as like it"},
		"scope":             {[]Entry{with("a", scope(criteria.Scope{Agents: []string{"mira"}, Profiles: []string{"smith"}})), with("b", scope(criteria.Scope{Agents: []string{"Mira the smith"}, Except: true})), with("c", scope(criteria.Scope{Roles: []string{"judge", "priest"}})), with("d", scope(criteria.Scope{Places: []string{"inn"}})), with("e", scope(criteria.Scope{Places: []string{"forge"}}))}, criteria.Situation{Who: who}, nil, "+a; +c; +e; b: scope: not for this agent; d: scope: not for this agent"},
		"purposes":          {[]Entry{with("a", criteria.Activation{Always: true, Purposes: []string{"reflect"}}), with("b", criteria.Activation{Always: true, Purposes: []string{"deliberate"}})}, criteria.Situation{Purpose: "reflect"}, nil, "+a; b: purposes: not for reflect"},
		"delay":             {[]Entry{with("a", criteria.Activation{Always: true, Delay: 2}), with("b", criteria.Activation{Always: true, Delay: 3})}, criteria.Situation{Turn: 3}, nil, "+a; b: delay: from turn 4 on"},
		"sticky":            {[]Entry{with("a", criteria.Activation{Keywords: []string{"ford"}, Sticky: 2, Chance: 0.0001}), with("b", criteria.Activation{Keywords: []string{"ford"}, Sticky: 2})}, criteria.Situation{Turn: 5, Kept: criteria.Kept{{ID: "a", Since: 3, Stays: 5, Rests: 5}, {ID: "b", Since: 2, Stays: 4, Rests: 4}}}, nil, "+a; b: keywords: none occurs"},
		"sticky and scope":  {[]Entry{with("a", criteria.Activation{Keywords: []string{"ford"}, Sticky: 2, Scope: &criteria.Scope{Agents: []string{"bo"}}})}, criteria.Situation{Turn: 5, Kept: criteria.Kept{{ID: "a", Since: 3, Stays: 5, Rests: 5}}}, nil, "a: keywords: none occurs"},
		"cooldown":          {[]Entry{with("a", criteria.Activation{Always: true, Cooldown: 2}), with("b", criteria.Activation{Always: true, Cooldown: 2})}, criteria.Situation{Turn: 5, Kept: criteria.Kept{{ID: "a", Since: 3, Stays: 3, Rests: 5}, {ID: "b", Since: 2, Stays: 2, Rests: 4}}}, nil, "+b; a: cooldown: until turn 5"},
		"level":             {[]Entry{wakes("a", "the wyrm", "ford"), with("b", criteria.Activation{Keywords: []string{"ford"}, Level: 1}), with("c", criteria.Activation{Keywords: []string{"wyrm"}, Level: 2}), with("d", criteria.Activation{Keywords: []string{"wyrm"}, Level: 3})}, criteria.Situation{Text: "ford"}, &criteria.Defaults{MaxSteps: 2}, "+a; +b; +c; d: level: only entries wake it, from step 3 on"},
		"level unwoken":     {[]Entry{with("b", criteria.Activation{Keywords: []string{"ford"}, Level: 1})}, criteria.Situation{Text: "ford"}, nil, "b: level: only entries wake it, from step 1 on"},
		"woken by text":     {[]Entry{wakes("a", "the wyrm", "ford"), with("b", criteria.Activation{Keywords: []string{"wyrm"}, WokenBy: criteria.WokenByText}), with("c", criteria.Activation{Keywords: []string{"ford"}, WokenBy: criteria.WokenByText})}, criteria.Situation{Text: "ford"}, nil, "+a; +c; b: keywords: none occurs"},
		"max steps":         {[]Entry{wakes("a", "one", "zero"), wakes("b", "two", "one"), wakes("c", "three", "two")}, criteria.Situation{Text: "zero"}, &criteria.Defaults{MaxSteps: 1}, "+a; +b; c: max_steps: no step is left to find it"},
		"min entries":       {[]Entry{with("a", ford), with("b", criteria.Activation{Always: true})}, criteria.Situation{Text: "inn", Sources: back("the ford", "the wood", "the mill")}, &criteria.Defaults{MinEntries: 2}, "+a; +b"},
		"min entries end":   {[]Entry{with("a", ford), with("b", criteria.Activation{Keywords: []string{"mill"}})}, criteria.Situation{Sources: back("the ford", "the wood", "the mill")}, &criteria.Defaults{MinEntries: 1}, "+b; a: keywords: none occurs"},
		"limit of the base": {[]Entry{with("a", criteria.Activation{Always: true}), with("b", criteria.Activation{Always: true})}, criteria.Situation{}, &criteria.Defaults{Limit: 1}, "+a; b: limit: 1 entries of this base"},
		"tokens":            {[]Entry{{ID: "a", Content: strings.Repeat("word ", 30), ActivationCriteria: &criteria.Activation{Always: true}}, with("b", criteria.Activation{Always: true}), {ID: "c", Content: strings.Repeat("word ", 30), ActivationCriteria: &criteria.Activation{Always: true, OutsideBudget: true}}}, criteria.Situation{}, &criteria.Defaults{Tokens: 20}, "+b; +c; a: tokens: 31, and 20 of 20 are left"},
		"matches":           {[]Entry{with("a", criteria.Activation{Keywords: []string{"ford"}, Group: "g", Choose: choose.ByMatches}), with("b", criteria.Activation{Keywords: []string{"ford", "rain"}, Group: "g"})}, criteria.Situation{Text: "rain at the ford"}, nil, "+b; a: group g: b stands"},
		"condition: goals":  {[]Entry{with("a", criteria.Activation{Condition: "goals.some(g => g.id === 'win')"})}, criteria.Situation{Goals: []any{map[string]any{"id": "win"}}}, nil, "+a"},
	} {
		for i := range c.entries {
			if c.entries[i].Content == nil {
				c.entries[i].Content = "x"
			}
		}
		b := base(t, KnowledgeBase{Entries: c.entries, Activation: c.def})
		c.s.Draw = protocol.NewDraw(7)
		if got := traced(b, &c.s); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Minds §11: an entry that stays and one that rests are two spans of turns, one behind the
// other, whatever else is active; and in no other turn does what is kept change anything.
func TestStickyAndCooldown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sticky, cooldown := rapid.Int64Range(0, 4).Draw(rt, "sticky"), rapid.Int64Range(0, 4).Draw(rt, "cooldown")
		def := KnowledgeBase{Entries: []Entry{
			{ID: "a", Content: "x", ActivationCriteria: &criteria.Activation{Keywords: []string{"ford"}, Sticky: sticky, Cooldown: cooldown}},
			{ID: "b", Content: "x", ActivationCriteria: &criteria.Activation{Keywords: []string{"ford"}}},
		}}
		b := base(t, def)
		var kept criteria.Kept
		since := int64(-1)
		for turn := int64(1); turn < 40; turn++ {
			text := ""
			if rapid.Bool().Draw(rt, "said") {
				text = "the ford"
			}
			active := b.Activate(&criteria.Situation{Text: text, Turn: uint64(turn), Kept: kept})
			got := map[string]bool{}
			for _, e := range active.Entries {
				got[e.ID] = true
			}
			want := text != ""
			switch {
			case since >= 0 && turn <= since+sticky:
				want = true
			case since >= 0 && turn <= since+sticky+cooldown:
				want = false
			}
			if got["a"] != want || got["b"] != (text != "") {
				rt.Fatalf("turn %d, since %d: active %v, want a %v", turn, since, got, want)
			}
			if want && (since < 0 || turn > since+sticky) {
				since = turn
			}
			kept = kept.With(active.Began...).After(uint64(turn))
			if len(kept) > 1 {
				rt.Fatalf("%v are kept", kept)
			}
		}
	})
}

// Minds §11: what is new about one entry moves no draw of another.
func TestDrawsOfOthersStay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var entries []Entry
		for i := range 8 {
			entries = append(entries, Entry{ID: fmt.Sprint("e", i), Content: "the ford", ActivationCriteria: &criteria.Activation{Always: true, OutsideLimit: true, Chance: 50}})
		}
		s := &criteria.Situation{Draw: protocol.NewDraw(rapid.Uint64().Draw(rt, "seed")), Turn: 9}
		before := traced(base(t, KnowledgeBase{Entries: entries}), s)
		more := &criteria.Activation{Always: true, OutsideLimit: true, Sticky: 2, Cooldown: 1, Wakes: true, Group: "g", Chance: 30, Choose: choose.ByMatches}
		b := base(t, KnowledgeBase{Entries: append(entries, Entry{ID: "z", Content: "the ford", ActivationCriteria: more}), Activation: &criteria.Defaults{MaxSteps: 5}})
		var after []string
		for line := range strings.SplitSeq(traced(b, s), "; ") {
			if !strings.HasPrefix(line, "z") && line != "+z" {
				after = append(after, line)
			}
		}
		if got := strings.Join(after, "; "); got != before {
			rt.Fatalf("before %s\nafter %s", before, got)
		}
	})
}
