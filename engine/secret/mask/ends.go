package mask

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// widen takes into a hit what is left of the value, where it stands beside it: signs at its ends, which no pattern has as they
// are, and what follows a sign that is spelled as no pattern has it.
func (m *Masker) widen(text string, h *hit, r run) {
	from, to, p := r.offset+1-r.length, r.offset, h.pattern // of the pattern
	if len(p.of) != len(p.text) {                           // of a value that is no text, JSON has other characters
		return
	}
	outer := 0 // the place in the value of the outer letter
	for n, i := 0, from; i <= to && n < maxAnchors; i++ {
		if p.of[i] < 0 {
			continue
		}
		at := m.back(text, r.end, to+1-i)
		if n++; n == 1 {
			outer = p.of[i]
			if i-from < gram { // what stands before may look like a part of an escape
				h.start = at
			}
		}
		if start := beside(text, at, p.value[:p.of[i]], p.of[i]-outer, true); start < h.start {
			h.start = start
			break
		}
	}
	for n, i := 0, to; i >= from && n < maxAnchors; i-- {
		if p.of[i] < 0 {
			continue
		}
		at := m.back(text, r.end, to+1-i) + 1
		if n++; n == 1 {
			outer = p.of[i]
			if to-i < gram {
				h.end = at
			}
		}
		if end := beside(text, at, p.value[p.of[i]+1:], outer-p.of[i], false); end > h.end {
			h.end = end
			break
		}
	}
}

// places are those in a value of the letters of a spelling, squeezed, that stand for themselves; -1 = it is another.
func places(value string, spell func(string) string) (of []int) {
	from := 0 // of characters beside each other that a spelling may bind together
	flush := func(to int) {
		for range squeeze(spell(value[from:to])) {
			of = append(of, -1)
		}
	}
	for i, size := 0, 0; i < len(value); i += size {
		_, size = utf8.DecodeRuneInString(value[i:])
		self := squeeze(value[i : i+size])
		if !bytes.Equal(squeeze(spell(value[i:i+size])), self) {
			continue
		}
		flush(i)
		from = i + size
		for j := range self {
			of = append(of, i+j)
		}
	}
	flush(len(value))
	return of
}

// back is the place of the n-th squeezed byte before a place.
func (m *Masker) back(text string, at, n int) int {
	for n > 0 && at > 0 {
		if at--; m.fold[text[at]] != 0 && !inEscape(text, at) {
			n--
		}
	}
	return at
}

const (
	minRest     = 4  // characters of a rest that does not stand there as a whole are taken with a hit, or those up to an end of the text
	maxSpelled  = 16 // bytes that stand for one character
	maxGap      = 16 // colours, spaces and line breaks between two characters
	maxAnchors  = 4  // letters at each end of a hit that are tried: the outer ones may belong to an escape by chance
	maxReadings = 16 // of a rest: a backslash may be itself, or stand before another character
)

// beside gives the place at which the rest of a value that stands at a place ends, or begins, if it stands before that. If it does
// not stand there, that is the place itself. So many characters of it are in the hit already.
func beside(text string, at int, rest string, known int, before bool) int {
	taken, places := at, []int{at}
	for n := range len(rest) {
		c, left := rest[n], rest[n+1:]
		if before {
			c, left = rest[len(rest)-1-n], rest[:len(rest)-1-n]
		}
		outer := strings.Trim(left, string(rune(c))) == ""
		var next []int
		for _, place := range places {
			for n, gap := len(next), 0; len(next) == n && gap <= maxGap; gap++ {
				next = readings(next, text, place, c, outer, before)
				beyond := skipped(text, place, before)
				if beyond == place {
					break
				}
				place = beyond
			}
		}
		if len(next) == 0 {
			break
		}
		places = next
		farthest := slices.Max(places)
		if before {
			farthest = slices.Min(places)
		}
		if left == "" || n+1 >= minRest+known || farthest == 0 || !before && endsWithin(text[farthest:]) {
			taken = farthest
		}
	}
	return taken
}

// endsWithin reports whether a text ends before another character, or within one that is spelled by more than one sign.
func endsWithin(text string) bool {
	return text == "" || len(text) < maxSpelled && strings.IndexByte(starters, text[0]) >= 0
}

// starters are the signs that begin a spelling of a character.
const starters = `\%&='`

// readings appends the places at which spellings of a character that stand at a place end, or begin.
func readings(places []int, text string, at int, c byte, outer, before bool) []int {
	for n := 1; n <= maxSpelled && len(places) < maxReadings; n++ {
		from, to := at, at+n
		if before {
			from, to = at-n, at
		}
		if from < 0 || to > len(text) {
			break
		}
		if place := from + to - at; spells(text[from:to], c, outer) && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places
}

// skipped is the place beyond a colour, a space or a line break, which may stand between characters of a value.
func skipped(text string, at int, before bool) int {
	const blank = " \t\r\n"
	switch {
	case before && at > 0 && strings.IndexByte(blank, text[at-1]) >= 0:
		return at - 1
	case before && at > 0 && inEscape(text, at-1):
		return strings.LastIndexByte(text[:at], 0x1b)
	case !before && at < len(text) && strings.IndexByte(blank, text[at]) >= 0:
		return at + 1
	case !before && at < len(text) && text[at] == 0x1b:
		return skipEscape(text, at) + 1
	}
	return at
}

// spells reports whether a text is a spelling of one character: as it is, or behind backslashes, in escapes of URLs,
// mail, JSON and HTML, also of these within others, or quoted for a shell. A doubled sign is one, but not the outer
// one, beside which the same may stand as a quote.
func spells(text string, c byte, outer bool) bool {
	if len(text) == 1 {
		return text[0] == c || c == ' ' && text[0] == '+' || 'a' <= c|0x20 && c|0x20 <= 'z' && text[0]|0x20 == c|0x20
	}
	if len(text) == 2 && text[0] == c && text[1] == c && (c == '\\' || !outer) {
		return true
	}
	switch text[0] {
	case '\'':
		return c == '\'' && (text == `'\''` || text == `'"'"'`)
	case '%':
		for len(text) > 3 && text[:3] == "%25" {
			text = "%" + text[3:]
		}
	case '&':
		for len(text) > 5 && text[:5] == "&amp;" {
			text = "&" + text[5:]
		}
	case '\\':
		rest := strings.TrimLeft(text, `\`)
		if rest == "" {
			return c == '\\' && len(text)&(len(text)-1) == 0
		}
		if len(rest) == 1 && (rest[0] == c || control(rest[0]) == c) {
			return true
		}
		text = `\` + rest
	case '=':
	default:
		return false
	}
	r, size := unescaped(text)
	return size == len(text) && (r == rune(c) || c == ' ' && r == '+')
}

// control is the character that a letter behind a backslash stands for, or a letter.
func control(letter byte) byte {
	if i := strings.IndexByte("abtnvfr", letter); i >= 0 {
		return '\a' + byte(i)
	}
	if letter == 'e' {
		return 0x1b
	}
	return letter
}
