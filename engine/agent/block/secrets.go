package block

import (
	"slices"
	"strings"

	"tavernsim/protocol"
)

// secretMark begins the name of a secret in a text, $KARYI{NAME}; with another dollar sign in front it is text.
const secretMark = "$KARYI{"

// span are bytes of a text.
type span struct{ from, to int }

// literal makes text of each name of a secret that is not whole outside of what was put in.
func literal(text string, put []span) string {
	var b strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], secretMark)
		if i < 0 {
			b.WriteString(text[at:])
			return b.String()
		}
		i += at
		next := i + len(secretMark)
		end := next + strings.IndexByte(text[next:], '}') + 1 // next, without a brace
		b.WriteString(text[at:i])
		if slices.ContainsFunc(put, func(p span) bool { return p.from < end && i < p.to }) {
			b.WriteByte('$')
		}
		b.WriteString(secretMark)
		at = next
	}
}

// literals is literal for a text that was put in whole.
func literals(text string) string { return literal(text, []span{{0, len(text)}}) }

// nameless is literals for a text that was read from one with something put in, which is escaped as far as it showed a
// name: in JSON a name can be spelled so that it does not. Names that were there before become text, too.
func nameless(text string) string {
	return literals(strings.ReplaceAll(text, "$"+secretMark, secretMark))
}

// rewritten copies a value with other texts; names of members stay.
func rewritten(v any, change func(string) string) any {
	switch x := v.(type) {
	case string:
		return change(x)
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = rewritten(e, change)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for _, name := range protocol.SortedKeys(x) {
			out[name] = rewritten(x[name], change)
		}
		return out
	}
	return v
}
