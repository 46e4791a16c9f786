package tam

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"tavernsim/tam/finding"
)

// Parse reads the whole text of an answer with default options.
func Parse(text string) Result { return Options{}.Parse(text) }

// Parse reads the whole text of an answer. Text without markers costs one scan
// and no allocation.
func (o Options) Parse(text string) Result {
	if !suspicious(text) {
		return Result{Text: strings.TrimPrefix(text, bom)}
	}
	p := parser{b: []byte(text)}
	p.lex = lexer{b: p.b, prevKey: [3]int{-1}}
	p.blk = walker{lex: &p.lex, opt: o, limits: o.limits.orDefault()}
	p.run()
	return p.result(text)
}

const bom = "\ufeff"

// suspicious reports whether text may hold a marker or a reasoning tag.
func suspicious(text string) bool {
	for {
		k := strings.IndexByte(text, '<')
		if k < 0 {
			return false
		}
		text = text[k+1:]
		if len(text) >= 5 && strings.EqualFold(text[:5], "think") {
			return true
		}
		rest := strings.TrimLeft(text[:min(len(text), maxMarker)], " \t\r")
		if bar, ok := strings.CutPrefix(rest, "|"); ok {
			rest = strings.TrimLeft(bar, " \t\r")
			if strings.HasPrefix(rest, "[") {
				return true
			}
		}
		if rest != "" && rest[0] >= utf8.RuneSelf { // perhaps an invisible character
			return true
		}
	}
}

// parser reads one text. All positions in this package are offsets in it.
type parser struct {
	b   []byte
	lex lexer
	blk walker

	at      int // everything before has been dealt with
	scan    int // everything before holds no marker
	resumed int // where the prose began, or went on behind something cut out

	text    strings.Builder
	gap     gap // white space that stood around what was cut out
	parity  int // fence lines next to or inside blocks
	head    int // where the separator in front of the current block begins
	headGap gap

	blocks []Block
	diags  []Diagnostic
}

func (p *parser) run() {
	if bytes.HasPrefix(p.b, []byte(bom)) {
		p.moveTo(len(bom))
		p.resumed = len(bom)
	}
	for p.prose() {
	}
}

func (p *parser) moveTo(at int) { p.at, p.scan = at, at }

// prose goes to the next block or reasoning and over it; false at the end of the
// text.
func (p *parser) prose() bool {
	for ; ; p.scan++ {
		k := bytes.IndexByte(p.b[p.scan:], '<')
		if k < 0 {
			p.releaseTail()
			return false
		}
		p.scan += k
		if m := scanMarker(p.b, p.scan); m.kind == markStart {
			p.block(p.scan, m.end)
			return true
		}
		if t, ok := scanTag(p.b, p.scan); ok && !t.close {
			p.reasoning(t)
			return true
		}
	}
}

// releaseTail ends the prose. A marker cut by the end of the text is no text.
func (p *parser) releaseTail() {
	end := len(p.b)
	from := max(p.at, end-maxMarker)
	k := bytes.LastIndexByte(p.b[from:], '<')
	if k < 0 || !markerBegun(p.b[from+k:]) {
		p.release(end)
		return
	}
	at := from + k
	p.release(at)
	p.report(Truncated, finding.Warning, at, end,
		"received %q and then the end of the text; expected a whole block from %s to %s", cut(string(p.b[at:])), startMarker, endMarker)
}

// release makes text of everything before pos.
func (p *parser) release(pos int) {
	if pos <= p.at {
		return
	}
	if p.text.Len() > 0 {
		p.text.WriteString(p.gap.String())
	}
	p.text.Write(p.b[p.at:pos])
	p.gap, p.parity = gapNone, 0
	p.at = pos
	p.scan = max(p.scan, pos)
}

// atLineStart reports whether a line of prose begins at pos.
func (p *parser) atLineStart(pos int) bool {
	if pos == p.resumed {
		return p.text.Len() == 0 || p.gap >= gapLine
	}
	return p.b[pos-1] == '\n'
}

// cutOut prepares to leave [from, …) out of the text: the separator in front of
// it becomes a gap.
func (p *parser) cutOut(pos int) {
	from := max(p.at, pos-maxSeparator)
	head := p.b[from:pos]
	sep := separator(head, p.atLineStart(from))
	p.head = from + sep
	p.headGap = gapOf(head[sep:])
	p.release(p.head)
}

// block reads the block whose start marker spans start to body.
func (p *parser) block(start, body int) {
	p.cutOut(start)
	fences := countFences(p.b[p.head:start])
	p.blk.begin(start, body, p.parity+fences)
	how := p.blk.walk()
	if how == blockNone {
		p.mention()
		return
	}
	end := p.blk.at
	if how == blockMarked {
		end = p.lex.at(p.blk.next).end
	}
	p.keep(how, end)
	if how == blockOver {
		end = p.overflow(end)
	}
	p.resume(end)
}

// mention leaves a start marker without fields in the text.
func (p *parser) mention() {
	w := &p.blk
	p.scan = w.body
	if w.attempt == (Range{}) {
		p.report(EmptyBlock, finding.Info, w.start, w.body,
			"received %s without any field behind it; expected command:»»»tool id«««: read as text", startMarker)
		return
	}
	p.report(EmptyBlock, finding.Warning, w.start, w.body, "received %q without delimiters; expected key:»»»value««« on every field: read as text",
		cut(string(p.b[w.attempt[0]:w.attempt[1]])))
}

// keep adds the block that ends at end.
func (p *parser) keep(how blockEnd, end int) {
	w := &p.blk
	b := w.assemble(Span{w.start, end}, !w.cut && how != blockOver)
	b.Diagnostics = w.diags
	p.blocks = append(p.blocks, b)
	p.parity = w.fences & 1
}

// resume continues with prose at the end of something that was cut out, behind
// the white space and the closing fence there.
func (p *parser) resume(at int) {
	p.gap = max(p.gap, p.headGap)
	for {
		rest := bytes.TrimLeft(p.b[at:], proseBlanks)
		p.resumed = len(p.b) - len(rest)
		p.gap = max(p.gap, gapOf(p.b[at:p.resumed]))
		line := fenceLine(rest)
		if p.parity == 0 || line == 0 {
			p.moveTo(p.resumed)
			return
		}
		at, p.parity = p.resumed+line, 0
	}
}

// fenceLine is the length of a closing fence at the start of b, 0 if there is
// none.
func fenceLine(b []byte) int {
	k := 0
	for k < len(b) && (b[k] == '`' || b[k] == '~') && b[k] == b[0] {
		k++
	}
	rest := bytes.TrimLeft(b[k:], " \t\r")
	if k < 3 || len(rest) > 0 && rest[0] != '\n' || len(b)-k-len(rest) > maxTrail {
		return 0
	}
	return len(b) - len(rest)
}

// overflow is where prose goes on behind a block beyond its limit: at the next
// start marker, or behind the next end marker.
func (p *parser) overflow(at int) int {
	for ; ; at++ {
		k := bytes.IndexByte(p.b[at:], '<')
		if k < 0 {
			return len(p.b)
		}
		at += k
		switch m := scanMarker(p.b, at); m.kind {
		case markStart:
			return at
		case markEnd:
			return m.end
		}
	}
}

// reasoning skips to the closing tag. Blocks in there are thoughts, not calls.
func (p *parser) reasoning(open tag) {
	start := p.scan
	p.cutOut(start)
	depth := 1
	if open.self {
		depth = 0
	}
	at := open.end
	for depth > 0 {
		k := bytes.IndexByte(p.b[at:], '<')
		if k < 0 {
			p.report(InReasoning, finding.Info, start, start+1,
				"received <%s> without </%s>; expected both: everything behind it is dropped", open.name, open.name)
			p.moveTo(len(p.b))
			return
		}
		at += k
		if m := scanMarker(p.b, at); m.kind == markStart {
			p.report(InReasoning, finding.Info, at, m.end,
				"received a block inside <%s>; expected it in the answer: not read as a call", open.name)
		}
		t, ok := scanTag(p.b, at)
		at++
		switch {
		case !ok || t.name != open.name || t.self:
		case t.close:
			if depth--; depth == 0 {
				at = t.end
			}
		default:
			depth++
		}
	}
	p.resume(at)
}

// report keeps a finding about text outside blocks.
func (p *parser) report(code Code, sev finding.Severity, from, to int, format string, args ...any) {
	p.diags = append(p.diags, Diagnostic{Code: code, Severity: sev, Offset: from, End: to, Message: fmt.Sprintf(format, args...)})
}

// result gives findings their lines and columns; a byte order mark is no column.
func (p *parser) result(source string) Result {
	lists := [][]Diagnostic{p.diags}
	for i := range p.blocks {
		lists = append(lists, p.blocks[i].Diagnostics)
	}
	finding.Place(source, len(source)-len(strings.TrimPrefix(source, bom)), lists...)
	for i := range p.blocks {
		p.blocks[i].Warnings = finding.Codes(p.blocks[i].Diagnostics)
	}
	return Result{Text: p.text.String(), Blocks: p.blocks, Diagnostics: p.diags}
}
