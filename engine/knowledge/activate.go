package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/knowledge/choose"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/knowledge/words"
	"tavernsim/engine/prompt"
	"tavernsim/engine/template"
)

// Warning is a fault that did not stop the rest.
type Warning struct {
	Entry   string // id of the entry
	Key     string // the reference, for one
	Message string
}

// Active is what a situation activates.
type Active struct {
	// Entries are those whose activation criteria hold, in the order of priority (higher
	// first), id, and behind them the lessons that the text brings to mind.
	Entries []*Entry
	// Began are the entries that the agent has to keep in mind: with sticky or cooldown.
	Began []criteria.Timed
	// Warnings are of conditions that failed, which do not hold.
	Warnings []Warning
}

// Activate finds what a situation activates.
func (b *Base) Activate(s *criteria.Situation) Active {
	m := b.matched(s)
	out := Active{Warnings: m.warnings}
	for i := range m.found {
		c := &m.found[i]
		if c.Why != "" {
			continue
		}
		e := m.held[c.ID].entry
		out.Entries = append(out.Entries, e)
		if !c.Stays && s.Turn > 0 && e.ActivationCriteria.Timed() {
			out.Began = append(out.Began, e.ActivationCriteria.Begin(b.def.ID, e.ID, s.Turn))
		}
	}
	slices.SortFunc(out.Warnings, func(x, y Warning) int { return strings.Compare(x.Entry, y.Entry) })
	out.Entries = append(out.Entries, b.recalled(s, out.Entries)...)
	return out
}

// maxSteps bounds how often the texts of entries activate others, unless the base says it.
const maxSteps = 3

// bounds are those of a base in a situation.
func (b *Base) bounds(s *criteria.Situation) (out choose.Bounds) {
	out.Limit = cmp.Or(max(s.Limit, 0), DefaultLimit)
	if d := b.def.Activation; d != nil {
		out.Limit, out.Tokens = cmp.Or(max(s.Limit, 0), d.Limit, DefaultLimit), d.Tokens
	}
	out.Limit = min(out.Limit, MaxLimit)
	return out
}

func (b *Base) scan() *criteria.Scan {
	if b.def.Activation == nil {
		return nil
	}
	return b.def.Activation.Scan
}

// Scans reports whether the base looks at more than the text at hand.
func (b *Base) Scans() bool {
	return b.def.Activation != nil && b.def.Activation.MinEntries > 0 || slices.ContainsFunc(b.layers, func(l *layer) bool { return l.trigger.Scans() })
}

// matched finds the entries whose criteria hold, and chooses of them. If they are too few
// it looks further back into the history.
func (b *Base) matched(s *criteria.Situation) *matcher {
	if !s.Vector.None() && b.Compares() {
		own := *s
		own.Near, s = b.near(s.Vector), &own
	}
	m := &matcher{base: b, s: s, held: map[string]*doc{}, steps: maxSteps}
	least := 0
	if d := b.def.Activation; d != nil {
		m.steps, least = cmp.Or(d.MaxSteps, maxSteps), d.MinEntries
	}
	for _, l := range b.layers {
		m.level = max(m.level, l.trigger.Level())
	}
	m.stay()
	bounds := b.bounds(s)
	for {
		for m.step = 0; m.look() && m.step < m.steps; m.step++ {
		}
		choose.Choose(m.found, bounds, s.Draw)
		in := 0
		for i := range m.found {
			if m.found[i].Why == "" {
				in++
			}
		}
		if in >= least || s.Sources == nil || m.back >= min(len(s.Sources.History), criteria.MostBack) {
			return m
		}
		m.back++
		m.again()
	}
}

// matcher finds the entries whose criteria hold.
type matcher struct {
	base     *Base
	s        *criteria.Situation
	woken    string // texts of entries that wake others
	reading  string // of them, at this step
	step     int    // of waking
	steps    int    // at most
	level    int    // the highest of an entry
	back     int    // entries of the history beyond those of the scans
	texts    map[*criteria.Scan][2]string
	held     map[string]*doc // that were found, by id
	found    []choose.Candidate
	warnings []Warning
}

// again forgets what was chosen, but for what chance put out.
func (m *matcher) again() {
	for i := range m.found {
		if c := &m.found[i]; !strings.HasPrefix(c.Why, "chance") {
			c.Why = ""
		}
	}
}

// stay takes the entries that were active before and stay so.
func (m *matcher) stay() {
	for _, k := range m.s.Kept {
		if d := m.base.find(k.ID); d != nil && d.criteria != nil && !d.entry.Retired() && d.valid(m.s.Now) && d.criteria.Stays(m.s, k.ID) {
			m.take(d, criteria.Found{}, true)
		}
	}
}

// text is that of a scan at this step, and folded.
func (m *matcher) text(scan *criteria.Scan) (text, folded string) {
	if t, ok := m.texts[scan]; ok {
		return t[0], t[1]
	}
	text = m.s.ScanText(scan, m.back)
	text += m.reading
	folded = words.Fold(text)
	if m.texts == nil {
		m.texts = map[*criteria.Scan][2]string{}
	}
	m.texts[scan] = [2]string{text, folded}
	return text, folded
}

// look finds more entries; true = there is more to read. What is found at a step is read at
// the next one, so that the order of the entries does not matter.
func (m *matcher) look() bool {
	clear(m.texts)
	if m.reading = ""; m.step > 0 {
		m.reading = m.woken
	}
	for n, l := range m.base.layers {
		l.trigger.Each(func(i int32) *criteria.Compiled { return l.docs[i].criteria }, m.text, func(f criteria.Found) {
			d := l.docs[f.Entry]
			if m.held[d.entry.ID] == nil && (m.step == 0 || d.criteria.WokenBy == "") && m.base.visible(n, d) && d.valid(m.s.Now) && m.holds(d, f.Text) {
				m.take(d, f, false)
			}
		})
	}
	return len(m.woken) > len(m.reading) || m.woken != "" && m.step < m.level
}

// take notes an entry, and its text if it may activate others.
func (m *matcher) take(d *doc, f criteria.Found, stays bool) {
	e, a := d.entry, d.criteria
	c := choose.Candidate{ID: e.ID, Priority: e.Priority, Chance: a.Chance, Group: a.Group, Weight: a.Weight, By: a.Choose, Outside: a.OutsideLimit,
		Matches: f.Matches, Stays: stays, Exempt: a.OutsideBudget}
	if def := m.base.def.Activation; def != nil && def.Tokens > 0 {
		c.Tokens = prompt.Tokens(e.Title) + prompt.Tokens(string(template.AppendText(nil, e.Content)))
	}
	drawn := c.Drawn(m.s.Draw)
	m.held[e.ID], m.found = d, append(m.found, c)
	if drawn && a.Wakes {
		m.woken += "\n" + string(words.AppendTexts(nil, e.Content))
	}
}

// holds tests what is no keyword.
func (m *matcher) holds(d *doc, text string) bool {
	why, err := d.criteria.Missed(m.s, d.entry.ID, text, m.step)
	if err != nil {
		m.warnings = append(m.warnings, Warning{Entry: d.entry.ID, Message: "condition: " + err.Error()})
	}
	return why == ""
}
