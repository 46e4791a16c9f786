package tam

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/width"
)

// Pretty shows the source with its findings underlined, for people who write
// blocks by hand:
//
//	3 |   Command_1: >>>File.Write<<<
//	  |   ^^^^^^^^^^^^^^ warning: mixed_delimiters_used: received …
//
// Only lines with findings are shown, then one line per block. The result must
// be that of the source.
func Pretty(source string, r Result) string {
	var all []Diagnostic
	all = append(all, r.Diagnostics...)
	for i := range r.Blocks {
		all = append(all, r.Blocks[i].Diagnostics...)
	}
	slices.SortStableFunc(all, func(a, b Diagnostic) int { return a.Offset - b.Offset })
	var b strings.Builder
	margin := 1
	if len(all) > 0 {
		margin = len(fmt.Sprint(all[len(all)-1].Line))
	}
	shown := 0
	for _, d := range all {
		line, before, marked := lineAt(source, d)
		if d.Line != shown {
			fmt.Fprintf(&b, "%*d | %s\n", margin, d.Line, expand(line))
			shown = d.Line
		}
		fmt.Fprintf(&b, "%*s | %s%s %s: %s: %s\n", margin, "", strings.Repeat(" ", columns(before)),
			strings.Repeat("^", max(1, columns(marked))), d.Severity, d.Code, d.Message)
	}
	for i := range r.Blocks {
		summary(&b, i, &r.Blocks[i])
	}
	return b.String()
}

func summary(b *strings.Builder, i int, blk *Block) {
	state := "runs"
	switch {
	case !blk.Complete:
		state = "does not run: incomplete"
	case !blk.Executable:
		state = "does not run"
	}
	fmt.Fprintf(b, "block %d: %s\n", i+1, state)
	for j := range blk.Commands {
		c := &blk.Commands[j]
		fmt.Fprintf(b, "  step %d: %s (%d params)\n", c.Index, c.ToolID, len(c.Params)+len(c.URIs))
	}
}

// lineAt is the line of a finding, what stands on it before the finding, and
// the part of the finding on this line.
func lineAt(source string, d Diagnostic) (line, before, marked string) {
	at := min(d.Offset, len(source))
	start := strings.LastIndexByte(source[:at], '\n') + 1
	end := len(source)
	if k := strings.IndexByte(source[at:], '\n'); k >= 0 {
		end = at + k
	}
	to := max(at, min(d.End, end))
	return strings.TrimSuffix(source[start:end], "\r"), source[start:at], source[at:to]
}

const tabStop = "    "

func expand(s string) string { return strings.ReplaceAll(s, "\t", tabStop) }

// columns counts terminal columns: two for wide characters, none for invisible
// ones.
func columns(s string) int {
	n := 0
	for _, r := range expand(s) {
		switch {
		case dropInvisible(r) < 0 || r < ' ':
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}
