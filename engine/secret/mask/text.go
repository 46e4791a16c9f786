package mask

import (
	"slices"
	"strings"
)

// Found is what a text had.
type Found struct {
	Plain []string // names of secrets that were replaced
	// Withhold names a secret that the text spells in another form, and the form; "" = none.
	Withhold, Form string
}

// Any reports whether there was anything.
func (f *Found) Any() bool { return len(f.Plain) > 0 || f.Withhold != "" }

// Text masks a text.
func (m *Masker) Text(text string) (string, Found) { return m.After("", text) }

// After masks a text that follows another one, in which a secret may have begun.
func (m *Masker) After(before, text string) (string, Found) {
	var f Found
	if m == nil || len(m.patterns) == 0 {
		return text, f
	}
	whole := before + text
	hits := spelled(m.scan(whole))
	rest := replace(whole, hits, new(Found)) // a value that is replaced is no part of what is spelled around it
	hits = slices.DeleteFunc(hits, func(h hit) bool { return h.end <= len(before) })
	for i, h := range hits {
		if h.pattern.form != Plain {
			f.Withhold, f.Form = h.pattern.name, h.pattern.form
			return text, f
		}
		hits[i].start, hits[i].end = max(h.start-len(before), 0), h.end-len(before)
	}
	s := search{Masker: m, left: maxDecoded}
	if name, form := s.decoded(rest, 0); name != "" {
		f.Withhold, f.Form = name, form
		return text, f
	}
	masked := replace(text, hits, &f)
	if name, form := s.flattened(masked, 0); name != "" {
		return text, Found{Withhold: name, Form: form}
	}
	return masked, f
}

// spelled leaves out the hits of other spellings within a plain one of the same secret: of a value with letters beyond ASCII
// the letters of ASCII alone are one, and they stand in the value itself.
func spelled(hits []hit) []hit {
	plain := map[string]int{} // the end of those that begin no later, by secret
	return slices.DeleteFunc(hits, func(h hit) bool {
		end := plain[h.pattern.name]
		if h.pattern.form == Plain {
			plain[h.pattern.name] = max(end, h.end)
			return false
		}
		return h.end <= end
	})
}

func replace(text string, hits []hit, f *Found) string {
	if len(hits) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, h := range hits {
		if h.end <= at {
			continue
		}
		if h.start >= at {
			b.WriteString(text[at:h.start])
			b.WriteString("$KARYI{" + h.pattern.name + "}")
		}
		at = h.end
		if !slices.Contains(f.Plain, h.pattern.name) {
			f.Plain = append(f.Plain, h.pattern.name)
		}
	}
	b.WriteString(text[at:])
	return b.String()
}
