package mask

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// know makes the characters of a value beyond ASCII ones that are looked for, in each case. It does so for all values before a text is made
// lower.
func (m *Masker) know(value string) {
	if beyond(value, 0) < 0 {
		return
	}
	for c := range rune(utf8.RuneSelf) {
		m.units[c>>6] |= 1 << (c & 63)
	}
	for _, r := range value + norm.NFKD.String(value) + wide(value) {
		if r < utf8.RuneSelf || r == utf8.RuneError || m.beyond[r] != 0 {
			continue
		}
		cases, least := []rune{r}, r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if other >= utf8.RuneSelf && utf8.RuneLen(other) == utf8.RuneLen(r) { // a text keeps its places
				cases, least = append(cases, other), min(least, other)
			}
		}
		for _, r := range cases {
			m.beyond[r] = least
			if r>>6 < rune(len(m.units)) {
				m.units[r>>6] |= 1 << (r & 63)
			}
		}
	}
}

// lower is a text in which characters beyond ASCII that secrets have stand in one case. Each has as many bytes as before.
func (m *Masker) lower(text string) string {
	if len(m.beyond) == 0 {
		return text
	}
	var out []byte
	for i := beyond(text, 0); i >= 0; i = beyond(text, i) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if least := m.beyond[r]; least != 0 && least != r {
			if out == nil {
				out = []byte(text)
			}
			utf8.EncodeRune(out[i:], least)
		}
		i += size
	}
	if out == nil {
		return text
	}
	return string(out)
}

// inASCII is a value as JSON has it whose writer escapes all but ASCII.
func inASCII(value string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(value)) {
		if u < utf8.RuneSelf {
			b.WriteByte(byte(u))
		} else {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// narrow is a value with a byte for each character that one byte holds, and others in UTF-8: so escapes are read.
func narrow(value string) string {
	var out []byte
	for _, r := range value {
		out = appendNarrow(out, r)
	}
	return string(out)
}

func appendNarrow(out []byte, r rune) []byte {
	if r < 0x100 {
		return append(out, byte(r))
	}
	return utf8.AppendRune(out, r)
}

// wide is a value whose bytes were read as characters.
func wide(value string) string {
	var out []byte
	for i := range len(value) {
		out = utf8.AppendRune(out, rune(value[i]))
	}
	return string(out)
}

// inUnits looks for secrets with letters beyond ASCII in what a text has in UTF-16, from an even or odd place, the low byte first or the
// high one. Others are found without it, since zeros are squeezed out.
func (s *search) inUnits(text string) (name, form string) {
	if len(s.beyond) == 0 {
		return "", ""
	}
	for offset := range 2 {
		for _, low := range []int{0, 1} { // the place of the low byte
			unit := func(i int) uint { return uint(text[i+low]) | uint(text[i+1-low])<<8 }
			known := func(i int) bool { u := unit(i); return s.units[u>>6]>>(u&63)&1 != 0 }
		next:
			for from := offset; from+2*gram <= len(text); {
				for i := from + 2*gram - 2; i >= from; i -= 2 { // most units are none of a secret: not every one is looked at
					if !known(i) {
						from = i + 2
						continue next
					}
				}
				end, foreign := from, false
				for ; end+1 < len(text) && known(end); end += 2 {
					foreign = foreign || unit(end) >= utf8.RuneSelf
				}
				if foreign {
					if hits := s.scan(units16(text[from:end], low)); len(hits) > 0 {
						return hits[0].pattern.name, "utf-16 of " + hits[0].pattern.form
					}
				}
				from = end + 2
			}
		}
	}
	return "", ""
}

// units16 is the text that units of UTF-16 are.
func units16(text string, low int) string {
	var units []uint16
	for i := 0; i+1 < len(text); i += 2 {
		units = append(units, uint16(text[i+low])|uint16(text[i+1-low])<<8)
	}
	return string(utf16.Decode(units))
}
