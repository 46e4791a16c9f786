package rawtext

import (
	"iter"
	"strings"
)

// Reference is one $KARYI{NAME} in a text, or its escaped form $$KARYI{.
type Reference struct {
	Name       string // "" when escaped
	Start, End int    // bytes of the text; of an escaped form the first dollar sign alone
	Escaped    bool   // the bytes Start to End go away, the rest is plain text
	Malformed  bool   // the start of something that looks like one
}

// RefOpen begins a reference.
const RefOpen = "$KARYI{"

// MaxSecretName bounds the name of a reference in bytes; a longer one makes none.
const MaxSecretName = 128

// References finds the secret variables that a text refers to, from left to
// right (X21). It replaces nothing. Whoever does, walks the list once and never
// looks at the result again, so a value cannot refer to another value.
func References(text string) iter.Seq[Reference] {
	return func(yield func(Reference) bool) {
		for p := 0; ; {
			k := strings.Index(text[p:], RefOpen)
			if k < 0 {
				return
			}
			r := Reference{Start: p + k}
			p = r.Start + len(RefOpen)
			n := NameLength(text[p:])
			switch {
			case k > 0 && text[r.Start-1] == '$':
				r.Start, r.End, r.Escaped = r.Start-1, r.Start, true
			case n > 0 && p+n < len(text) && text[p+n] == '}':
				r.Name = text[p : p+n]
				p += n + 1
				r.End = p
			default:
				r.Malformed = true
			}
			if !yield(r) {
				return
			}
		}
	}
}

// NameLength measures a secret's name at the start of s; 0 for none.
func NameLength(s string) int {
	n := 0
	for n < len(s) && n <= MaxSecretName && (Letter(s[n]) || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	if n > MaxSecretName {
		return 0
	}
	return n
}
