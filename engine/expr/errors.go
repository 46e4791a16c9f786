package expr

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"tavernsim/protocol"
)

// Error says what is wrong with an expression, and where. Lines and columns
// count from 1; columns count characters.
type Error struct {
	Kind    protocol.ErrorKind
	Line    int
	Column  int
	Message string
	Hint    string // what to write instead; may be empty
}

func (e *Error) Error() string {
	s := fmt.Sprintf("expr: line %d, column %d: %s", e.Line, e.Column, e.Message)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap lets protocol.KindOf find the kind.
func (e *Error) Unwrap() error { return &protocol.Error{Kind: e.Kind, Message: e.Message} }

// Two ends of an evaluation that are no position in the text. errShort never
// leaves the optional chain that it ends.
var (
	errSteps = errors.New("expr: steps used up")
	errShort = errors.New("expr: optional chain ended")
)

// place is an offset in the source.
type place int

// at makes the error of a place in src.
func at(src string, p place, message, hint string) *Error {
	offset := min(max(int(p), 0), len(src))
	line := 1 + strings.Count(src[:offset], "\n")
	start := strings.LastIndexByte(src[:offset], '\n') + 1
	return &Error{Kind: protocol.KindInvalid, Line: line,
		Column: 1 + utf8.RuneCountInString(src[start:offset]), Message: message, Hint: hint}
}

// nearest finds the candidate that a wrong word was probably meant to be, or "".
func nearest(word string, candidates []string) string {
	best, limit := "", len(word)/3+2
	for _, c := range candidates {
		if d := protocol.EditDistance(strings.ToLower(word), strings.ToLower(c), limit); d < limit {
			best, limit = c, d
		}
	}
	return best
}

func didYouMean(word string, candidates []string) string {
	if c := nearest(word, candidates); c != "" {
		return fmt.Sprintf("did you mean %q?", c)
	}
	if len(candidates) == 0 || len(candidates) > 24 {
		return ""
	}
	return "want one of " + strings.Join(candidates, ", ")
}
