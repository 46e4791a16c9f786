package world

import "slices"

// Part is what the patterns name of the document, and what lies below it; objects that lead there hold
// nothing else. A list is in it as a whole or not at all: patterns do not lead through one. It shares what
// it can with the document and must not be changed.
func (d *Document) Part(patterns []Pattern) map[string]any {
	rest := make([]Path, 0, len(patterns))
	for _, p := range patterns {
		rest = append(rest, Path(p))
	}
	if v, ok := partOf(d.root, rest); ok {
		return v.(map[string]any)
	}
	return map[string]any{}
}

// partOf is what some of the patterns name of a node; false = nothing.
func partOf(node any, rest []Path) (any, bool) {
	rest = level(rest)
	wild := false
	for _, p := range rest {
		if len(p) == 0 {
			return valueOf(node), true
		}
		wild = wild || p[0].Kind != Name
	}
	o, ok := node.(*object)
	if !ok {
		return nil, false
	}
	out := map[string]any{}
	take := func(key string, s slot) bool {
		if _, done := out[key]; done {
			return true
		}
		if below := step(rest, key); len(below) > 0 {
			if v, ok := partOf(s.val, below); ok {
				out[key] = v
			}
		}
		return true
	}
	if wild {
		o.each(take)
	} else {
		for _, p := range rest {
			if s, ok := o.get(p[0].Key); ok {
				take(p[0].Key, s)
			}
		}
	}
	return out, len(out) > 0
}

// level adds what a `**` at the beginning names if it stands for no segment. Of ends of a pattern that came
// by several ways one is enough.
func level(rest []Path) []Path {
	if !slices.ContainsFunc(rest, func(p Path) bool { return len(p) > 0 && deep(p[0]) }) {
		return rest
	}
	seen := map[*Segment]bool{}
	all := make([]Path, 0, 2*len(rest))
	for _, p := range rest {
		for {
			if len(p) == 0 {
				return []Path{p} // all that is here
			}
			if seen[&p[0]] {
				break
			}
			seen[&p[0]] = true
			all = append(all, p)
			if !deep(p[0]) {
				break
			}
			p = p[1:]
		}
	}
	return all
}

// step is what is left of the patterns below a child.
func step(rest []Path, key string) (below []Path) {
	for _, p := range rest {
		switch {
		case p[0].Kind == AnyDeep:
			below = append(below, p)
		case p[0].Kind == AnyOne, p[0].Kind == Name && p[0].Key == key:
			below = append(below, p[1:])
		}
	}
	return below
}
