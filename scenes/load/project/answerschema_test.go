package project

import (
	"strings"
	"testing"
)

// The schema of an answer is compiled with the rules of other schemas, and refers to
// nothing outside of itself.
func TestCompileSchema(t *testing.T) {
	check, err := CompileSchema(map[string]any{
		"type": "object", "required": []any{"mood"}, "properties": map[string]any{"mood": map[string]any{"enum": []any{"calm", "cross"}}, "n": map[string]any{"$ref": "#/$defs/n"}},
		"$defs": map[string]any{"n": map[string]any{"type": "integer", "minimum": int64(1)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{map[string]any{"mood": "calm", "n": int64(2)}, ""},
		{map[string]any{"mood": "clam", "n": int64(0)}, `mood: got "clam"`},
		{map[string]any{"mood": "calm", "n": 1.5}, "n: got number, want integer"},
		{map[string]any{}, "missing property"},
		{[]any{}, "want object"},
	} {
		if err := check(c.value); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.value, err, c.want)
		}
	}
	for want, schema := range map[string]any{
		"not valid JSON Schema": map[string]any{"type": "colour"}, "there is no file schemas/a.json": map[string]any{"$ref": "schemas/a.json"}, "does not compile": map[string]any{"$ref": "#/$defs/missing"},
		"is an object, got text": "text",
	} {
		if _, err := CompileSchema(schema); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", schema, err, want)
		}
	}
}
