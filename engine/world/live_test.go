package world

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// naiveMatch follows every walk by a pattern by itself, as the functions below do.
func naiveMatch(p Pattern, path Path, below, above bool) bool {
	switch {
	case len(p) == 0:
		return below || len(path) == 0
	case p[0].Kind == AnyDeep:
		return naiveMatch(p[1:], path, below, above) || len(path) > 0 && naiveMatch(p, path[1:], below, above)
	case len(path) == 0:
		return above
	}
	return sameSegment(p[0], path[0], above) && naiveMatch(p[1:], path[1:], below, above)
}

func naiveQuery(q *query, node any, rest Pattern) {
	switch {
	case len(rest) == 0:
		q.add(node)
	case rest[0].Kind == AnyDeep:
		naiveQuery(q, node, rest[1:])
		q.children(node, func(n any) bool { naiveQuery(q, n, rest); return true })
	case rest[0].Kind == AnyOne:
		q.children(node, func(n any) bool { naiveQuery(q, n, rest[1:]); return true })
	default:
		q.child(node, &rest[0], func(n any) bool { naiveQuery(q, n, rest[1:]); return true })
	}
}

func naiveAfter(p Pattern, path Path) (out []Pattern) {
	switch {
	case len(path) == 0 || len(p) == 0:
		return []Pattern{p}
	case p[0].Kind == AnyDeep:
		return append(naiveAfter(p[1:], path), naiveAfter(p, path[1:])...)
	case sameSegment(p[0], path[0], true):
		return naiveAfter(p[1:], path[1:])
	}
	return nil
}

func naiveBelow(root *object, p Pattern, path Path, value any) bool {
	old, had := walk(root, path)
	q := query{limit: 1 << 20}
	for _, rest := range naiveAfter(p, path) {
		if had {
			naiveQuery(&q, old, rest)
		}
		naiveQuery(&q, value, rest)
	}
	return len(q.found) > 0
}

// drawPattern draws segments of a small document, wildcards too.
func drawPattern(t *rapid.T, longest int) (p Pattern) {
	for range rapid.IntRange(0, longest).Draw(t, "length") {
		p = append(p, rapid.SampledFrom([]Segment{{Key: "a"}, {Key: "b"}, {Key: "0"}, {Kind: Index}, {Kind: Index, Pos: 1}, {Kind: Index, Pos: -1}, {Kind: AnyOne}, {Kind: AnyDeep}, {Kind: AnyDeep}}).Draw(t, "segment"))
	}
	return p
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 2).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return int64(rapid.IntRange(0, 2).Draw(t, "leaf"))
	}
	if kind == 1 {
		list := make([]any, rapid.IntRange(0, 2).Draw(t, "items"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	return drawObject(t, depth)
}

func drawObject(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "children") {
		m[rapid.SampledFrom([]string{"a", "b", "0"}).Draw(t, "key")] = drawValue(t, depth-1)
	}
	return m
}

// A pattern matches, finds and protects what any one walk by it comes to.
func TestPatternsAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, err := FromValue(drawObject(t, 4), 1)
		if err != nil {
			t.Fatal(err)
		}
		p := drawPattern(t, 7)
		path := Path(slices.DeleteFunc(drawPattern(t, 5), func(s Segment) bool { return s.Kind == AnyOne || s.Kind == AnyDeep }))
		for _, c := range []struct{ below, above bool }{{}, {true, false}, {true, true}} {
			if got, want := p.match(path, c.below, c.above), naiveMatch(p, path, c.below, c.above); got != want {
				t.Errorf("%s, %s, %+v: %v, want %v", p, path, c, got, want)
			}
		}
		value, err := builder{own: &owner{}}.value(drawValue(t, 2), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.below(d.root, path, value), naiveBelow(d.root, p, path, value); got != want {
			t.Errorf("%s affects %s: %v, want %v", path, p, got, want)
		}
		all := query{limit: 1 << 20}
		naiveQuery(&all, d.root, p)
		found, _ := d.Query(p, 1<<20)
		everything, _ := d.Query(Pattern{{Kind: AnyDeep}}, 1<<20)
		has := func(list []Match, m Match) bool {
			return slices.ContainsFunc(list, func(o Match) bool { return reflect.DeepEqual(o, m) })
		}
		ordered := slices.DeleteFunc(everything, func(m Match) bool { return !has(all.found, m) })
		if len(found) != len(ordered) {
			t.Fatalf("%s finds %v, want %v", p, found, ordered)
		}
		for i, m := range found {
			if p.compact().several() && !reflect.DeepEqual(m, ordered[i]) {
				t.Fatalf("%s finds %v, want %v", p, found, ordered)
			}
		}
		for _, m := range found {
			if !has(ordered, m) {
				t.Errorf("%s finds %v", p, m)
			}
		}
	})
}

// Many `**` cost no more than their number: followed one by one, these walks are some 10^10.
func TestManyWildcards(t *testing.T) {
	p := patterns(t, strings.Repeat("**.a.", 12)+"b")[0]
	deepest := P(slices.Repeat([]string{"a"}, 40)...)
	d, err := FromValue(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	e := d.Edit(1)
	if err := e.Apply(OpSet, deepest, int64(1)); err != nil {
		t.Fatal(err)
	}
	d = e.Document()
	if found, _ := d.Query(p, 10); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if p.Covers(deepest) || !p.Touches(deepest) {
		t.Error("it covers, or does not touch")
	}
	if part := d.Part([]Pattern{p}); len(part) != 0 {
		t.Errorf("part %v", part)
	}
	rules := Permissions{Default: Rules{Deny: []Pattern{p}}}
	if err := rules.Check(d, "x", "x", OpSet, deepest[:20], int64(1)); err != nil {
		t.Error(err)
	}
}
