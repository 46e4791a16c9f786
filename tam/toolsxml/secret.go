package toolsxml

import (
	"iter"
	"strings"

	"tavernsim/tam/toolsxml/internal/rawtext"
)

// Reference is one $KARYI{NAME} in a text, or its escaped form $$KARYI{.
type Reference struct {
	Name       string // "" when escaped
	Start, End int    // bytes of the text; of an escaped form the first dollar sign alone
	Escaped    bool   // the bytes Start to End go away, the rest is plain text
}

const refOpen = "$KARYI{"

// References finds the secret variables that a text refers to, from left to
// right (X21). It replaces nothing. Whoever does, walks the list once and never
// looks at the result again, so a value cannot refer to another value.
func References(text string) []Reference {
	var refs []Reference
	for r := range references(text) {
		if !r.malformed {
			refs = append(refs, r.Reference)
		}
	}
	return refs
}

// found is a reference, or the start of something that looks like one.
type found struct {
	Reference
	malformed bool
}

func references(text string) iter.Seq[found] {
	return func(yield func(found) bool) {
		for p := 0; ; {
			k := strings.Index(text[p:], refOpen)
			if k < 0 {
				return
			}
			r := found{Reference: Reference{Start: p + k}}
			p = r.Start + len(refOpen)
			n := nameLength(text[p:])
			switch {
			case k > 0 && text[r.Start-1] == '$':
				r.Start, r.End, r.Escaped = r.Start-1, r.Start, true
			case n > 0 && p+n < len(text) && text[p+n] == '}':
				r.Name = text[p : p+n]
				p += n + 1
				r.End = p
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
