package knowledge

import (
	"slices"
	"strconv"

	"tavernsim/engine/knowledge/criteria"
)

// Traced says why an entry is active in a situation, or is not.
type Traced struct {
	Entry *Entry
	In    bool
	Why   string
}

// Unheard reports an entry that is out because none of its keywords occurs, as most are.
func (t *Traced) Unheard() bool { return !t.In && t.Why == criteria.NoKeyword }

// Trace says of every entry with activation criteria, and of every lesson that a situation
// brings to mind, why [Base.Activate] has it or not: first what is in, in its order, then
// what is out, by id. It looks at every entry.
func (b *Base) Trace(s *criteria.Situation) []Traced {
	active := b.Activate(s)
	m := b.matched(s)
	var out []Traced
	for _, e := range active.Entries {
		out = append(out, Traced{e, true, m.stands(e.ID)})
	}
	why := map[string]string{}
	for i := range m.found {
		why[m.found[i].ID] = m.found[i].Why
	}
	for _, w := range active.Warnings {
		why[w.Entry] = w.Message
	}
	for _, d := range b.sorted() {
		e := d.entry
		if e.ActivationCriteria == nil || slices.Contains(active.Entries, e) {
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

// stands says why an entry is active.
func (m *matcher) stands(id string) string {
	if m.held[id] == nil {
		return "recalled: its rank for the text"
	}
	for i := range m.found {
		if m.found[i].ID == id && m.found[i].Stays {
			return "sticky: active before"
		}
	}
	if m.back > 0 {
		return "its criteria hold; min_entries: " + strconv.Itoa(m.back) + " further back"
	}
	return "its criteria hold"
}

// missed is the first criterion of an entry that does not hold.
func (m *matcher) missed(d *doc) string {
	e := d.entry
	switch {
	case e.Disabled:
		return "disabled"
	case e.SupersededBy != "":
		return "superseded by " + e.SupersededBy
	case !d.valid(m.s.Now):
		return "not valid at this time"
	case d.criteria.Empty():
		return "no criterion that can hold"
	}
	scan := m.base.scan()
	if d.criteria.Scan != nil {
		scan = d.criteria.Scan
	}
	clear(m.texts)
	if m.reading = m.woken; d.criteria.WokenBy != "" {
		m.reading = ""
	}
	text, _ := m.text(scan)
	if reason := d.criteria.Absent(text); reason != "" {
		return reason
	}
	why, err := d.criteria.Missed(m.s, e.ID, text, m.step)
	switch {
	case err != nil:
		return "condition: " + err.Error()
	case why == "":
		return "max_steps: no step is left to find it"
	}
	return why
}
