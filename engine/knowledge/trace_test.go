package knowledge

import (
	"fmt"
	"strings"
	"testing"

	"tavernsim/engine/knowledge/choose"
	"tavernsim/protocol"
)

func traced(b *Base, s *Situation) string {
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
		"keywords":             {[]Entry{with("a", Activation{Keywords: []string{"ford"}})}, "the inn", "a: keywords: none occurs"},
		"whole words":          {[]Entry{with("a", Activation{Keywords: []string{"king"}}), with("b", Activation{Keywords: []string{"king"}, WholeWords: &off})}, "to my liking", "+b; a: keywords: none occurs"},
		"patterns":             {[]Entry{with("a", Activation{Patterns: []string{"for[dt]"}})}, "the inn", "a: keywords: none occurs"},
		"also":                 {[]Entry{with("a", Activation{Keywords: []string{"ford"}, AlsoKeywords: []string{"rain"}})}, "the ford", "a: also_keywords: none occurs"},
		"all":                  {[]Entry{with("a", Activation{AllKeywords: []string{"ford", "rain"}})}, "the ford", "a: all_keywords: absent: rain"},
		"excluded":             {[]Entry{with("a", Activation{Keywords: []string{"ford"}, ExcludeKeywords: []string{"rain"}})}, "ford in the rain", "a: exclude_keywords: there are: rain"},
		"not all":              {[]Entry{with("a", Activation{Keywords: []string{"ford"}, NotAllKeywords: []string{"rain"}})}, "ford in the rain", "a: not_all_keywords: all occur"},
		"tags":                 {[]Entry{with("a", Activation{Tags: []string{"night"}})}, "", "a: tags: none is one of the situation"},
		"event types":          {[]Entry{with("a", Activation{EventTypes: []string{"x.*"}})}, "", "a: event_types: none is perceived"},
		"condition":            {[]Entry{with("a", Activation{Condition: "false"})}, "", "a: condition: false"},
		"disabled":             {[]Entry{{ID: "a", Disabled: true, ActivationCriteria: &Activation{Always: true}}}, "", "a: disabled"},
		"not valid":            {[]Entry{{ID: "a", ValidUntil: noon.Std(), ActivationCriteria: &Activation{Always: true}}}, "", "a: not valid at this time"},
		"nothing can hold":     {[]Entry{with("a", Activation{ExcludeKeywords: []string{"x"}})}, "", "a: no criterion that can hold"},
		"limit":                {[]Entry{with("a", Activation{Always: true}), with("b", Activation{Always: true}), with("c", Activation{Always: true}), with("d", Activation{Always: true, OutsideLimit: true})}, "", "+a; +b; +d; c: limit: 2 entries of this base"},
		"group":                {[]Entry{with("a", Activation{Always: true, Group: "g", Choose: choose.ByPriority}), {ID: "b", Priority: 1, ActivationCriteria: &Activation{Always: true, Group: "g", Choose: choose.ByPriority}}}, "", "+b; a: group g: b stands"},
		"chance":               {[]Entry{with("a", Activation{Always: true, Chance: 0.0001})}, "", "a: chance: 0.0001 %"},
		"woken by a text":      {[]Entry{{ID: "a", Content: "the wyrm", ActivationCriteria: &Activation{Keywords: []string{"ford"}, Wakes: true}}, {ID: "b", Content: "gold", ActivationCriteria: &Activation{Keywords: []string{"wyrm"}, Wakes: true}}, with("c", Activation{Keywords: []string{"gold"}})}, "ford", "+a; +b; c: limit: 2 entries of this base"},
		"not without wakes":    {[]Entry{{ID: "a", Content: "the wyrm", ActivationCriteria: &Activation{Keywords: []string{"ford"}}}, with("b", Activation{Keywords: []string{"wyrm"}})}, "ford", "+a; b: keywords: none occurs"},
		"no text wakes itself": {[]Entry{{ID: "a", Content: "ford", ActivationCriteria: &Activation{Keywords: []string{"ford"}, Wakes: true}}}, "the inn", "a: keywords: none occurs"},
	} {
		for i := range c.entries {
			if c.entries[i].Content == nil {
				c.entries[i].Content = "x"
			}
		}
		b := base(t, KnowledgeBase{Entries: c.entries})
		if got := traced(b, &Situation{Text: c.text, Limit: 2, Now: noon, Draw: protocol.NewDraw(7)}); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func with(id string, a Activation) Entry { return Entry{ID: id, ActivationCriteria: &a} }

// Minds §11: texts wake others three times at most, whatever they say.
func TestWakingEnds(t *testing.T) {
	def := KnowledgeBase{}
	for i := range 9 {
		def.Entries = append(def.Entries, Entry{ID: fmt.Sprint("e", i), Content: fmt.Sprint("word", i+1), ActivationCriteria: &Activation{Keywords: []string{fmt.Sprint("word", i)}, Wakes: true}})
	}
	got, _ := base(t, def).Activate(&Situation{Text: "word0"})
	if len(got) != maxSteps+1 {
		t.Errorf("%d entries", len(got))
	}
}

// Minds §11: the chance is that of the turn and the entry: the same turn draws the same.
func TestChanceIsOfTheTurn(t *testing.T) {
	b := base(t, KnowledgeBase{Entries: []Entry{{ID: "a", Content: "x", ActivationCriteria: &Activation{Always: true, Chance: 50}}}})
	n := 0
	for turn := range uint64(400) {
		one, _ := b.Activate(&Situation{Draw: protocol.NewDraw(turn)})
		again, _ := b.Activate(&Situation{Draw: protocol.NewDraw(turn)})
		if len(one) != len(again) {
			t.Fatalf("turn %d draws twice", turn)
		}
		n += len(one)
	}
	if n < 160 || n > 240 {
		t.Errorf("%d of 400", n)
	}
}
