package rawtext

import "strings"

// FirstText finds the first line of s that is neither blank nor a fence; -1 when
// there is none.
func FirstText(s string) int {
	for at := 0; at < len(s); {
		line, _, _ := strings.Cut(s[at:], "\n")
		if t := strings.TrimSpace(line); t != "" && !FenceLine(t) && t != CDATAClose {
			return at + strings.Index(line, t)
		}
		at += len(line) + 1
	}
	return -1
}

// CloserNamed finds the first </name> in s[from:to]; -1 when there is none.
func CloserNamed(s, name string, from, to int) (at, next int) {
	for p := from; ; {
		k := strings.Index(s[p:to], "</")
		if k < 0 {
			return -1, -1
		}
		p += k + 2
		if q := p + len(name); q < to && strings.EqualFold(s[p:q], name) {
			if q = SkipBlanks(s, q); q < to && s[q] == '>' {
				return p - 2, q + 1
			}
		}
	}
}
