package schedule

import (
	"slices"
	"strings"

	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// Resource is a way outside of space in which one agent's turn reaches another's.
type Resource uint8

// The resources, as bits.
const (
	World Resource = 1 << iota
	Event
	Base
)

const resources = 3

// touch is what an agent b of one class can do to an agent a of another before a's
// turn.
type touch struct {
	spatial bool
	near    int64 // max(what a sees, how far b's words carry)
	speed   int64 // of the faster of both
	through Resource
	delay   Tick // of events
}

// table is classes × classes: table[a][b].
type table [][]touch

func compile(classes []Class) (table, error) {
	patterns, err := parse(classes)
	if err != nil {
		return nil, err
	}
	t := make(table, len(classes))
	for a := range classes {
		t[a] = make([]touch, len(classes))
		for b := range classes {
			t[a][b] = between(&classes[a], &classes[b])
			if patterns[a].perceives.meet(patterns[b].writes, classes[a].Space != nil && classes[b].Space != nil) {
				t[a][b].through |= World
			}
		}
	}
	return t, nil
}

// Through is how turns of one class can reach turns of another outside of space; 0 = not at all.
func Through(a, by Class) (Resource, error) {
	t, err := compile([]Class{a, by})
	if err != nil {
		return 0, err
	}
	return t[0][1].through, nil
}

func between(a, b *Class) (t touch) {
	if p, q := a.Space, b.Space; p != nil && q != nil {
		t.spatial, t.near, t.speed = true, int64(max(p.Radius, q.Reach)), int64(max(p.Speed, q.Speed))
	}
	if delay, hears := heard(a.Hears, b.Publishes); hears {
		t.through |= Event
		t.delay = delay
	}
	if common(a.Consults, b.Edits) {
		t.through |= Base
	}
	return t
}

// heard is the least delay after which one class hears another.
func heard(hears []string, publishes []Publish) (delay Tick, any bool) {
	if publishes == nil {
		return 0, hears == nil || len(hears) > 0
	}
	for _, p := range publishes {
		if hears == nil {
			hears = []string{"*"}
		}
		for _, h := range hears {
			if typesMeet(h, p.Type) && (!any || p.Delay < delay) {
				delay, any = p.Delay, true
			}
		}
	}
	return delay, any
}

// typesMeet reports whether two patterns of types name a common one.
func typesMeet(a, b string) bool {
	stem := func(s string) (string, bool) {
		if s == "*" {
			return "", true
		}
		return strings.CutSuffix(s, "*")
	}
	p, open := stem(a)
	q, wide := stem(b)
	switch {
	case open && wide:
		return strings.HasPrefix(p, q) || strings.HasPrefix(q, p)
	case open:
		return strings.HasPrefix(q, p)
	case wide:
		return strings.HasPrefix(p, q)
	}
	return p == q
}

// common reports whether two lists name the same base; nil is every base.
func common(a, b []string) bool {
	if a == nil {
		return b == nil || len(b) > 0
	}
	if b == nil {
		return len(a) > 0
	}
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// paths are patterns of the world; all = none were declared.
type paths struct {
	all  bool
	list []world.Pattern
}

type classPaths struct{ perceives, writes paths }

func parse(classes []Class) ([]classPaths, error) {
	out := make([]classPaths, len(classes))
	read := func(i int, what string, list []string) (paths, error) {
		p := paths{all: list == nil}
		for _, text := range list {
			one, err := world.ParsePattern(text)
			if err != nil {
				return p, protocol.Errorf(protocol.KindInvalid, "schedule: class %d %s %q: %w", i, what, text, err)
			}
			p.list = append(p.list, one)
		}
		return p, nil
	}
	for i, c := range classes {
		var err error
		if out[i].perceives, err = read(i, "perceives", c.Perceives); err != nil {
			return nil, err
		}
		if out[i].writes, err = read(i, "writes", c.Writes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// meet reports whether what one agent writes another one perceives, outside of
// space: what both name by {place} meets only where they are, which space knows.
func (p paths) meet(writes paths, bySpace bool) bool {
	switch {
	case p.all:
		return writes.all || len(writes.list) > 0
	case writes.all:
		return len(p.list) > 0
	}
	for _, a := range p.list {
		for _, b := range writes.list {
			if patternsMeet(a, b, bySpace) {
				return true
			}
		}
	}
	return false
}

// patternsMeet reports whether two patterns of two agents can name one place of the
// world, or one that lies in the other. When in doubt they do.
func patternsMeet(a, b world.Pattern, bySpace bool) bool {
	for len(a) > 0 && len(b) > 0 {
		if a[0].Kind == world.AnyDeep || b[0].Kind == world.AnyDeep {
			return true // whatever follows can be as deep
		}
		if !segmentsMeet(a[0], b[0], bySpace) {
			return false
		}
		a, b = a[1:], b[1:]
	}
	return true
}

func segmentsMeet(a, b world.Segment, bySpace bool) bool {
	if a.Kind != world.Name || b.Kind != world.Name {
		return true // wildcards, and positions of lists, which shift
	}
	if a.Key == b.Key {
		return !(strings.Contains(a.Key, "{self}") || a.Key == "{place}" && bySpace)
	}
	return strings.Contains(a.Key, "{") || strings.Contains(b.Key, "{")
}
