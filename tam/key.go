package tam

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normaliseKey gives the name under which a key is known: invisible characters
// removed, compatibility forms folded (NFKC), camelCase split, lower case,
// everything that is no letter, digit or mark turned into single underscores,
// none of them at the ends. It is idempotent.
func normaliseKey(raw string) string {
	if isNormal(raw) {
		return raw
	}
	s := raw
	if !isASCII(s) {
		s = norm.NFKC.String(strings.Map(dropInvisible, s))
	}
	s = foldKey(s)
	if !isASCII(s) {
		// Lower case may compose anew; twice is enough for every character of
		// Unicode that the fuzz target has met.
		s = foldKey(norm.NFKC.String(s))
	}
	return s
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isNormal is the way out for keys that are written as they should be.
func isNormal(s string) bool {
	last := byte('_')
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' && last != '_') {
			return false
		}
		last = c
	}
	return last != '_'
}

func dropInvisible(r rune) rune {
	switch r {
	case '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u2060', '\ufeff', '\u00ad':
		return -1
	}
	return r
}

func foldKey(s string) string {
	out := make([]byte, 0, len(s)+4)
	gap := false
	var prev rune
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap, prev = true, 0
			continue
		}
		if (gap || boundary(prev, r, s[i+utf8.RuneLen(r):])) && len(out) > 0 {
			out = append(out, '_')
		}
		out = utf8.AppendRune(out, unicode.ToLower(r))
		gap, prev = false, r
	}
	return string(out)
}

// boundary finds where camelCase starts a word: aB, the B of ABc, and the B of
// 1Bc. All capitals stay together, and so does a digit behind a letter.
func boundary(prev, r rune, rest string) bool {
	if !unicode.IsUpper(r) || prev == 0 {
		return false
	}
	if unicode.IsLower(prev) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return (unicode.IsUpper(prev) || unicode.IsDigit(prev)) && unicode.IsLower(next)
}

// suffix is how a step number hangs on a name.
type suffix uint8

const (
	unsuffixed  suffix = iota
	underscored        // name_2
	glued              // name2: a step only if that step exists
)

// splitSuffix takes the last number off a normalised key. Numbers of limit and
// more are part of the name.
func splitSuffix(key string, limit int) (base string, n int, how suffix) {
	i := len(key)
	for i > 0 && key[i-1] >= '0' && key[i-1] <= '9' {
		i--
	}
	digits := key[i:]
	if digits == "" || i == 0 || len(digits) > 6 {
		return key, 0, unsuffixed
	}
	for _, d := range []byte(digits) {
		n = n*10 + int(d-'0')
	}
	if n >= limit {
		return key, 0, unsuffixed
	}
	if key[i-1] != '_' {
		return key[:i], n, glued
	}
	if i == 1 {
		return key, 0, unsuffixed
	}
	return key[:i-1], n, underscored
}

// isCommandKey reports a key of the form command, command_N, commandN.
func isCommandKey(key string) bool {
	rest, ok := strings.CutPrefix(key, "command")
	return ok && strings.Trim(strings.TrimPrefix(rest, "_"), "0123456789") == ""
}
