package lenient

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Bounds.
const (
	MaxText   = 1 << 20 // bytes
	MaxStarts = 16      // places where a value might begin
)

// Result is a value and what was repaired to get it.
type Result struct {
	Value    any
	Warnings []string // one per kind of repair, in the order of the text
}

// Parse finds the value of a text: the longest valid list or object that is not
// part of a broken one, first in code fences, then anywhere; else the longest
// that can be repaired; else a lone literal.
func Parse(text string) (Result, error) {
	if len(text) > MaxText {
		return Result{}, protocol.Errorf(protocol.KindLimit, "JSON in %d bytes of text; the limit is %d", len(text), MaxText)
	}
	if v, ok := lone(text); ok {
		return Result{Value: v}, nil
	}
	body, thought := withoutThoughts(text)
	var warnings []string
	if thought {
		warnings = append(warnings, "left out a reasoning block")
	}
	places := append(fences(body), body)
	var repaired *found
	for i, place := range places {
		clean, broken := longest(place)
		fenced := i < len(places)-1
		if clean != nil {
			return clean.result(warnings, fenced), nil
		}
		if broken != nil && repaired == nil {
			broken.fenced = fenced
			repaired = broken
		}
	}
	if repaired != nil {
		return repaired.result(warnings, repaired.fenced), nil
	}
	for _, place := range places { // a text, number or word in a fence or after thoughts
		if v, ok := lone(place); ok {
			return Result{v, warnings}, nil
		}
	}
	return Result{}, protocol.Errorf(protocol.KindInvalid, "no JSON in the text %q", short(text))
}

func short(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// withoutThoughts drops <think>…</think> and its spellings. A block that is
// only closed began before the text; one that is only opened goes to the end.
func withoutThoughts(s string) (string, bool) {
	var kept strings.Builder
	found, inside := false, false
	for {
		at := strings.IndexByte(s, '<')
		if at < 0 {
			break
		}
		size, closes := thoughtTag(s[at:])
		if !inside {
			kept.WriteString(s[:at+1-min(size, 1)])
		}
		s = s[at+max(size, 1):]
		if size == 0 {
			continue
		}
		found = true
		if closes && !inside {
			kept.Reset()
		}
		inside = !closes
	}
	if !inside {
		kept.WriteString(s)
	}
	return kept.String(), found
}

// thoughtTag measures a tag at the front of s; 0 = none.
func thoughtTag(s string) (size int, closes bool) {
	for _, tag := range []string{"think>", "thinking>", "reasoning>"} {
		if strings.HasPrefix(s, "<"+tag) {
			return len(tag) + 1, false
		}
		if strings.HasPrefix(s, "</"+tag) {
			return len(tag) + 2, true
		}
	}
	return 0, false
}

// fences lists the contents of ``` blocks. The last one may be open.
func fences(s string) []string {
	var list []string
	for len(list) < MaxStarts {
		_, rest, ok := strings.Cut(s, "```")
		if !ok {
			return list
		}
		if line, after, ok := strings.Cut(rest, "\n"); ok && !strings.ContainsAny(line, "{[\"`") {
			rest = after // the language
		}
		body, after, closed := strings.Cut(rest, "```")
		list = append(list, body)
		if !closed {
			return list
		}
		s = after
	}
	return list
}

// found is a value and its place.
type found struct {
	value    any
	warnings []string
	size     int  // bytes read
	rest     bool // there is text besides it
	fenced   bool
}

func (f *found) result(warnings []string, fenced bool) Result {
	switch {
	case fenced:
		warnings = append(warnings, "took the value out of a code fence")
	case f.rest:
		warnings = append(warnings, "left out text around the value")
	}
	return Result{f.value, append(warnings, f.warnings...)}
}

// longest tries every place where a value may begin, and gives the longest
// valid value and the longest that can be repaired; nil for none.
func longest(s string) (clean, broken *found) {
	at := 0
	for range MaxStarts {
		next := strings.IndexFunc(s[at:], opens)
		if next < 0 {
			break
		}
		at += next
		f, ok := repairAt(s[at:])
		if !ok || len(f.warnings) > 0 {
			if g, valid := standardAt(s[at:]); valid {
				f, ok = g, true
			}
		}
		side := &clean
		if len(f.warnings) > 0 {
			side = &broken
		}
		if ok && (*side == nil || f.size > (*side).size) {
			f.rest = strings.TrimSpace(s[:at]) != "" || strings.TrimSpace(s[at+f.size:]) != ""
			*side = &f
		}
		if !ok || side == &broken && prose(s[at:]) {
			at++ // a value may begin inside
		} else {
			at += f.size
		}
	}
	return clean, broken
}

// prose reports a bracket that opens words, as in "[sic] {…}": what is valid
// inside wins over a list made of them.
func prose(s string) bool {
	inside, ok := strings.CutPrefix(s, "[")
	r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(inside, unicode.IsSpace))
	return ok && unicode.IsLetter(r)
}

func opens(r rune) bool { return r == '{' || r == '[' || r == '｛' || r == '［' }

// standardAt reads what the repairing parser has something to say about and is
// valid all the same: equal keys. For the rest the parser stands alone, which is
// several times faster; a test holds it to the same values.
func standardAt(s string) (found, bool) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var raw any
	if dec.Decode(&raw) != nil {
		return found{}, false
	}
	v, err := protocol.Normalize(raw)
	if err != nil || deep(v, protocol.MaxDepth) {
		return found{}, false
	}
	return found{value: v, size: int(dec.InputOffset())}, true
}

func deep(v any, left int) bool {
	if left < 0 {
		return true
	}
	switch x := v.(type) {
	case []any:
		return slices.ContainsFunc(x, func(e any) bool { return deep(e, left-1) })
	case map[string]any:
		for _, e := range x {
			if deep(e, left-1) {
				return true
			}
		}
	}
	return false
}

// lone reads a text that is one JSON value and nothing else.
func lone(s string) (any, bool) {
	f, ok := repairAt(s)
	if !ok || len(f.warnings) > 0 {
		f, ok = standardAt(s)
	}
	return f.value, ok && strings.TrimSpace(s[f.size:]) == ""
}

func repairAt(s string) (found, bool) {
	p := parser{s: s}
	v, ok := p.value(0)
	if !ok {
		return found{}, false
	}
	return found{value: v, warnings: p.warnings, size: p.at}, true
}
