package finding

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	showAround = 2   // lines shown around a problem
	showWide   = 110 // characters of a line that are shown
)

// Show writes the source with its problems underlined, for people. Lines far
// from any problem are left out. The diagnostics are sorted and have their lines.
func Show(src string, all []Diagnostic) string {
	lines := strings.Split(src, "\n")
	near := make([]bool, len(lines)+1)
	for _, d := range all {
		for i := max(1, d.Line-showAround); i <= min(len(lines), d.Line+showAround); i++ {
			near[i] = true
		}
	}
	var b strings.Builder
	digits, next, skipped := len(fmt.Sprint(len(lines))), 0, false
	for i, line := range lines {
		if !near[i+1] && len(lines) > 20 {
			skipped = true
			continue
		}
		if skipped {
			fmt.Fprintf(&b, "%*s ⋮\n", digits, "")
			skipped = false
		}
		from := next
		for next < len(all) && all[next].Line == i+1 {
			next++
		}
		showLine(&b, src, strings.TrimSuffix(line, "\r"), i+1, digits, all[from:next])
	}
	if skipped {
		fmt.Fprintf(&b, "%*s ⋮\n", digits, "")
	}
	return b.String()
}

// showLine writes one line and below it what is wrong with it. Of a long line it
// shows the part around each problem.
func showLine(b *strings.Builder, src, line string, number, digits int, diags []Diagnostic) {
	if len(diags) == 0 || utf8.RuneCountInString(line) <= showWide {
		text, _ := window(line, 0)
		fmt.Fprintf(b, "%*d │ %s\n", digits, number, text)
	}
	for _, d := range diags { // a problem may be longer than its line
		text, at := window(line, d.Col-1)
		if utf8.RuneCountInString(line) > showWide {
			fmt.Fprintf(b, "%*d │ %s\n", digits, number, text)
		}
		pad, rest := cells(text, at)
		wide := 0
		for _, c := range []rune(rest)[:min(utf8.RuneCountInString(rest), utf8.RuneCountInString(src[d.Offset:d.End]))] {
			wide += cellWidth(c)
		}
		fmt.Fprintf(b, "%*s │ %s%s %s %s: %s\n", digits, "", pad, strings.Repeat("^", max(1, wide)), d.Severity, d.Code, d.Message)
	}
}

// window cuts a long line around a character; at is the place of that character
// in the cut text, in characters. Control characters are shown as pictures.
func window(line string, col int) (text string, at int) {
	from := 0
	if col > showWide*3/4 {
		from = col - showWide/2
	}
	var b strings.Builder
	n, at := 0, max(col-from, 0)
	if from > 0 {
		b.WriteString("…")
		at++
	}
	for _, c := range line {
		if n++; n <= from {
			continue
		}
		if n > from+showWide {
			b.WriteString("…")
			break
		}
		b.WriteRune(picture(c))
	}
	return b.String(), at
}

// picture replaces what would move the cursor of a terminal.
func picture(c rune) rune {
	switch {
	case c == '\t':
		return ' '
	case c < 0x20:
		return 0x2400 + c
	case c == 0x7f:
		return 0x2421
	case c >= 0x80 && c < 0xa0, c >= 0x200b && c <= 0x200f, c >= 0x2028 && c <= 0x202e, c >= 0x2066 && c <= 0x2069, c == 0xfeff:
		return utf8.RuneError
	}
	return c
}

// cells gives blanks as wide as the characters of text before at, and the rest.
func cells(text string, at int) (pad, rest string) {
	var b strings.Builder
	for i, c := range text {
		if at == 0 {
			return b.String(), text[i:]
		}
		at--
		b.WriteString(strings.Repeat(" ", cellWidth(c)))
	}
	return b.String(), ""
}

func cellWidth(c rune) int {
	switch width.LookupRune(c).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
