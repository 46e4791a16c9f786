package knowledge

import (
	"cmp"
	"slices"
)

// MaxRetired is how many entries of agents that were archived or superseded stay in a base, so that its
// size is bounded however long agents learn. A quarter more may gather before the oldest leave together.
const MaxRetired = 1000

// forgetful drops the oldest of the retired entries that agents wrote, if there are too many. Their facts stay
// in the journal; who names one is told that there is none.
func (b *Base) forgetful() *Base {
	var list []*Entry
	for at, l := range b.layers {
		for _, d := range l.docs {
			e := d.entry
			if d.written && !d.filed && e.Retired() && !e.Locked && e.Source == SourceAgent && b.visible(at, d) {
				list = append(list, e)
			}
		}
	}
	if len(list) <= MaxRetired+MaxRetired/4 {
		return b
	}
	slices.SortFunc(list, func(x, y *Entry) int { return cmp.Or(x.UpdatedAt.Compare(y.UpdatedAt), cmp.Compare(x.ID, y.ID)) })
	gone := make(map[string]bool, len(list))
	for _, e := range list[:len(list)-MaxRetired] {
		gone[e.ID] = true
	}
	return b.without(gone)
}

// without is the base without some entries, in whatever layers they are.
func (b *Base) without(gone map[string]bool) *Base {
	next := *b
	next.layers = nil
	for id := range gone {
		d := b.find(id)
		next.count--
		next.lengths -= d.length
		next.bare -= b.lacks(d)
	}
	for _, l := range b.layers {
		if !slices.ContainsFunc(l.docs, func(d *doc) bool { return gone[d.entry.ID] }) {
			next.layers = append(next.layers, l)
			continue
		}
		var docs, hides []*doc
		for i, d := range l.docs {
			if !gone[d.entry.ID] {
				docs, hides = append(docs, d), append(hides, l.hides[i])
			}
		}
		if len(docs) > 0 {
			next.layers = append(next.layers, newLayer(docs, hides, b.scan()))
		}
	}
	return &next
}
