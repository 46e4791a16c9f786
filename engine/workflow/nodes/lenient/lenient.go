package lenient

import (
	"encoding/json"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Bounds.
const (
	MaxText   = 4 << 20 // bytes
	MaxStarts = 32      // places where a value might begin
)

// Result is a value and what was repaired to get it.
type Result struct {
	Value    any
	Warnings []string // one per kind of repair, in the order of the text
}

// Parse finds the value of a text: the longest valid list or object, first in
// code fences, then anywhere; else the longest that can be repaired; else a
// lone literal.
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
	for i, place := range places {
		if v, rest, ok := longest(place, strictAt); ok {
			return Result{v.value, append(warnings, around(i < len(places)-1, rest)...)}, nil
		}
	}
	for i, place := range places {
		if v, rest, ok := longest(place, repairAt); ok {
			w := append(warnings, around(i < len(places)-1, rest)...)
			return Result{v.value, append(w, v.warnings...)}, nil
		}
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

func around(fenced, rest bool) []string {
	switch {
	case fenced:
		return []string{"took the value out of a code fence"}
	case rest:
		return []string{"left out text around the value"}
	}
	return nil
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

type found struct {
	value    any
	warnings []string
	size     int // bytes read
}

// longest tries every place where a value may begin, and reports whether there
// is text besides the value.
func longest(s string, read func(string) (found, bool)) (best found, rest, ok bool) {
	at, tries, start := 0, 0, 0
	for tries < MaxStarts {
		next := strings.IndexFunc(s[at:], opens)
		if next < 0 {
			break
		}
		at += next
		tries++
		f, good := read(s[at:])
		if good && f.size > best.size {
			best, ok, start = f, true, at
		}
		at += max(f.size, 1)
	}
	if !ok {
		return best, false, false
	}
	rest = strings.TrimSpace(s[:start]) != "" || strings.TrimSpace(s[start+best.size:]) != ""
	return best, rest, true
}

func opens(r rune) bool { return r == '{' || r == '[' || r == '｛' || r == '［' }

// strictAt reads valid JSON. What the repairing parser reads without a repair is
// taken from it: it is several times faster, and a test holds it to the same
// values; equal keys and large numbers are left to the standard library.
func strictAt(s string) (found, bool) {
	if f, ok := repairAt(s); ok && len(f.warnings) == 0 {
		return f, true
	}
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
	f, ok := strictAt(s)
	return f.value, ok && strings.TrimSpace(s[f.size:]) == ""
}

func repairAt(s string) (found, bool) {
	p := parser{s: s}
	v, ok := p.value(0)
	if !ok {
		return found{}, false
	}
	return found{v, p.warnings, p.at}, true
}
