package answer

import (
	"fmt"
	"slices"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tam"
	"tavernsim/tam/finding"
	"tavernsim/tam/toolsxml"
)

// maxTurns bounds how often an answer changes from one grammar to the other: each time the rest is parsed once more.
const maxTurns = 16

// both reads an answer that may have calls of both grammars. A text belongs to the call that begins before it, whichever
// grammar that has: the other grammar sees blanks there, so what a value quotes is never carried out.
func (a *Answer) both(text string, finish protocol.FinishReason) {
	fill := unused(&text)
	manifest, tools := []byte(text), []byte(text) // as each grammar sees the answer
	m, x := tam.Options{Finish: finish}.Parse(text), toolsxml.Parse(text, toolsxml.Options{Finish: finish})
	var roots []toolsxml.Span
	toolsFirst := false
	for at, turn := 0, 0; ; turn++ {
		block := slices.IndexFunc(m.Blocks, func(b tam.Block) bool { return b.Span.Start >= at })
		root := slices.IndexFunc(x.Roots, func(r toolsxml.Span) bool { return r.Start >= at })
		if block < 0 && root < 0 {
			break
		}
		if turn == maxTurns {
			a.Problems = append(a.Problems, fmt.Sprintf("the answer changes more than %d times between the two grammars of calls; what follows is not read", maxTurns))
			a.both(text[:at], finish)
			return
		}
		if root < 0 || block >= 0 && m.Blocks[block].Span.Start < x.Roots[root].Start {
			for _, b := range m.Blocks[block:] {
				for root >= 0 && root < len(x.Roots) && x.Roots[root].Start < at {
					root++
				}
				if root >= 0 && root < len(x.Roots) && x.Roots[root].Start < b.Span.Start {
					break
				}
				blank(tools[b.Span.Start:b.Span.End], fill)
				at = b.Span.End
			}
			x = toolsxml.Parse(string(tools), toolsxml.Options{Finish: finish})
			continue
		}
		toolsFirst = toolsFirst || at == 0
		for _, r := range x.Roots[root:] {
			for block >= 0 && block < len(m.Blocks) && m.Blocks[block].Span.Start < at {
				block++
			}
			if block >= 0 && block < len(m.Blocks) && m.Blocks[block].Span.Start < r.Start {
				break
			}
			blank(manifest[r.Start:r.End], fill)
			roots, at = append(roots, r), r.End
		}
		m = tam.Options{Finish: finish}.Parse(string(manifest))
	}
	if toolsFirst {
		a.takeTools(&x)
		a.takeManifest(&m)
	} else {
		a.takeManifest(&m)
		a.takeTools(&x)
	}
	around := toolsxml.Parse(restored(m.Text, text, roots, fill), toolsxml.Options{Finish: finish})
	left := tam.Options{Finish: finish}.Parse(around.Text)
	if a.Text = left.Text; len(around.Roots) > len(roots) || len(left.Blocks) > 0 {
		a.Problems = append(a.Problems, "a call in the middle of which one of the other grammar stands is not read")
	}
}

// takeManifest adds the calls and problems of TAM.
func (a *Answer) takeManifest(r *tam.Result) {
	for _, p := range r.Problems() {
		a.Problems = append(a.Problems, p.String())
	}
	a.add(r.Calls())
}

// takeTools adds the calls and problems of ToolsXML.
func (a *Answer) takeTools(x *toolsxml.Result) {
	for _, d := range x.Diagnostics {
		if d.Severity != finding.Info {
			a.Problems = append(a.Problems, "toolsxml: "+d.String())
		}
	}
	a.add(x.Calls("tools"))
}

// unused is a control character that a text does not have. One that has all of them loses one.
func unused(text *string) byte {
	const first, last = 0x0e, 0x1a
	for c := byte(first); c <= last; c++ {
		if strings.IndexByte(*text, c) < 0 {
			return c
		}
	}
	*text = strings.ReplaceAll(*text, string(rune(first)), "")
	return first
}

// blank hides a part of a text. Its lines stay, so that places behind it are right.
func blank(part []byte, fill byte) {
	for i, c := range part {
		if c != '\n' {
			part[i] = fill
		}
	}
}

// restored puts the roots of ToolsXML back into a text in which they are blank.
func restored(text, source string, roots []toolsxml.Span, fill byte) string {
	var b strings.Builder
	for _, r := range roots {
		at := strings.IndexByte(text, fill)
		if at < 0 {
			break
		}
		b.WriteString(text[:at] + source[r.Start:r.End])
		text = text[min(at+r.End-r.Start, len(text)):]
	}
	return b.String() + text
}
