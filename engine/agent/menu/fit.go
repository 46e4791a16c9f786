package menu

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// maxShort bounds the description of an entry that was shortened, in bytes.
const maxShort = 120

// Fit makes the list at most so many bytes of JSON long, if it can, and reports whether it had to: it
// shortens descriptions, the longest first, then folds schemas of parameters to the names of these,
// the largest first. The entry that tells the model how to see the rest counts with them. 0 = no bound.
func (m *Menu) Fit(bound int, more *protocol.ToolSpec) (cut bool) {
	if bound <= 0 {
		return false
	}
	over := -bound
	for i := range m.entries {
		over += size(m.entries[i].listed())
	}
	if over <= 0 {
		return false
	}
	if !slices.ContainsFunc(m.entries, func(e entry) bool { return e.id == more.Name }) {
		over += size((&entry{id: more.Name, description: more.Description, parameters: more.Parameters}).listed())
	}
	for _, step := range []struct {
		cut  func(*entry) any // the part that it makes shorter
		with func(*entry)
	}{
		{func(e *entry) any { return e.description }, (*entry).shorten},
		{func(e *entry) any { return e.parameters }, (*entry).fold},
	} {
		list := make([]*entry, len(m.entries))
		sizes := map[*entry]int{}
		for i := range m.entries {
			list[i] = &m.entries[i]
			sizes[list[i]] = size(step.cut(list[i]))
		}
		slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(sizes[b], sizes[a]) })
		for _, e := range list {
			if over <= 0 {
				return true
			}
			step.with(e)
			over -= sizes[e] - size(step.cut(e))
		}
	}
	return true
}

// size is the number of bytes of a value as JSON. It adds up what schemas are made of; only other values are written to be counted.
func size(v any) int {
	n := len("{}")
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			n += size(name) + len(":,") + size(of)
		}
		if len(v) > 0 {
			return n - len(",")
		}
	case []any:
		for _, of := range v {
			n += size(of) + len(",")
		}
		if len(v) > 0 {
			return n - len(",")
		}
	case string:
		if !strings.ContainsFunc(v, escaped) {
			return n + len(v)
		}
	case bool:
		return len(strconv.FormatBool(v))
	}
	b, _ := json.Marshal(v) // a schema was read from JSON, or is code
	return len(b)
}

// escaped reports whether JSON may write a character as something else.
func escaped(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '<' || r == '>' || r == '&' || r > '~'
}

// shorten keeps the first sentence of the description.
func (e *entry) shorten() {
	text, _, more := strings.Cut(e.description, ". ")
	if more {
		text += "."
	}
	if len(text) > maxShort {
		end := maxShort - len("…")
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = strings.TrimSpace(text[:end]) + "…"
	}
	e.description = text
}

// fold keeps the names of the parameters, and which of them must be there.
func (e *entry) fold() {
	schema, _ := e.parameters.(map[string]any)
	names, _ := schema["properties"].(map[string]any)
	folded := make(map[string]any, len(names)) // a schema may have none
	for name := range names {
		folded[name] = map[string]any{}
	}
	kept := map[string]any{"type": "object", "properties": folded}
	if required, ok := schema["required"]; ok {
		kept["required"] = required
	}
	if schema["additionalProperties"] == false {
		kept["additionalProperties"] = false
	}
	if size(kept) < size(e.parameters) {
		e.parameters, e.detailed = kept, false
	}
}
