package knowledge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tavernsim/engine/knowledge/criteria"
	"tavernsim/protocol"
)

// Each rule of keywords alone.
func TestKeywordRules(t *testing.T) {
	off := false
	for name, c := range map[string]struct {
		a   criteria.Activation
		yes []string
		no  []string
	}{
		"whole words":              {criteria.Activation{Keywords: []string{"King"}}, []string{"the king!", "KING", "王king王"}, []string{"not to my liking", "kings", "king2"}},
		"inside words":             {criteria.Activation{Keywords: []string{"king"}, WholeWords: &off}, []string{"not to my liking"}, []string{"kin g"}},
		"several words":            {criteria.Activation{Keywords: []string{"black cat"}}, []string{"a black cat."}, []string{"black cats", "black  cat"}},
		"CJK":                      {criteria.Activation{Keywords: []string{"森林"}}, []string{"黑暗的森林里"}, []string{"林森"}},
		"also":                     {criteria.Activation{Keywords: []string{"king"}, AlsoKeywords: []string{"crown", "sword"}}, []string{"king with sword"}, []string{"king", "sword"}},
		"not all":                  {criteria.Activation{Keywords: []string{"king"}, NotAllKeywords: []string{"crown", "sword"}}, []string{"king", "king with sword"}, []string{"king, crown, sword", "crown"}},
		"none":                     {criteria.Activation{Keywords: []string{"king"}, ExcludeKeywords: []string{"dead"}}, []string{"king"}, []string{"dead king"}},
		"all":                      {criteria.Activation{AllKeywords: []string{"king", "queen"}}, []string{"queen and king"}, []string{"king", "queen"}},
		"pattern or keyword":       {criteria.Activation{Keywords: []string{"king"}, Patterns: []string{`\bqueens?\b`}}, []string{"King", "QUEENS"}, []string{"queenly"}},
		"pattern with case":        {criteria.Activation{Patterns: []string{"Queen"}, CaseSensitive: true}, []string{"Queen"}, []string{"queen"}},
		"also alone":               {criteria.Activation{AlsoKeywords: []string{"crown"}}, []string{"crown"}, []string{"king"}},
		"not all alone is nothing": {criteria.Activation{NotAllKeywords: []string{"crown"}}, nil, []string{"king", ""}},
	} {
		b := base(t, KnowledgeBase{Entries: []Entry{{ID: "e", Content: "x", ActivationCriteria: &c.a}}})
		for _, text := range c.yes {
			if got := b.Activate(&criteria.Situation{Text: text}).Entries; len(got) != 1 {
				t.Errorf("%s: %q does not make it active", name, text)
			}
		}
		for _, text := range c.no {
			if got := b.Activate(&criteria.Situation{Text: text}).Entries; len(got) != 0 {
				t.Errorf("%s: %q makes it active", name, text)
			}
		}
	}
	def := KnowledgeBase{ID: "kb", Entries: []Entry{{ID: "e", EntryType: "lore", Content: "x", ActivationCriteria: &criteria.Activation{Patterns: []string{"("}}}}}
	if faults := Validate(&def); len(faults) != 1 || faults[0].Path != "/entries/0/activation_criteria/patterns/0" {
		t.Errorf("%v", faults)
	}
}

// BenchmarkActivate: 10,000 entries with three keywords each, a text of 2 KB. Beside it
// the limit: the text in lower case.
func BenchmarkActivate(b *testing.B) {
	d := protocol.NewDraw(3)
	word := func() string {
		return fmt.Sprintf("%c%c%cw%d", 'a'+d.IntN(26), 'a'+d.IntN(26), 'a'+d.IntN(26), d.IntN(1000))
	}
	var def KnowledgeBase
	for i := range 10_000 {
		def.Entries = append(def.Entries, Entry{ID: fmt.Sprintf("e%05d", i), Content: "x", ActivationCriteria: &criteria.Activation{Keywords: []string{word(), word(), word() + " " + word()}}})
	}
	kb := base(b, def)
	var text strings.Builder
	for i := 0; text.Len() < 2000; i++ {
		if i%30 == 0 {
			text.WriteString(def.Entries[d.IntN(10_000)].ActivationCriteria.Keywords[0] + " ")
		}
		text.WriteString(word() + " ")
	}
	s := &criteria.Situation{Text: text.String(), Limit: MaxLimit}
	var best, limit time.Duration
	b.ReportAllocs()
	for b.Loop() {
		best = faster(best, func() { kb.Activate(s) })
		limit = faster(limit, func() { sink += int64(len(strings.ToUpper(s.Text))) })
	}
	got := kb.Activate(s).Entries
	b.ReportMetric(float64(best.Nanoseconds())/1e3, "best-µs")
	b.ReportMetric(float64(limit.Nanoseconds())/1e3, "limit-µs")
	b.ReportMetric(float64(len(got)), "active")
}
