package world

import "strings"

// Self in a name of a pattern stands for the instance id of the agent that it is about.
const Self = "{self}"

// Pattern is a path with wildcards: `*` stands for any one segment, `**` for any
// number of them.
type Pattern Path

// ParsePattern reads a pattern; without a wildcard it is a path.
func ParsePattern(s string) (Pattern, error) {
	p, err := parse(s, true)
	return Pattern(p), err
}

// Stem is the path up to the first wildcard.
func (p Pattern) Stem() Path {
	for i := range p {
		if p[i].Kind == AnyOne || p[i].Kind == AnyDeep {
			return Path(p[:i:i])
		}
	}
	return Path(p)
}

func (p Pattern) String() string { return Path(p).String() }

// For is the pattern of one agent: its instance id stands in the place of [Self].
func (p Pattern) For(instance string) Pattern {
	out := p
	for i := range p {
		if p[i].Kind != Name || !strings.Contains(p[i].Key, Self) {
			continue
		}
		if &out[0] == &p[0] {
			out = append(Pattern(nil), p...)
		}
		out[i].Key = strings.ReplaceAll(p[i].Key, Self, instance)
	}
	return out
}

// Matches reports whether the pattern names exactly this path.
func (p Pattern) Matches(path Path) bool { return p.match(path, false, false) }

// Covers reports whether the path is, or lies below, a place that the pattern
// names.
func (p Pattern) Covers(path Path) bool { return p.match(path, true, false) }

// Touches reports whether the path is, lies below or lies above a place that
// the pattern can name. A position counted from the end may be any position.
func (p Pattern) Touches(path Path) bool { return p.match(path, true, true) }

func (p Pattern) match(path Path, below, above bool) bool {
	for len(p) > 0 {
		if p[0].Kind == AnyDeep {
			return p.matchDeep(path, below, above)
		}
		if len(path) == 0 {
			return above
		}
		if !sameSegment(p[0], path[0], above) {
			return false
		}
		p, path = p[1:], path[1:]
	}
	return below || len(path) == 0
}

func (p Pattern) matchDeep(path Path, below, above bool) bool {
	if p.several() {
		return p.matchSeveral(path, below, above)
	}
	for i := 0; i <= len(path); i++ {
		if p[1:].match(path[i:], below, above) {
			return true
		}
	}
	return false
}

// sameSegment compares a pattern's segment with a path's. Loosely means that
// two that could be the same place count as the same.
func sameSegment(p, s Segment, loosely bool) bool {
	if p.Kind == AnyOne {
		return true
	}
	if p.Kind == Name && s.Kind == Name {
		return p.Key == s.Key
	}
	a, aFixed := p.fixed()
	b, bFixed := s.fixed()
	if aFixed && bFixed {
		return a == b
	}
	if loosely {
		return p.listLike() && s.listLike()
	}
	return p.Kind == s.Kind && p.Pos == s.Pos && p.Key == s.Key
}

// fixed is the position a segment names whatever the length of the list.
func (s Segment) fixed() (int, bool) {
	switch s.Kind {
	case Index:
		return s.Pos, s.Pos >= 0
	case Name:
		return Digits(s.Key)
	}
	return 0, false
}

// listLike reports whether a segment may address an element of a list.
func (s Segment) listLike() bool {
	if s.Kind == Name {
		_, ok := Digits(s.Key)
		return ok
	}
	return true
}

// Overlap reports whether one path is the other or lies below it, so that a
// write at one may be seen at the other.
func Overlap(a, b Path) bool { return Pattern(a).Touches(b) }
