package mask

import (
	"encoding/base64"
	"math/big"
	"slices"
	"strings"
	"unicode/utf16"
)

// alphabets of numbers. Letters are compared without their case: the alphabet of base58 that has
// small letters first is the same, and so is that of base62.
const (
	in8  = "01234567"
	in10 = "0123456789"
	in36 = "0123456789abcdefghijklmnopqrstuvwxyz"
	in58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	in62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	az62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// asNumbers are spellings of a value as one large number, alone, as a line and with the lowest byte first: every digit depends
// on the whole value. A third of the digits is a hit, if they are as many as chance does not bring about.
func asNumbers(value string) (out []spelling) {
	low := []byte(value)
	slices.Reverse(low)
	for i, text := range []string{value, value + "\n", string(low)} {
		for _, x := range []struct {
			form, digits string
			least        int
		}{{"octal", in8, 22}, {"decimal", in10, 20}, {"base36", in36, gram}, {"base58", in58, gram}, {"base62", in62, gram}, {"base62", az62, gram}} {
			if i == 2 && len(x.digits) > len(in10) {
				break // who writes base58 begins at the highest byte
			}
			digits := number(text, x.digits)
			out = append(out, inLetters(x.form, digits, itself, part(digits), x.least))
		}
	}
	return out
}

// numeric reports whether a text has digits of a base alone.
func numeric[T string | []byte](text T, base int) bool {
	for i := range len(text) {
		if value(text[i]) >= base {
			return false
		}
	}
	return true
}

// within reports whether a hit of digits is a part of a longer number: a digit of the same kind stands beside it.
func within(text string, h hit) bool {
	base := 16
	if numeric(h.pattern.text, 10) {
		base = 10
	}
	return h.start > 0 && value(text[h.start-1]) < base || h.end < len(text) && value(text[h.end]) < base
}

// number is a text as a number with these digits.
func number(text, alphabet string) string {
	n, base, digit := new(big.Int).SetBytes([]byte(text)), big.NewInt(int64(len(alphabet))), new(big.Int)
	var digits []byte
	for n.Sign() > 0 {
		n.DivMod(n, base, digit)
		digits = append(digits, alphabet[digit.Int64()])
	}
	slices.Reverse(digits)
	return string(digits)
}

// rot47 turns all signs of ASCII that are seen by half of them.
func rot47(r rune) rune {
	if '!' <= r && r <= '~' {
		return '!' + (r-'!'+47)%94
	}
	return r
}

// atbash takes letters from the other end of the alphabet.
func atbash(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a' + 'z' - r
	case 'A' <= r && r <= 'Z':
		return 'A' + 'Z' - r
	}
	return r
}

// utf7 is a value in UTF-7, in which direct characters stand as they are.
func utf7(value string, direct func(r rune) bool) string {
	var b strings.Builder
	coded := ""
	flush := func() {
		if coded != "" {
			b.WriteString("+" + base64.RawStdEncoding.EncodeToString([]byte(utf16BE(coded))) + "-")
		}
		coded = ""
	}
	for _, r := range value {
		if !direct(r) {
			coded += string(r)
			continue
		}
		flush()
		b.WriteRune(r)
	}
	flush()
	return b.String()
}

// mailed are the characters that stand as they are in UTF-7 wherever it passes.
func mailed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("'(),-./:?", r)
}

// utf16BE are the bytes of a text in UTF-16.
func utf16BE(text string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(u >> 8))
		b.WriteByte(byte(u))
	}
	return b.String()
}
