package world

import "slices"

// live says where walks by a pattern stand that have come to one place: the segments that come next, by
// their numbers in the pattern, in order, each once; its length = it names the place. By a pattern with
// several `**` there are many walks to a place, and never more than its length that go on differently.
type live []int

// several reports whether there are many walks by the pattern to one place.
func (p Pattern) several() bool {
	first := slices.IndexFunc(p, deep)
	return first >= 0 && slices.ContainsFunc(p[first+1:], deep)
}

// compact is the pattern with one `**` in the place of some that follow each other.
func (p Pattern) compact() Pattern {
	return slices.CompactFunc(slices.Clone(p), func(a, b Segment) bool { return deep(a) && deep(b) })
}

func deep(s Segment) bool { return s.Kind == AnyDeep }

// from is where walks stand at the beginning.
func (p Pattern) from() live { return p.add(nil, 0) }

// add adds a segment, and what comes next if a `**` stands for nothing. Segments are added in order.
func (p Pattern) add(at live, i int) live {
	for {
		if len(at) == 0 || at[len(at)-1] < i {
			at = append(at, i)
		}
		if i == len(p) || p[i].Kind != AnyDeep {
			return at
		}
		i++
	}
}

// next is where walks stand one segment further down, which is none of the pattern's `**`.
func (p Pattern) next(at live, fits func(Segment) bool) (below live) {
	for _, i := range at {
		switch {
		case i == len(p):
		case p[i].Kind == AnyDeep:
			below = p.add(below, i)
		case fits(p[i]):
			below = p.add(below, i+1)
		}
	}
	return below
}

// names reports whether the pattern names the place.
func (p Pattern) names(at live) bool { return len(at) > 0 && at[len(at)-1] == len(p) }

// matchSeveral is match for a pattern with several `**`.
func (p Pattern) matchSeveral(path Path, below, above bool) bool {
	at := p.from()
	for i := range path {
		if below && p.names(at) {
			return true
		}
		if at = p.next(at, func(s Segment) bool { return sameSegment(s, path[i], above) }); len(at) == 0 {
			return false
		}
	}
	return above || p.names(at)
}

// several visits what a pattern with several `**` names, each place once, and reports whether to go on.
func (q *query) several(node any, p Pattern, at live) bool {
	if p.names(at) && !q.add(node) {
		return false
	}
	if len(at) == 1 && at[0] < len(p) && p[at[0]].Kind != AnyOne { // of many children one
		return q.child(node, &p[at[0]], func(n any) bool { return q.several(n, p, p.add(nil, at[0]+1)) })
	}
	return q.children(node, func(n any) bool {
		below := p.next(at, func(s Segment) bool { return s.Kind == AnyOne || leads(node, s, q.at[len(q.at)-1]) })
		return len(below) == 0 || q.several(n, p, below)
	})
}

// leads reports whether a segment of a pattern leads from a node to its child at another segment.
func leads(node any, s, to Segment) bool {
	if l, ok := node.(*list); ok {
		pos, ok := s.position(l.n)
		return ok && pos == to.Pos
	}
	return s.Kind == Name && s.Key == to.Key
}
