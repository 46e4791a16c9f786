package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T, text string) *Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", value); err != nil {
		t.Fatal(err)
	}
	of, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	s, _, problem := New(of)
	if problem != "" {
		t.Fatal(problem)
	}
	return s
}

// A value breaks a schema in one text: the library finds violations in the order of maps.
func TestViolationsHaveOneText(t *testing.T) {
	object := `{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "array"}, "d": {"type": "null"}}}`
	value := func() any { return map[string]any{"a": "x", "b": "x", "c": "x", "d": "x"} }
	for name, c := range map[string]struct {
		schema, want string
		value        any
	}{
		"anyOf":         {`{"anyOf": [` + object + `, {"type": "string"}]}`, "'anyOf' failed: got string, want integer; got string, want boolean; got string, want array; got string, want null; got object, want string", value()},
		"oneOf":         {`{"oneOf": [` + object + `, {"type": "string"}]}`, "'oneOf' failed, none matched: got string, want integer; got string, want boolean; got string, want array; got string, want null; got object, want string", value()},
		"contains":      {`{"contains": ` + object + `}`, "no items match contains schema: got string, want integer; got string, want boolean; got string, want array; got string, want null", []any{value()}},
		"anyOf inside":  {`{"anyOf": [{"anyOf": [` + object + `]}]}`, "'anyOf' failed: 'anyOf' failed: got string, want integer; got string, want boolean; got string, want array; got string, want null", value()},
		"propertyNames": {`{"propertyNames": {"pattern": "^x", "maxLength": 0}}`, "invalid propertyName 'a': maxLength: got 1, want 0; 'a' does not match pattern '^x'; invalid propertyName 'b': maxLength: got 1, want 0; 'b' does not match pattern '^x'", map[string]any{"a": 1, "b": 2}},
		"names alike":   {`{"additionalProperties": false, "minProperties": 3}`, "minProperties: got 2, want 3; a: the schema does not allow this property; b: the schema does not allow this property", map[string]any{"a": 1, "b": 2}},
	} {
		s := compiled(t, c.schema)
		for range 200 {
			if got := s.Fits(c.value); got == nil || got.Error() != c.want {
				t.Errorf("%s: %v\nwant %s", name, got, c.want)
				break
			}
		}
	}
}

// What a text says of a value is bounded by the number of violations, by the values of
// an enum and by the value itself.
func TestViolationsAreBounded(t *testing.T) {
	var names []string
	for i := range 4000 {
		names = append(names, fmt.Sprintf("value number %d", i))
	}
	enum, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	list := func(n int, v any) (list []any) {
		for range n {
			list = append(list, v)
		}
		return list
	}
	long := strings.Repeat("long ", 100_000)
	for name, c := range map[string]struct {
		schema string
		value  any
		begin  string
		end    string
	}{
		"of an enum":       {`{"items": {"enum": ` + string(enum) + `}}`, list(240, "no"), `/0: got "no"; value must be one of 'value number 0', 'value number 1'`, "; and 232 more"},
		"of a type":        {`{"items": {"type": "string"}}`, list(10_000, 1), `/0: got number, want string; /1:`, "; and 9992 more"},
		"a long value":     {`{"pattern": "^x$"}`, long, `'long long`, "long …' does not match pattern '^x$'"},
		"a long choice":    {`{"enum": ["x"]}`, long, `got "long long`, "long …\"; value must be 'x'"},
		"one long choice":  {`{"enum": ["x", "` + long + `"]}`, "y", `got "y"; value must be one of 'x', 'long `, "…"},
		"not of one type":  {`{"enum": ["x", [1]]}`, "y", `got "y"; 'enum' failed`, `'enum' failed`},
		"a long name":      {`{"propertyNames": {"maxLength": 3}}`, map[string]any{long: 1}, `invalid propertyName 'long`, "want 3"},
		"a name of no use": {`{"additionalProperties": false}`, map[string]any{long: 1}, `/long long`, "…: the schema does not allow this property"},
	} {
		err := compiled(t, c.schema).FitsByPointer(c.value)
		if err == nil || len(err.Error()) > 9000 || !strings.HasPrefix(err.Error(), c.begin) || !strings.HasSuffix(err.Error(), c.end) {
			text := fmt.Sprint(err)
			t.Errorf("%s: %d bytes: %.300s … %s", name, len(text), text, text[max(0, len(text)-300):])
		}
	}
	s := compiled(t, `{"items": {"enum": ["yes"]}}`)
	got := s.Check(list(1000, "yess"))
	if len(got) != maxViolations || got[99].Steps[0] != "188" || got[99].Suggestion != `did you mean "yes"?` {
		t.Errorf("%d violations, the last is %+v", len(got), got[len(got)-1])
	}
}

// Values of an enum count as steps.
func TestEnumsCount(t *testing.T) {
	s := compiled(t, `{"items": {"enum": [`+strings.Repeat(`"a",`, 6399)+`"b"]}}`)
	var v []any
	for range 10_000 {
		v = append(v, "b")
	}
	if err := s.Fits(v); err == nil || !strings.Contains(err.Error(), "more than 1000000 steps") {
		t.Error(err)
	}
	if err := s.Fits(v[:1000]); err != nil {
		t.Error(err)
	}
}
