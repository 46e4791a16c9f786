package rawtext

import "strings"

// Blank tells whether c is a blank of markup.
func Blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// Letter tells whether c can begin a name; it includes "_" because of get_value.
func Letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// NameByte tells whether c can stand in a name.
func NameByte(c byte) bool {
	return Letter(c) || c >= '0' && c <= '9' || c == '-' || c == '.' || c == ':'
}

// SkipBlanks steps over blanks, also the ones that models copy from web pages.
func SkipBlanks(s string, p int) int {
	for p < len(s) {
		switch {
		case Blank(s[p]):
			p++
		case s[p] == 0xC2 && strings.HasPrefix(s[p:], "\u00a0"):
			p += 2
		case s[p] == 0xE3 && strings.HasPrefix(s[p:], "\u3000"),
			s[p] == 0xE2 && strings.HasPrefix(s[p:], "\u200b"),
			s[p] == 0xEF && strings.HasPrefix(s[p:], "\ufeff"):
			p += 3
		default:
			return p
		}
	}
	return p
}
