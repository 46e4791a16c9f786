package answer

import (
	"strings"
	"unicode"
)

// joiner breaks a marker and shows nothing.
const joiner = "\u200d"

// Neutralise makes a text that came from outside one in which nothing is read as a call,
// also if a model says it again: it breaks what begins a block or a root.
func Neutralise(text string) string {
	var b strings.Builder
	from := 0
	for i := strings.IndexByte(text, '<'); i >= 0; {
		if begins(text[i+1:]) {
			b.WriteString(text[from:i+1] + joiner)
			from = i + 1
		}
		k := strings.IndexByte(text[i+1:], '<')
		if k < 0 {
			break
		}
		i += k + 1
	}
	if from == 0 {
		return text
	}
	return b.String() + text[from:]
}

// begins reports whether a text goes on like a marker or a tag of a root behind its "<".
func begins(rest string) bool {
	rest = strings.TrimLeftFunc(rest, filling)
	if strings.HasPrefix(rest, "|") || strings.HasPrefix(rest, "｜") {
		return true
	}
	rest = strings.TrimLeftFunc(strings.TrimPrefix(rest, "/"), filling)
	return len(rest) >= len("tools") && strings.EqualFold(rest[:len("tools")], "tools")
}

// filling may stand between the parts of a marker: blanks, and what nobody sees.
func filling(r rune) bool {
	return r != '\u200d' && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
}
