package manifest

import "tavernsim/tam/answer"

// seal makes the texts harmless that models, clients and people are told: they may come from a
// server that the author of the project does not know. Names and values stay as they are, for a
// call has them.
func (t *Tool) seal() {
	t.DisplayName, t.Description = answer.Clean(t.DisplayName), answer.Clean(t.Description)
	t.Parameters, t.OutputSchema = harmless(t.Parameters), harmless(t.OutputSchema)
}

// harmless is a copy of a schema with harmless descriptions: a pin keeps what its hash was made of.
func harmless(schema map[string]any) map[string]any {
	if schema == nil {
		return nil
	}
	out := make(map[string]any, len(schema))
	for key, v := range schema {
		switch key {
		case "description", "title", "$comment":
			if text, ok := v.(string); ok {
				v = answer.Clean(text)
			}
		case "enum", "const", "default", "examples":
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			v = harmlessNamed(v)
		default:
			v = harmlessWithin(v)
		}
		out[key] = v
	}
	return out
}

// harmlessNamed are schemas by name.
func harmlessNamed(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for name, schema := range m {
		out[name] = harmlessWithin(schema)
	}
	return out
}

// harmlessWithin is what stands at a keyword: a schema, a list, or a plain value.
func harmlessWithin(v any) any {
	switch x := v.(type) {
	case map[string]any:
		return harmless(x)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = harmlessWithin(e)
		}
		return out
	}
	return v
}
