package manifest

import (
	"strings"
	"testing"
)

func TestDiffers(t *testing.T) {
	was := Pinned{Name: "say", Description: "Says it.", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []any{"n"}}}
	long := strings.Repeat("é", 200)
	for _, c := range []struct {
		was, now Pinned
		want     string
	}{
		{was, was, ""},
		{was, Pinned{Description: "Says it loudly.", InputSchema: was.InputSchema}, `description was "Says it.", is "Says it loudly."`},
		{was, Pinned{InputSchema: was.InputSchema}, `description was "Says it.", is not there`},
		{was, Pinned{Description: "Says it."}, `inputSchema was {"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}, is not there`},
		{Pinned{Description: long + "a"}, Pinned{Description: long + "b"}, `description was …` + strings.Repeat("é", 8) + `a", is …` + strings.Repeat("é", 8) + `b"`},
		{Pinned{}, Pinned{Description: long}, `description was not there, is "` + strings.Repeat("é", 39) + "…"},
		{was, Pinned{Description: "Says it.", OutputSchema: map[string]any{"type": "object"}, InputSchema: map[string]any{
			"type": "object", "properties": map[string]any{"n": map[string]any{"type": "string", "minLength": 1.0}}, "required": []any{"m"}, "additionalProperties": false,
		}}, `inputSchema.additionalProperties was not there, is false; inputSchema.properties.n.minLength was not there, is 1; inputSchema.properties.n.type was "integer", is "string"; and 2 fields more`},
	} {
		if got := c.was.Differs(&c.now); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
