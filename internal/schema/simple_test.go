package schema

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Values fit what simple schemas say of them, and no value fits one that the library refuses, of
// whatever keywords.
func TestSimple(t *testing.T) {
	draw := func(name string, list ...any) *rapid.Generator[any] {
		return rapid.SampledFrom(list).AsAny()
	}
	types := draw("type", "string", "integer", "number", "boolean", "null", "array", "object", []any{"string", "null"}, []any{"integer", "boolean"})
	var schemas func(depth int) *rapid.Generator[any]
	schemas = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			s := map[string]any{}
			may := func(name string, g *rapid.Generator[any]) {
				if rapid.IntRange(0, 3).Draw(t, name) == 0 {
					s[name] = g.Draw(t, name)
				}
			}
			may("type", types)
			may("minimum", draw("", 0, -1, 1.5, 3, math.MinInt64, 1e30))
			may("maximum", draw("", 0, 2, 2.5, 7))
			may("minLength", draw("", 0, 1, 2))
			may("maxLength", draw("", 0, 1, 2))
			may("minItems", draw("", 0, 1))
			may("maxItems", draw("", 0, 1))
			may("enum", draw("", []any{"a"}, []any{"a", 1, nil, []any{}, map[string]any{}}, []any{1.0, true}))
			may("required", draw("", []any{"a"}, []any{"a", "b"}))
			may("additionalProperties", draw("", true, false))
			may("title", draw("", "a"))
			may("default", draw("", 1, nil))
			if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
				may("pattern", draw("", "^a"))
				may("const", draw("", "a", 1))
				may("exclusiveMinimum", draw("", 0))
				may("minProperties", draw("", 1))
				may("uniqueItems", draw("", true))
				may("$schema", draw("", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#"))
			}
			if depth > 0 {
				may("items", schemas(depth-1))
				may("properties", rapid.MapOf(rapid.SampledFrom([]string{"a", "b"}), schemas(depth-1)).AsAny())
				if rapid.IntRange(0, 9).Draw(t, "more") == 0 {
					may("not", schemas(depth-1))
					may("additionalProperties", schemas(depth-1))
				}
			}
			return s
		})
	}
	var values func(depth int) *rapid.Generator[any]
	values = func(depth int) *rapid.Generator[any] {
		simple := draw("value", nil, true, "", "a", "b", "ä", "aaa", int64(0), int64(1), int64(2), int64(-3), int64(math.MaxInt64), 1.0, 2.5, math.NaN(), math.Inf(1))
		if depth == 0 {
			return simple
		}
		return rapid.OneOf(simple, rapid.SliceOfN(values(depth-1), 0, 2).AsAny(), rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), values(depth-1), 0, 3).AsAny())
	}
	fit, both := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		text, err := json.Marshal(schemas(2).Draw(r, "schema"))
		if err != nil {
			r.Fatal(err)
		}
		s := compiled(t, string(text))
		for range 10 {
			v := values(2).Draw(r, "value")
			if s.simple == nil || !s.simple.fits(v) {
				continue
			}
			fit++
			if err := s.compiled.Validate(v); err != nil {
				r.Fatalf("%s\ntakes %#v\n%v", text, v, err)
			}
			both++
		}
	})
	if fit == 0 || both != fit {
		t.Errorf("%d values fit, %d of them for the library", fit, both)
	}
}

// Parameters as tools have them need no object.
func TestASimpleCheckMakesNoObject(t *testing.T) {
	s := compiled(t, `{"type": "object", "properties": {"town": {"type": "string", "maxLength": 80}, "days": {"type": "integer", "minimum": 1, "maximum": 7}, "mode": {"enum": ["a", "b"]},
		"list": {"type": "array", "items": {"type": "number"}, "maxItems": 3}}, "required": ["town"], "additionalProperties": false}`)
	v := map[string]any{"town": "Rome", "days": int64(3), "mode": "b", "list": []any{1.5, int64(2)}}
	if n := testing.AllocsPerRun(100, func() {
		if err := s.Fits(v); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v objects", n)
	}
	for name, bad := range map[string]any{"town": int64(1), "days": int64(8), "mode": "c", "list": []any{"x"}, "other": true} {
		v := map[string]any{"town": "Rome", name: bad}
		if s.Fits(v) == nil {
			t.Errorf("%v fits", v)
		}
	}
}
