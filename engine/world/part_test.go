package world

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func patterns(t *testing.T, texts ...string) (list []Pattern) {
	t.Helper()
	for _, text := range texts {
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p.For("ann"))
	}
	return list
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPart(t *testing.T) {
	d := mustDoc(t, `{"fields":{"ann":{"crop":"rye","rows":[1,{"a":2}]},"bob":{"crop":"oats"}},"sky":"grey","empty":{},"days":[{"rain":true}]}`)
	for _, c := range []struct {
		want     string
		patterns []string
	}{
		{`{}`, nil},
		{`{"sky":"grey"}`, []string{"sky"}},
		{`{"fields":{"ann":{"crop":"rye","rows":[1,{"a":2}]}}}`, []string{"fields.{self}"}},
		{`{"fields":{"ann":{"crop":"rye"},"bob":{"crop":"oats"}}}`, []string{"fields.*.crop"}},
		{`{"fields":{"ann":{"crop":"rye","rows":[1,{"a":2}]},"bob":{"crop":"oats"}},"sky":"grey"}`, []string{"fields.*.crop", "fields.ann.rows", "sky", "fields.ann.rows"}},
		{`{"fields":{"ann":{"crop":"rye"},"bob":{"crop":"oats"}}}`, []string{"**.crop"}},
		{`{"fields":{"bob":{"crop":"oats"}}}`, []string{"fields.bob.**"}},
		{`{"days":[{"rain":true}],"empty":{},"fields":{"ann":{"crop":"rye","rows":[1,{"a":2}]},"bob":{"crop":"oats"}},"sky":"grey"}`, []string{"**"}},
		{`{"empty":{}}`, []string{"empty"}},
		{`{}`, []string{"empty.x", "sky.x", "nothing", "days.*.rain", "fields.ann.rows.*.a", "fields.cat"}},
	} {
		if got := asJSON(t, d.Part(patterns(t, c.patterns...))); got != c.want {
			t.Errorf("%q: %s, want %s", c.patterns, got, c.want)
		}
	}
}

// A part has a place that objects lead to if one of its patterns covers it, and no other.
func TestPartIsWhatThePatternsCover(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "b", "c"})
	rapid.Check(t, func(rt *rapid.T) {
		var tree func(depth int) any
		tree = func(depth int) any {
			if depth == 0 || rapid.IntRange(0, 4).Draw(rt, "leaf") == 0 {
				return rapid.SampledFrom([]any{int64(1), "x", []any{map[string]any{"a": int64(1)}}, map[string]any{}}).Draw(rt, "value")
			}
			m := map[string]any{}
			for range rapid.IntRange(1, 3).Draw(rt, "children") {
				m[key.Draw(rt, "key")] = tree(depth - 1)
			}
			return m
		}
		root := map[string]any{"a": tree(3), "b": tree(3), "c": tree(2)}
		d, err := FromValue(root, 1)
		if err != nil {
			rt.Fatal(err)
		}
		var list []Pattern
		for range rapid.IntRange(0, 3).Draw(rt, "patterns") {
			var p Pattern
			for range rapid.IntRange(1, 4).Draw(rt, "length") {
				p = append(p, rapid.SampledFrom([]Segment{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Kind: AnyOne}, {Kind: AnyDeep}}).Draw(rt, "segment"))
			}
			list = append(list, p)
		}
		part := d.Part(list)
		var visit func(have, got any, at Path)
		visit = func(have, got any, at Path) {
			if m, ok := have.(map[string]any); ok && len(m) > 0 {
				g, _ := got.(map[string]any)
				for k, v := range m {
					visit(v, g[k], at.Key(k))
				}
				return
			}
			want := false
			for _, p := range list {
				want = want || p.Covers(at)
			}
			if want != (got != nil) {
				rt.Fatalf("%s of %v by %v: %v, want it there: %v", at, root, list, got, want)
			}
		}
		visit(root, part, nil)
	})
}
