package terminal

import (
	"fmt"
	"strings"
	"unicode"
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

func unseen(r rune) bool { return !unicode.IsPrint(r) }
