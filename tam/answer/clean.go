package answer

import "strings"

// Clean makes a text that came from outside one that can be shown: without escape sequences of
// terminals and characters that nobody sees, and neutralised.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if strings.ContainsFunc(s, hidden) {
		s = strings.Map(func(r rune) rune {
			if hidden(r) {
				return -1
			}
			return r
		}, escapes(s))
	}
	return Neutralise(s)
}

// hidden characters are control characters but line breaks and tabs, and those that turn
// the order of a text around.
func hidden(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' || 0x7f <= r && r < 0xa0 || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}

// escapes takes out the escape sequences of terminals that carry text: ESC [ … letter.
func escapes(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = strings.TrimLeft(rest, "0123456789;:?<=> !\"#$%&'()*+,-./")
		if s != "" && '@' <= s[0] && s[0] <= '~' {
			s = s[1:]
		}
	}
}
