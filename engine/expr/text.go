package expr

import (
	"cmp"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Text is UTF-8 in Go and counts in UTF-16 units in JavaScript. ASCII text,
// nearly all there is, is the same in both.

func isASCII(s string) bool {
	const high = 0x8080808080808080 // the high bit of eight bytes
	for ; len(s) >= 8; s = s[8:] {  // one load, as the compiler reads it
		low := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
		if (low|uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)&high != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func units(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// textLength counts UTF-16 units.
func textLength(s string) int {
	if isASCII(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += units(r)
	}
	return n
}

// unitAt reads the unit at an index that exists; half a pair becomes U+FFFD.
func unitAt(s string, i int) string {
	if isASCII(s) {
		return s[i : i+1]
	}
	n := 0
	for at, r := range s {
		if n == i && units(r) == 1 {
			return s[at : at+max(1, runeBytes(s, at))]
		}
		if n += units(r); n > i {
			break
		}
	}
	return "\ufffd"
}

func runeBytes(s string, at int) int {
	_, size := utf8.DecodeRuneInString(s[at:])
	return size
}

// offsetOf finds the byte where a unit begins. Inside a pair it is the byte
// after the pair, and whole is false.
func offsetOf(s string, unit int) (offset int, whole bool) {
	if isASCII(s) {
		return min(unit, len(s)), true
	}
	n := 0
	for at, r := range s {
		if n >= unit {
			return at, n == unit
		}
		n += units(r)
	}
	return len(s), n <= unit
}

// sliceText cuts by units.
func sliceText(s string, from, to int) string {
	if isASCII(s) {
		return s[from:to]
	}
	return string(utf16.Decode(utf16.Encode([]rune(s))[from:to]))
}

// compareText orders by UTF-16 units: characters above U+FFFF come before
// U+E000 to U+FFFF.
func compareText(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	for i > 0 && !(utf8.RuneStart(a[i]) && utf8.RuneStart(b[i])) {
		i--
	}
	ra, _ := utf8.DecodeRuneInString(a[i:])
	rb, _ := utf8.DecodeRuneInString(b[i:])
	return cmp.Compare(firstUnit(ra), firstUnit(rb))
}

// firstUnit is a number that orders characters as their units are ordered.
func firstUnit(r rune) int64 {
	if r > 0xffff {
		return 0xd800<<16 + int64(r)
	}
	return int64(r) << 16
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

// whole is the integer part of a number that may be infinite, held within what
// an index can be; NaN is 0.
func whole(f float64) int {
	if math.IsNaN(f) {
		return 0
	}
	return int(max(-exact, min(exact, f)))
}

// position reads an index that counts from the end when it is negative, held
// within 0 and length.
func position(f float64, length int) int {
	i := whole(f)
	if i < 0 {
		return max(0, length+i)
	}
	return min(i, length)
}
