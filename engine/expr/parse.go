package expr

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// prefix makes whatever follows an expression for the parser: an object literal
// is no block, and two statements are an error.
const prefix = "0,"

// parse reads the text of one expression.
func parse(src string) (ast.Expression, error) {
	if err := bounded(src); err != nil {
		return nil, err
	}
	program, err := parseProgram(prefix + src)
	if err != nil {
		return nil, syntaxError(src, err)
	}
	if len(program.Body) == 1 {
		if s, ok := program.Body[0].(*ast.ExpressionStatement); ok {
			return single(src, s.Expression)
		}
	}
	return nil, at(src, 0, "more than one statement", "write one expression")
}

func bounded(src string) error {
	switch {
	case len(src) > MaxSource:
		return at(src, 0, fmt.Sprintf("%d bytes of expression; the limit is %d", len(src), MaxSource), "")
	case !utf8.ValidString(src):
		return at(src, 0, "the text is not UTF-8", "")
	case strings.TrimSpace(src) == "":
		return at(src, 0, "the expression is empty", "write true for one that always holds")
	case strings.Count(src, "=>") > MaxArrows:
		// The parser tries a parenthesis twice before it sees an arrow: nested
		// ones double its work.
		return at(src, 0, fmt.Sprintf("more than %d arrow functions", MaxArrows), "")
	}
	return nil
}

// parseProgram keeps a panic of the parser from reaching whoever loads a file.
func parseProgram(text string) (program *ast.Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
		}
	}()
	// Without this option a comment of the text could name a file to read.
	return parser.ParseFile(nil, "", text, parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps)
}

func syntaxError(src string, err error) error {
	list, ok := errors.AsType[parser.ErrorList](err)
	if !ok || len(list) == 0 {
		return at(src, 0, err.Error(), "")
	}
	first := list[0]
	return at(src, placeOf(src, first.Position.Line, first.Position.Column), lowerFirst(first.Message), syntaxHint(src))
}

// placeOf finds the offset of the parser's line and column, which counts the
// prefix on the first line and bytes, not characters.
func placeOf(src string, line, column int) place {
	offset := 0
	for range line - 1 {
		next := strings.IndexByte(src[offset:], '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	if line == 1 {
		column -= len(prefix)
	}
	return place(offset + column - 1)
}

func syntaxHint(src string) string {
	for _, w := range []struct{ word, hint string }{
		{" and ", "write && for and"}, {" or ", "write || for or"}, {" not ", "write ! for not"}, {"<>", "write !== for <>"},
	} {
		if strings.Contains(src, w.word) {
			return w.hint
		}
	}
	return ""
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// single takes the prefix away again.
func single(src string, e ast.Expression) (ast.Expression, error) {
	seq, ok := e.(*ast.SequenceExpression)
	if !ok || len(seq.Sequence) < 2 {
		return nil, at(src, 0, "not an expression", "")
	}
	if len(seq.Sequence) > 2 {
		return nil, at(src, where(seq.Sequence[2]), "more than one expression", "join conditions with && or ||")
	}
	return seq.Sequence[1], nil
}

// where is the place of a node in the text.
func where(n ast.Node) place { return place(int(n.Idx0()) - 1 - len(prefix)) }
