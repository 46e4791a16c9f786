package knowledge

import (
	"slices"
	"strings"

	"tavernsim/engine/knowledge/words"
)

// Traced says why an entry is active in a situation, or is not.
type Traced struct {
	Entry *Entry
	In    bool
	Why   string
}

// Trace says of every entry with activation criteria, and of every lesson that a situation
// brings to mind, why [Base.Activate] has it or not: first what is in, in its order, then
// what is out, by id. It looks at every entry.
func (b *Base) Trace(s *Situation) []Traced {
	in, warnings := b.Activate(s)
	m := b.matched(s)
	var out []Traced
	for _, e := range in {
		if m.held[e.ID] == nil {
			out = append(out, Traced{e, true, "recalled: its rank for the text"})
		} else {
			out = append(out, Traced{e, true, "its criteria hold"})
		}
	}
	why := map[string]string{}
	for i := range m.found {
		why[m.found[i].ID] = m.found[i].Why
	}
	for _, w := range warnings {
		why[w.Entry] = w.Message
	}
	for _, d := range b.sorted() {
		e := d.entry
		if e.ActivationCriteria == nil || slices.Contains(in, e) {
			continue
		}
		reason := why[e.ID]
		if reason == "" {
			reason = m.missed(d)
		}
		out = append(out, Traced{e, false, reason})
	}
	return out
}

// missed is the first criterion of an entry that does not hold.
func (m *matcher) missed(d *doc) string {
	e, a := d.entry, d.entry.ActivationCriteria
	switch {
	case e.Disabled:
		return "disabled"
	case e.SupersededBy != "":
		return "superseded by " + e.SupersededBy
	case !d.valid(m.s.Now):
		return "not valid at this time"
	case a.empty():
		return "no criterion that can hold"
	}
	if reason := m.absent(d); reason != "" {
		return reason
	}
	switch {
	case len(a.Tags) > 0 && !slices.ContainsFunc(a.Tags, func(t string) bool { return slices.Contains(m.s.Tags, t) }):
		return "tags: none is one of the situation"
	case len(a.EventTypes) > 0 && !slices.ContainsFunc(a.EventTypes, m.perceived):
		return "event_types: none is perceived"
	}
	return "condition: false"
}

// absent says which keywords do not occur as they should; "" = they do.
func (m *matcher) absent(d *doc) string {
	a := d.entry.ActivationCriteria
	text := m.text
	if !a.CaseSensitive {
		text = words.Fold(text)
	}
	occurring := func(list []string) (in, out []string) {
		for _, w := range a.fold(list) {
			how := words.NewKeywords([]string{w}).In(text)[0]
			if how >= words.Whole || how > 0 && a.WholeWords != nil && !*a.WholeWords {
				in = append(in, w)
			} else {
				out = append(out, w)
			}
		}
		return in, out
	}
	any, _ := occurring(a.Keywords)
	also, _ := occurring(a.AlsoKeywords)
	none, _ := occurring(a.ExcludeKeywords)
	_, all := occurring(a.AllKeywords)
	_, notAll := occurring(a.NotAllKeywords)
	switch {
	case len(any) == 0 && !d.matches(m.text) || len(any) == 0 && len(a.Keywords) > 0 && len(a.Patterns) == 0:
		return "keywords: none occurs"
	case len(a.AlsoKeywords) > 0 && len(also) == 0:
		return "also_keywords: none occurs"
	case len(all) > 0:
		return "all_keywords: absent: " + strings.Join(all, ", ")
	case len(none) > 0:
		return "exclude_keywords: there are: " + strings.Join(none, ", ")
	case len(a.NotAllKeywords) > 0 && len(notAll) == 0:
		return "not_all_keywords: all occur"
	}
	return ""
}
