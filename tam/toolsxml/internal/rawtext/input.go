package rawtext

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// DecodeEscapes turns \n \r \t \e \0 \\ \xNN \uNNNN into what they stand for
// (X18). \xNN is a byte, \uNNNN a character, a surrogate pair of them one
// character. Anything else stays as it is.
func DecodeEscapes(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return string(append(b, s...))
		}
		b = append(b, s[:i]...)
		s = s[i:]
		n := 0
		if b, n = appendEscape(b, s); n == 0 {
			b, n = append(b, '\\'), 1
		}
		s = s[n:]
	}
}

// appendEscape decodes the escape at the start of s; n is 0 when it is none.
func appendEscape(b []byte, s string) (out []byte, n int) {
	if len(s) < 2 {
		return b, 0
	}
	switch s[1] {
	case 'n':
		return append(b, '\n'), 2
	case 'r':
		return append(b, '\r'), 2
	case 't':
		return append(b, '\t'), 2
	case 'e':
		return append(b, 0x1b), 2
	case '0':
		return append(b, 0), 2
	case '\\':
		return append(b, '\\'), 2
	case 'x':
		if v, ok := Hex(s, 2, 2); ok {
			return append(b, byte(v)), 4
		}
	case 'u':
		return appendUnicode(b, s)
	}
	return b, 0
}

func appendUnicode(b []byte, s string) (out []byte, n int) {
	v, ok := Hex(s, 2, 4)
	if !ok {
		return b, 0
	}
	if !utf16.IsSurrogate(rune(v)) {
		return utf8.AppendRune(b, rune(v)), 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		low, ok := Hex(s, 8, 4)
		if r := utf16.DecodeRune(rune(v), rune(low)); ok && r != utf8.RuneError {
			return utf8.AppendRune(b, r), 12
		}
	}
	return b, 0
}

// Hex reads n hexadecimal digits of s.
func Hex(s string, from, n int) (uint64, bool) {
	if len(s) < from+n {
		return 0, false
	}
	for _, c := range []byte(s[from : from+n]) {
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(s[from:from+n], 16, 32)
	return v, err == nil
}
