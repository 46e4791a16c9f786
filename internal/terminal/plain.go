package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain is a text on one line that shows what it has: characters that a terminal does not
// show, or obeys, are written as \u{202e}.
func Plain(s string) string {
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		if unseen(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Print writes a text of lines. On a screen it may have colours of paint; in files and pipes, where
// it has none, signs stand for all that would steer the terminal on which somebody looks at them.
func Print(w io.Writer, text string) error {
	if !Is(w) {
		text = strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' {
				return r
			}
			return visible(r)
		}, text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// Escaped writes texts of JSON, each in one call of Write: what would steer a terminal is escaped in
// them, which leaves their values as they are.
func Escaped(w io.Writer) io.Writer { return escaped{w} }

type escaped struct{ io.Writer }

// Write implements io.Writer.
func (e escaped) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.Writer, EscapeJSON(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// EscapeJSON is a text of JSON as Escaped writes it.
func EscapeJSON(text string) string {
	steers := func(r rune) bool { return r != '\n' && r != '\t' && r != utf8.RuneError && visible(r) != r }
	if !strings.ContainsFunc(text, steers) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !steers(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func unseen(r rune) bool { return !unicode.IsPrint(r) }
