// Package eventtype checks the types of events, and matches them against patterns.
package eventtype

import "strings"

// Matches reports whether a pattern means a type: that type alone, or with a star at its end all
// types that begin so.
func Matches(pattern, t string) bool {
	stem, open := strings.CutSuffix(pattern, "*")
	return pattern == t || open && strings.HasPrefix(t, stem)
}

// Split splits the type of a subscription, or finds its fault; "*" is wild, with an empty name.
func Split(t string) (name string, wild bool, fault string) {
	if t == "*" {
		return "", true, ""
	}
	name, wild = strings.CutSuffix(t, ".*")
	return name, wild, Check(name)
}

// Underscored writes the dots of a type as underscores, as lifecycle keys of a scene do.
func Underscored(t string) string { return strings.ReplaceAll(t, ".", "_") }

// MaxBytes bounds an event type.
const MaxBytes = 256

// Check finds a fault of an event type, or of the part before ".*".
func Check(t string) string {
	if t == "" {
		return "is empty"
	}
	if len(t) > MaxBytes {
		return "is longer than 256 bytes"
	}
	start := true
	for i := range len(t) {
		switch c := t[i]; {
		case c == '.' && (start || i == len(t)-1):
			return "has an empty segment"
		case c == '*':
			return `holds a star; only a subscription may, as ".*" at its end`
		case c <= ' ' || c == 0x7f:
			return "holds a space or a control character"
		default:
			start = c == '.'
		}
	}
	return ""
}
