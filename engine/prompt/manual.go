package prompt

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam/answer"
)

// maxNested is how deep a manual shows the fields of objects.
const maxNested = 4

// manual has a line for each parameter of a tool: "\n  town*: string. Where.", required ones with a
// star.
func manual(schema any) string {
	var b strings.Builder
	m, _ := schema.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	for _, name := range protocol.SortedKeys(properties) {
		p, _ := properties[name].(map[string]any)
		fmt.Fprintf(&b, "\n  %s%s: %s", name, starOf(m, name), form(p, maxNested))
		if d := strings.TrimSpace(text(p, "description")); d != "" {
			b.WriteString(". " + d)
		}
	}
	return b.String()
}

// starOf is the star of a parameter: none at one that has a default.
func starOf(schema map[string]any, name string) string {
	properties, _ := schema["properties"].(map[string]any)
	if p, _ := properties[name].(map[string]any); p["default"] != nil {
		return ""
	}
	return star(schema, name)
}

func star(schema map[string]any, name string) string {
	if required, _ := schema["required"].([]any); slices.Contains(required, any(name)) {
		return "*"
	}
	return ""
}

// form says what a JSON Schema wants: "integer, 1 to 7, default 3". Of keywords that it does not say,
// the refusal of a call tells.
func form(s map[string]any, depth int) string {
	parts := []string{kind(s, depth)}
	low, hasLow := s["minimum"]
	high, hasHigh := s["maximum"]
	switch {
	case hasLow && hasHigh:
		parts = append(parts, asJSON(low)+" to "+asJSON(high))
	case hasLow:
		parts = append(parts, "at least "+asJSON(low))
	case hasHigh:
		parts = append(parts, "at most "+asJSON(high))
	}
	for _, key := range []string{"format", "pattern", "maxLength", "maxItems"} {
		if v, ok := s[key]; ok {
			parts = append(parts, strings.TrimPrefix(key+" ", "format ")+textOr(v))
		}
	}
	if v, ok := s["default"]; ok {
		parts = append(parts, "default "+harmless(v))
	}
	return strings.Join(parts, ", ")
}

// kind is the type of a schema: names, values out of a list, or the parts of an object or a list.
func kind(s map[string]any, depth int) string {
	if list, ok := s["enum"].([]any); ok {
		return either(list, harmless)
	}
	if v, ok := s["const"]; ok {
		return harmless(v)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && depth > 0 {
			return either(list, func(v any) string {
				m, _ := v.(map[string]any)
				return form(m, depth-1)
			})
		}
	}
	properties, _ := s["properties"].(map[string]any)
	items, hasItems := s["items"].(map[string]any)
	switch {
	case len(properties) > 0 && depth > 0:
		fields := make([]string, 0, len(properties))
		for _, name := range protocol.SortedKeys(properties) {
			p, _ := properties[name].(map[string]any)
			fields = append(fields, name+star(s, name)+": "+form(p, depth-1))
		}
		return "object {" + strings.Join(fields, "; ") + "}"
	case hasItems && depth > 0:
		return "array of (" + form(items, depth-1) + ")"
	}
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		return either(t, textOr)
	}
	return "any"
}

func either(list []any, one func(any) string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = one(v)
	}
	return strings.Join(texts, " or ")
}

// harmless is a value as JSON, which would spell control characters out.
func harmless(v any) string {
	if s, ok := v.(string); ok {
		v = answer.Clean(s)
	}
	return asJSON(v)
}

// textOr is a text as it is, and anything else as JSON.
func textOr(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return asJSON(v)
}
