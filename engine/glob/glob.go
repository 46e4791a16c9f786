// Package glob matches texts against patterns with * for any text and ? for one character.
//
// # Promises
//
//  1. A pattern matches what it says, character by character; what is no UTF-8 counts byte by byte.
//  2. Time is bounded by the product of the lengths.
//
// # Not here
//
// Prefixes of types of events (engine/bus/paths).
package glob

import (
	"strings"
	"unicode/utf8"
)

// Pattern is a pattern with * for any text and ? for one character, made ready.
type Pattern struct {
	kind kind
	text string // without the star, of the simple kinds
}

type kind uint8

const (
	exact kind = iota
	prefix
	suffix
	all
	other // everything else
)

// List are patterns of which one has to match.
type List []Pattern

// NewList makes patterns ready.
func NewList(patterns []string) List {
	out := make(List, len(patterns))
	for i, p := range patterns {
		out[i] = New(p)
	}
	return out
}

// New makes a pattern ready.
func New(p string) Pattern {
	switch stars := strings.Count(p, "*"); {
	case strings.Contains(p, "?") || stars > 1:
		return Pattern{other, p}
	case stars == 0:
		return Pattern{exact, p}
	case p == "*":
		return Pattern{kind: all}
	case p[len(p)-1] == '*':
		return Pattern{prefix, p[:len(p)-1]}
	case p[0] == '*':
		return Pattern{suffix, p[1:]}
	}
	return Pattern{other, p}
}

// Match reports whether the pattern matches a text.
func (g Pattern) Match(s string) bool {
	switch g.kind {
	case exact:
		return s == g.text
	case prefix:
		return strings.HasPrefix(s, g.text)
	case suffix:
		return strings.HasSuffix(s, g.text)
	case all:
		return true
	}
	return match(g.text, s)
}

// match goes back to the last star only, so its time is bounded by the
// product of the lengths.
func match(p, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && p[i] == '?':
			_, size := utf8.DecodeRuneInString(s[j:])
			i, j = i+1, j+size
		case i < len(p) && p[i] == s[j]:
			i, j = i+1, j+1
		case star >= 0:
			_, size := utf8.DecodeRuneInString(s[mark:])
			mark += size
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(p[i:], "*") == ""
}

// Match reports whether one of the patterns matches a text, or there is none.
func (list List) Match(s string) bool {
	for i := range list {
		if list[i].Match(s) {
			return true
		}
	}
	return len(list) == 0
}
