package memory

import (
	"fmt"
	"slices"

	"tavernsim/engine/knowledge/words"
	"tavernsim/protocol"
)

// likeness is the least cosine of the terms of two episodes that are alike, in hundredths.
const likeness = 70

// consolidate makes one note of so many like episodes, once: those that it is made of stay,
// and are in no other note. Only episodes since the last time can complete a group. Of each group the episode that is most like the others speaks.
func (m *Mind) consolidate(r *Rules, turn uint64, at protocol.Time) {
	before := m.slept
	for k := 0; k < len(m.episodes); k++ { // a note may push one out
		if e := m.episodes[k]; e.single() && e.Turn > before {
			if group := m.like(e); len(group) >= r.Consolidate {
				m.note(r, group, turn, at)
				return // the next group has its note at the next sleep
			}
		}
	}
	m.slept = turn
}

// single reports an episode that is neither a note nor in one.
func (e *Episode) single() bool { return e.Of == 0 && !e.Noted }

// like lists the places of the episodes that are alike with one, and single.
func (m *Mind) like(e *Episode) (places []int) {
	for i, o := range m.episodes {
		if o.single() && e.terms.Near(o.terms, likeness) {
			places = append(places, i)
		}
	}
	return places
}

func (m *Mind) note(r *Rules, group []int, turn uint64, at protocol.Time) {
	m.episodes = slices.Clone(m.episodes)
	first, last := m.episodes[group[0]], m.episodes[group[len(group)-1]]
	n := &Episode{Turn: turn, At: at, Of: int64(len(group))}
	best, most := first, -1
	for _, i := range group {
		e := *m.episodes[i]
		alike := 0
		for _, k := range group {
			if e.terms.Near(m.episodes[k].terms, centre) {
				alike++
			}
		}
		if alike >= most { // of equals the newest
			best, most = m.episodes[i], alike
		}
		n.Importance = max(n.Importance, e.Importance)
		e.Noted = true
		m.episodes[i] = &e
	}
	n.Text = cut(fmt.Sprintf("%d times from %s to %s: %s", n.Of, first.At, last.At, best.Text), maxText)
	m.keep(r, n.prepare(&words.Stemmer{}))
}

// centre is the cosine beyond which an episode speaks for another one.
const centre = 90
