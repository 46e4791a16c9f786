package toolsxml

import (
	"iter"
	"strings"

	"tavernsim/tam/toolsxml/internal/rawtext"
)

// reference is one $KARYI{NAME} in a text, or its escaped form $$KARYI{.
type reference struct {
	name       string // "" when escaped
	start, end int    // bytes of the text; of an escaped form the first dollar sign alone
	escaped    bool   // the bytes Start to End go away, the rest is plain text
	malformed  bool   // the start of something that looks like one
}

const refOpen = "$KARYI{"

// references finds the secret variables that a text refers to, from left to
// right (X21). It replaces nothing. Whoever does, walks the list once and never
// looks at the result again, so a value cannot refer to another value.
func references(text string) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		for p := 0; ; {
			k := strings.Index(text[p:], refOpen)
			if k < 0 {
				return
			}
			r := reference{start: p + k}
			p = r.start + len(refOpen)
			n := nameLength(text[p:])
			switch {
			case k > 0 && text[r.start-1] == '$':
				r.start, r.end, r.escaped = r.start-1, r.start, true
			case n > 0 && p+n < len(text) && text[p+n] == '}':
				r.name = text[p : p+n]
				p += n + 1
				r.end = p
			default:
				r.malformed = true
			}
			if !yield(r) {
				return
			}
		}
	}
}

// nameLength measures a secret's name at the start of s; 0 for none.
func nameLength(s string) int {
	n := 0
	for n < len(s) && n <= maxSecretName && (rawtext.Letter(s[n]) || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	if n > maxSecretName {
		return 0
	}
	return n
}
