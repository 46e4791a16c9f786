package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"tavernsim/engine/expr"
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
// priority (higher first), id, and behind them the lessons that the text brings to mind. A condition that fails does not hold and leaves
// a warning.
func (b *Base) Activate(s *Situation) ([]*Entry, []Warning) {
	m := matcher{s: s}
	folded := words.Fold(s.Text)
	var out []*Entry
	for n, l := range b.layers {
		list, found := l.trigger.candidates(s.Text, folded)
		for _, i := range list {
			w := &l.trigger.docs[i]
			d := l.docs[w.doc]
			if w.holds(found, func() bool { return d.matches(s.Text) }) && b.visible(n, d) && d.valid(s.Now) && m.holds(d) {
				out = append(out, d.entry)
			}
		}
	}
	slices.SortFunc(out, func(x, y *Entry) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), strings.Compare(x.ID, y.ID))
	})
	slices.SortFunc(m.warnings, func(x, y Warning) int { return strings.Compare(x.Entry, y.Entry) })
	limit := min(s.Limit, MaxLimit)
	if limit <= 0 {
		limit = DefaultLimit
	}
	out = out[:min(len(out), limit)]
	return append(out, b.recalled(s, out)...), m.warnings
}

type matcher struct {
	s        *Situation
	warnings []Warning
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
