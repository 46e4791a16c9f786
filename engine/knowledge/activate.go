package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/expr"
	"tavernsim/engine/knowledge/choose"
	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// Situation is the input of activation criteria.
type Situation struct {
	Text       string   // at hand: a prompt, an utterance, a summary of the events
	Tags       []string // of the place, the scene, the agent
	EventTypes []string // perceived
	World      any      // roots of conditions: world, self, events, text
	Self       any
	Events     []any
	Draw       protocol.Draw // of the turn, for chance
	Now        protocol.Time // 0 = entries are valid at all times, and everything is as recent
	Limit      int           // 0 = DefaultLimit; more than MaxLimit is MaxLimit
}

// Lookup resolves the roots of conditions.
func (s *Situation) Lookup(root string) (any, bool) {
	switch root {
	case "text":
		return s.Text, true
	case "world":
		return s.World, true
	case "self":
		return s.Self, true
	case "events":
		return s.Events, true
	}
	return nil, false
}

// Warning is a fault that did not stop the rest.
type Warning struct {
	Entry   string // id of the entry
	Key     string // the reference, for one
	Message string
}

// Activate finds the entries whose activation criteria hold, in the order of
// priority (higher first), id, and behind them the lessons that the text brings to mind. A
// condition that fails does not hold and leaves a warning.
func (b *Base) Activate(s *Situation) ([]*Entry, []Warning) {
	m := b.matched(s)
	var out []*Entry
	for i := range m.found {
		if m.found[i].Why == "" {
			out = append(out, m.held[m.found[i].ID])
		}
	}
	slices.SortFunc(m.warnings, func(x, y Warning) int { return strings.Compare(x.Entry, y.Entry) })
	return append(out, b.recalled(s, out)...), m.warnings
}

// maxSteps bounds how often the texts of entries activate others.
const maxSteps = 3

// matched finds the entries whose criteria hold, and chooses of them.
func (b *Base) matched(s *Situation) *matcher {
	m := &matcher{base: b, s: s, text: s.Text, held: map[string]*Entry{}}
	for step := 0; m.look() && step < maxSteps; step++ {
	}
	choose.Choose(m.found, min(cmp.Or(max(s.Limit, 0), DefaultLimit), MaxLimit), s.Draw)
	return m
}

// matcher finds the entries whose criteria hold.
type matcher struct {
	base     *Base
	s        *Situation
	text     string            // at hand, with those of entries that wake others
	held     map[string]*Entry // that were found, by id
	found    []choose.Candidate
	warnings []Warning
}

// look finds more entries; true = their texts may activate others.
func (m *matcher) look() (more bool) {
	folded, text := words.Fold(m.text), m.text
	for n, l := range m.base.layers {
		list, found := l.trigger.candidates(text, folded)
		for _, i := range list {
			w := &l.trigger.docs[i]
			d := l.docs[w.doc]
			if m.held[d.entry.ID] == nil && w.holds(found, func() bool { return d.matches(text) }) && m.base.visible(n, d) && d.valid(m.s.Now) && m.holds(d) {
				more = m.take(d) || more
			}
		}
	}
	return more
}

// take notes an entry; true = its text may activate others.
func (m *matcher) take(d *doc) bool {
	e, a := d.entry, d.entry.ActivationCriteria
	c := choose.Candidate{ID: e.ID, Priority: e.Priority, Chance: a.Chance, Group: a.Group, Weight: a.Weight, By: a.Choose, Outside: a.OutsideLimit}
	drawn := c.Drawn(m.s.Draw)
	m.held[e.ID], m.found = e, append(m.found, c)
	if drawn && a.Wakes {
		m.text += "\n" + string(words.AppendTexts(nil, e.Content))
	}
	return drawn && a.Wakes
}

// holds tests what is no keyword.
func (m *matcher) holds(d *doc) bool {
	a := d.entry.ActivationCriteria
	switch {
	case a.empty():
		return false
	case len(a.Tags) > 0 && !slices.ContainsFunc(a.Tags, func(t string) bool { return slices.Contains(m.s.Tags, t) }):
		return false
	case len(a.EventTypes) > 0 && !slices.ContainsFunc(a.EventTypes, m.perceived):
		return false
	}
	return d.when == nil || m.condition(d.entry.ID, d.when)
}

// empty reports criteria that never hold: without any, or with exclusions only.
func (a *Activation) empty() bool {
	return !a.Always && len(a.Keywords)+len(a.AlsoKeywords)+len(a.AllKeywords)+len(a.Patterns)+len(a.Tags)+len(a.EventTypes) == 0 && a.Condition == ""
}

func (m *matcher) perceived(pattern string) bool {
	prefix, wild := strings.CutSuffix(pattern, ".*")
	return slices.ContainsFunc(m.s.EventTypes, func(t string) bool {
		return t == pattern || wild && strings.HasPrefix(t, prefix+".") && len(t) > len(prefix)+1
	})
}

func (m *matcher) condition(id string, when *expr.Program) bool {
	ok, err := when.EvalBool(m.s)
	if err != nil {
		m.warnings = append(m.warnings, Warning{Entry: id, Message: "condition: " + err.Error()})
	}
	return ok && err == nil
}
