package manifest

import (
	"slices"
	"strings"

	"tavernsim/protocol"
)

// optionMark begins the place of an option of a plugin in a fixed text: $CONFIG{NAME}.
const optionMark = "$CONFIG{"

// HasMark reports whether a text has the place of a secret or of an option. No value of an
// option may: it would name what it cannot have.
func HasMark(text string) bool {
	return strings.Contains(text, SecretMark) || strings.Contains(text, optionMark)
}

// Options are the names of the options in headers, query and body of an http tool, and in
// its url, where none can stand.
func (t *Tool) Options() (names []string) {
	x := &t.Implementation
	for _, v := range []any{x.Headers, x.Query, x.Body} {
		rewrite(v, func(text string) string {
			for _, rest := range strings.Split(text, optionMark)[1:] {
				name, _, _ := strings.Cut(rest, "}")
				names = append(names, name)
			}
			return text
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Configured is the tool with values in the places of options; those that have none are
// empty. It is t itself if there are no such places.
func (t *Tool) Configured(values map[string]string) *Tool {
	if len(t.Options()) == 0 {
		return t
	}
	made := *t
	x := &made.Implementation
	fill := func(text string) string { return insertAt(text, optionMark, values) }
	x.Headers, _ = rewrite(x.Headers, fill).(map[string]any)
	x.Query, _ = rewrite(x.Query, fill).(map[string]any)
	x.Body = rewrite(x.Body, fill)
	(&checker{tool: &made}).http() // it was checked
	return &made
}

// rewrite copies a value with other texts; names of members stay.
func rewrite(v any, change func(string) string) any {
	switch x := v.(type) {
	case string:
		return change(x)
	case map[string]any:
		if x == nil {
			return x
		}
		out := make(map[string]any, len(x))
		for _, name := range protocol.SortedKeys(x) {
			out[name] = rewrite(x[name], change)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = rewrite(e, change)
		}
		return out
	}
	return v
}
