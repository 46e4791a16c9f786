package manifest

import (
	"maps"

	"tavernsim/tam/answer"
)

// seal makes the texts harmless that models, clients and people are told: they may come from a
// server that the author of the project does not know. Names and values stay as they are, for a
// call has them.
func (t *Tool) seal() {
	t.DisplayName, t.Description = answer.Clean(t.DisplayName), answer.Clean(t.Description)
	t.Parameters, _ = harmless(t.Parameters, false).(map[string]any)
	t.OutputSchema, _ = harmless(t.OutputSchema, false).(map[string]any)
}

// harmless is a copy of a schema, or of schemas by name, with harmless descriptions: a pin keeps
// what its hash was made of.
func harmless(v any, named bool) any {
	switch x := v.(type) {
	case map[string]any:
		out := maps.Clone(x)
		for key, e := range x {
			out[key] = harmlessAt(key, e, named)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = harmless(e, false)
		}
		return out
	}
	return v
}

// harmlessAt is what stands at a keyword of a schema, or at a name.
func harmlessAt(key string, v any, named bool) any {
	if named {
		return harmless(v, false)
	}
	switch key {
	case "description", "title", "$comment":
		if text, ok := v.(string); ok {
			return answer.Clean(text)
		}
	case "enum", "const", "default", "examples":
		return v
	case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
		return harmless(v, true)
	}
	return harmless(v, false)
}
