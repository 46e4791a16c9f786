// Package places finds the placeholders for secrets and options of plugins in the texts of a
// definition, and fills them.
package places

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Mark begins a place: the mark, a name and a closing brace.
type Mark string

// Marks.
const (
	Secret Mark = "$KARYI{"
	Option Mark = "$CONFIG{" // only in fixed texts
)

// Any reports whether a text has a place of either kind. No value of an option may: it would
// name what it cannot have.
func Any(text string) bool {
	return strings.Contains(text, string(Secret)) || strings.Contains(text, string(Option))
}

// SecretsIn are the names of the secrets that a text of a call refers to, sorted. $$KARYI{ is
// no reference, and neither is what has no name.
func SecretsIn(text string) (names []string) {
	for _, m := range regexp.MustCompile(`(\$?)\$KARYI\{([A-Za-z_][A-Za-z0-9_]*)\}`).FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			names = append(names, m[2])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Foreign is a text that comes from elsewhere, for a call whose own texts refer to secrets if own is set: this one does not.
func Foreign(text string, own bool) string {
	if !own {
		return text
	}
	return strings.ReplaceAll(text, string(Secret), "$"+string(Secret))
}

// Names are those of the places in the texts of a fixed value, names of members among them.
func (m Mark) Names(v any) (names []string) {
	switch x := v.(type) {
	case string:
		for {
			_, rest, found := strings.Cut(x, string(m))
			if !found {
				return names
			}
			name, after, _ := strings.Cut(rest, "}")
			names, x = append(names, name), after
		}
	case map[string]any:
		for _, name := range protocol.SortedKeys(x) {
			names = append(append(names, m.Names(name)...), m.Names(x[name])...)
		}
	case []any:
		for _, e := range x {
			names = append(names, m.Names(e)...)
		}
	}
	return names
}

// Fill puts values into the places of a fixed text. No value is read again.
func (m Mark) Fill(text string, values map[string]string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, string(m))
		if b.WriteString(before); !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(values[name])
		text = after
	}
}

// Valid reports whether all texts of a value are UTF-8.
func Valid(v any) bool {
	switch x := v.(type) {
	case string:
		return utf8.ValidString(x)
	case []any:
		return !slices.ContainsFunc(x, func(e any) bool { return !Valid(e) })
	case map[string]any:
		for name, e := range x {
			if !utf8.ValidString(name) || !Valid(e) {
				return false
			}
		}
	}
	return true
}

// Rewrite copies a value with other texts; names of members stay.
func Rewrite(v any, change func(string) string) any {
	switch x := v.(type) {
	case string:
		return change(x)
	case map[string]any:
		if x == nil {
			return x
		}
		out := make(map[string]any, len(x))
		for _, name := range protocol.SortedKeys(x) {
			out[name] = Rewrite(x[name], change)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = Rewrite(e, change)
		}
		return out
	}
	return v
}
