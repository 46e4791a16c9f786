package rawtext

import "strings"

// controlKey is a key that ctrl knows by name.
type controlKey struct {
	name  string // canonical
	bytes string
	alias string // further spellings, blank-separated
}

// controlKeys go beyond the letters: what a terminal user presses to leave, to
// accept and to move in a menu. Sequences are those of TERM=dumb's betters
// (ANSI cursor keys); a program that knows none ignores them.
func controlKeys() []controlKey {
	return []controlKey{
		{"esc", "\x1b", "escape"},
		{"tab", "\t", ""},
		{"enter", "\r", "return cr"},
		{"newline", "\n", "lf linefeed"},
		{"space", " ", ""},
		{"backspace", "\x7f", "del bs"},
		{"delete", "\x1b[3~", ""},
		{"up", "\x1b[A", ""},
		{"down", "\x1b[B", ""},
		{"right", "\x1b[C", ""},
		{"left", "\x1b[D", ""},
		{"home", "\x1b[H", ""},
		{"end", "\x1b[F", ""},
		{"pageup", "\x1b[5~", "pgup"},
		{"pagedown", "\x1b[6~", "pgdn"},
	}
}

// Control reads the name of a control character (X19): a letter or one of
// [ \ ] ^ _ ? alone, behind "^" or behind "Ctrl+" in its usual spellings, or the
// name of a key. It returns the canonical name in lower case and the bytes.
func Control(content string) (name string, bytes []byte, ok bool) {
	s := strings.ToLower(strings.TrimSpace(content))
	if len(s) == 2 && s[0] == '^' {
		s = s[1:]
	}
	for _, prefix := range []string{"control", "ctrl", "c"} {
		rest, found := strings.CutPrefix(s, prefix)
		rest = strings.TrimSpace(rest)
		if found && rest != "" && strings.ContainsRune("+- ", rune(s[len(prefix)])) {
			s = strings.TrimLeft(rest, "+- ")
			break
		}
	}
	if len(s) == 1 {
		if c, ok := controlByte(s[0]); ok {
			return s, []byte{c}, true
		}
		return "", nil, false
	}
	for _, k := range controlKeys() {
		if s != "" && (s == k.name || strings.Contains(" "+k.alias+" ", " "+s+" ")) {
			return k.name, []byte(k.bytes), true
		}
	}
	return "", nil, false
}

func controlByte(c byte) (byte, bool) {
	switch {
	case c >= 'a' && c <= 'z', c >= '[' && c <= '_':
		return c & 0x1f, true
	case c == '?':
		return 0x7f, true
	}
	return 0, false
}
