package wirejson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a text that comes in parts. One that comes at once is not copied.
type Text struct {
	whole string
	parts []byte
	high  rune // half of a pair of surrogates that the last part ended with; 0 = none
}

// Add adds a part as [Reader.TextPart] reads it, and gives what was added: half of a pair of surrogates that a
// part ends with waits for the next part.
func (t *Text) Add(s string) string {
	if s == "" {
		return ""
	}
	if t.high != 0 || s[0] == surrogates || len(s) >= halfLen && s[len(s)-halfLen] == surrogates {
		s = t.joined(s)
	}
	switch {
	case s == "":
	case t.whole == "":
		t.whole = s
	default:
		if t.parts == nil {
			t.parts = append(t.parts, t.whole...)
		}
		t.parts = append(t.parts, s...)
	}
	return s
}

// Half of a pair of surrogates in a part: its first byte, with which other characters begin, too, and how many it has.
const (
	surrogates = 0xed
	halfLen    = 3
)

// half is the half of a pair that three bytes are; 0 = they are none.
func half(s string) rune {
	if s[0] != surrogates || s[1] < 0xa0 {
		return 0
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
}

// joined puts the half of the last part before a part, and takes the one at its end.
func (t *Text) joined(s string) string {
	start := ""
	if t.high != 0 {
		start = string(utf8.RuneError)
	}
	if len(s) >= halfLen {
		if low := half(s); low >= 0xdc00 {
			start, s = string(utf16.DecodeRune(t.high, low)), s[halfLen:]
		}
	}
	t.high = 0
	if len(s) >= halfLen {
		if t.high = half(s[len(s)-halfLen:]); t.high != 0 {
			s = s[:len(s)-halfLen]
		}
	}
	return start + s
}

// Len is the size in bytes.
func (t *Text) Len() int {
	n := max(len(t.whole), len(t.parts))
	if t.high != 0 {
		n += halfLen
	}
	return n
}

// String is the text. A half at its end is no character.
func (t *Text) String() string {
	s := t.whole
	if t.parts != nil {
		s = string(t.parts)
	}
	if t.high != 0 {
		s += string(utf8.RuneError)
	}
	return s
}
