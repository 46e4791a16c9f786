package mask

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// widen takes into a hit what is left of the value, where it stands beside it: signs at its ends, which no pattern has as they
// are, and what follows a sign that is spelled as no pattern has it.
func (m *Masker) widen(text string, h *hit, r run) {
	if p := h.pattern; len(p.of) == len(p.text) { // of a value that is no text, JSON has other characters
		h.start = m.end(text, h.start, r, p, true)
		h.end = m.end(text, h.end, r, p, false)
	}
}

// end is the place at which the value of a hit begins, or ends; until now that was known of the letters of its pattern alone.
// The outer letters may belong to an escape by chance, so the rest of the value is looked for beside several.
func (m *Masker) end(text string, known int, r run, p *pattern, before bool) int {
	outer := -1 // the place in the value of the first letter that stands for itself
	for n, i := 0, 0; i < r.length && n < maxAnchors; i++ {
		letter := r.place - p.first - i
		if before {
			letter = r.place - p.first + 1 - r.length + i
		}
		of := p.of[letter]
		if of < 0 {
			continue
		}
		at, rest := m.back(text, r.end, r.place-p.first+1-letter), p.value[:of]
		if !before {
			at, rest = at+1, p.value[of+1:]
		}
		if n++; n == 1 {
			outer = of
			if i < gram { // what stands outside may look like a part of an escape
				known = at
			}
		}
		within := utf8.RuneCountInString(p.value[min(of, outer):max(of, outer)])
		taken := beside(text, at, rest, within, before)
		if before && taken < known || !before && taken > known {
			return taken
		}
	}
	return known
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
	maxAnchors  = 4  // letters at each end of a hit beside which a rest is looked for
	maxReadings = 16 // of a rest: a backslash may be itself, or stand before another character
)

// beside is the place at which the rest of a value ends that stands at a place, or begins if it stands before that; the
// place itself if it does not stand there. So many characters of it are in the hit already.
func beside(text string, at int, rest string, within int, before bool) int {
	var these, those [maxReadings]int // what stands beside a secret is read so often that slices would be most of the work
	taken, places, next := at, append(these[:0], at), those[:0]
	for n := 0; rest != ""; n++ {
		_, size := utf8.DecodeRuneInString(rest)
		c, left := rest[:size], rest[size:]
		if before {
			_, size = utf8.DecodeLastRuneInString(rest)
			c, left = rest[len(rest)-size:], rest[:len(rest)-size]
		}
		rest = left
		outer := strings.Trim(rest, c) == ""
		next = next[:0]
		for _, place := range places {
			found := len(next)
			for gap := 0; len(next) == found && gap <= maxGap; gap++ {
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
		places, next = next, places
		farthest := slices.Max(places)
		if before {
			farthest = slices.Min(places)
		}
		if rest == "" || n+1 >= minRest+within || farthest == 0 || !before && endsWithin(text[farthest:]) {
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

// readings appends the places at which spellings of a character that stand at a place end, or begin. Only an escape is longer than a
// character.
func readings(places []int, text string, at int, c string, outer, before bool) []int {
	for n := 1; n <= maxSpelled && len(places) < maxReadings; n++ {
		from, to := at, at+n
		if before {
			from, to = at-n, at
		}
		if from < 0 || to > len(text) {
			break
		}
		if place := from + to - at; (n <= utf8.UTFMax || strings.IndexByte(starters, text[from]) >= 0) && spells(text[from:to], c, outer) && !slices.Contains(places, place) {
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
// mail, JSON and HTML, also of these within others or of its bytes, or quoted for a shell. A doubled sign is one, but not the outer
// one, beside which the same may stand as a quote.
func spells(text, c string, outer bool) bool {
	if strings.EqualFold(text, c) || text == "+" && c == " " || text == string(appendNarrow(make([]byte, 0, utf8.UTFMax), first(c))) {
		return true
	}
	if len(c) == 1 && len(text) == 2 && text[0] == c[0] && text[1] == c[0] && (c == `\` || !outer) {
		return true
	}
	switch text[0] {
	case '\'':
		return c == "'" && (text == `'\''` || text == `'"'"'`)
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
			return c == `\` && len(text)&(len(text)-1) == 0
		}
		if rest == c || len(rest) == 1 && len(c) == 1 && control(rest[0]) == c[0] {
			return true
		}
		text = `\` + rest
	case '=':
	default:
		return false
	}
	var bytes []byte
	for begun := text; text != ""; {
		r, size := unescaped(text)
		if size == 0 {
			return false
		}
		if size == len(begun) && (strings.EqualFold(string(r), c) || c == " " && r == '+') {
			return true
		}
		bytes, text = appendNarrow(bytes, r), text[size:]
	}
	return string(bytes) == c
}

// first is the first character of a text.
func first(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
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
