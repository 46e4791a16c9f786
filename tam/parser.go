package tam

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parse reads the whole text of an answer with default options.
func Parse(text string) Result { return Options{}.Parse(text) }

// Parse reads the whole text of an answer. Text without markers costs one scan
// and no allocation.
func (o Options) Parse(text string) Result {
	if !suspicious(text) {
		return Result{Text: strings.TrimPrefix(text, bom)}
	}
	p := NewParser(o)
	p.silent = true
	p.src.b = []byte(text)
	p.src.final = true
	p.run()
	return p.result()
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

type mode uint8

const (
	inProse mode = iota
	inBlock
	inReasoning
	inOverflow // behind the limit of a block: skip to the next marker
)

// Parser reads a text in pieces. Feed it, then Close it once; afterwards it is
// spent. A Parser must not be used from two goroutines at once.
type Parser struct {
	opt Options
	src source
	lex lexer
	blk walker

	mode    mode
	at      int // everything before has been dealt with
	scan    int // in prose and reasoning: everything before holds no marker
	resumed int // where the prose began, or went on behind something cut out
	pos     position

	text     strings.Builder
	gap      gap  // white space that stood around what was cut out
	gapOpen  bool // the text goes on behind something cut out
	parity   int  // fence lines next to or inside blocks
	head     int  // where the separator in front of the current block begins
	headGap  gap
	tagName  string
	tagDepth int
	tagStart int

	blocks []Block
	diags  []Diagnostic
	events []Event
	live   liveFields
	silent bool
	begun  bool
	closed bool
}

// NewParser starts a stream. Options.Finish is ignored; Close takes it.
func NewParser(o Options) *Parser {
	p := &Parser{opt: o}
	p.pos = position{line: 1}
	p.lex = lexer{src: &p.src}
	p.lex.prevKey[0] = -1
	p.blk = walker{lex: &p.lex, opt: &p.opt, limits: o.Limits.orDefault()}
	p.live.p = p
	return p
}

// run deals with what is there; it returns when more text is needed or the text
// has ended.
func (p *Parser) run() {
	if !p.begun && !p.skipBOM() {
		return
	}
	for p.turn() {
	}
	if p.src.final && p.mode == inProse {
		p.release(p.src.end())
	}
}

func (p *Parser) skipBOM() bool {
	if isPrefixOf(p.src.b, bom) && len(p.src.b) < len(bom) && !p.src.final {
		return false
	}
	if bytes.HasPrefix(p.src.b, []byte(bom)) {
		p.moveTo(len(bom))
		p.resumed = len(bom)
		p.pos = position{off: len(bom), line: 1}
	}
	p.begun = true
	return true
}

func (p *Parser) moveTo(at int) { p.at, p.scan = at, at }

// turn takes one step; false when it cannot go on.
func (p *Parser) turn() bool {
	switch p.mode {
	case inBlock:
		return p.block()
	case inReasoning:
		return p.reasoning()
	case inOverflow:
		return p.overflow()
	}
	return p.prose()
}

// prose looks for the next marker or reasoning tag and releases what cannot
// belong to one.
func (p *Parser) prose() bool {
	if p.gapOpen && !p.closeGap() {
		return false
	}
	b, base := p.src.b, p.src.base
	for i := p.scan - base; ; i++ {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			p.scan = base + len(b)
			p.hold(p.scan)
			return false
		}
		i += k
		m, t := scanMarker(b, i, p.src.final), tag{}
		if m.kind == markNone {
			t = scanTag(b, i, p.src.final)
		}
		p.scan = base + i
		switch {
		case m.kind == markMore || t.state == markMore:
			p.hold(p.scan)
			return false
		case m.kind == markStart:
			p.enterBlock(p.scan, base+m.end)
			return true
		case t.state == markStart && !t.close:
			p.enterReasoning(t, base+t.end)
			return true
		}
	}
}

// hold releases the prose before pos but for what may turn out to belong to a
// block that starts there.
func (p *Parser) hold(pos int) {
	if p.src.final {
		p.releaseTail(pos)
		return
	}
	from := max(p.at, pos-maxSeparator)
	upTo := from + separator(p.src.text(from, pos), p.atLineStart(from), true)
	if upTo == p.src.end() {
		upTo = p.at + wholeRunes(p.src.text(p.at, upTo))
	}
	p.release(upTo)
}

// releaseTail ends the prose. A marker cut by the end of the text is no text.
func (p *Parser) releaseTail(pos int) {
	tail := p.src.text(max(p.at, pos-maxMarker), pos)
	k := bytes.LastIndexByte(tail, '<')
	if k < 0 || !markerBegun(tail[k:]) {
		p.release(pos)
		return
	}
	at := pos - len(tail) + k
	p.release(at)
	p.report(Diagnostic{Code: Truncated, Severity: SeverityWarning, Offset: at, End: pos,
		Message: fmt.Sprintf("received %q and then the end of the text; expected a whole block from %s to %s", cut(string(tail[k:])), startMarker, endMarker)})
	p.moveTo(pos)
}

// wholeRunes is the length of b without a character that is cut at its end.
func wholeRunes(b []byte) int {
	for k := 1; k <= min(len(b), utf8.UTFMax-1); k++ {
		if at := len(b) - k; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return at
			}
			break
		}
	}
	return len(b)
}

// release makes text of everything before pos.
func (p *Parser) release(pos int) {
	if pos <= p.at {
		return
	}
	s := string(p.src.text(p.at, pos))
	if p.gap != gapNone && p.text.Len() > 0 {
		s = p.gap.String() + s
	}
	p.gap, p.parity = gapNone, 0
	p.text.WriteString(s)
	p.emit(Event{Kind: TextDelta, Offset: p.at, Text: s})
	p.at = pos
	p.scan = max(p.scan, pos)
}

// atLineStart reports whether a line of prose begins at pos.
func (p *Parser) atLineStart(pos int) bool {
	if pos == p.resumed {
		return p.text.Len() == 0 || p.gap >= gapLine
	}
	return p.src.b[pos-p.src.base-1] == '\n'
}

// cutOut prepares to leave [from, …) out of the text: the separator in front of
// it becomes a gap.
func (p *Parser) cutOut(pos int) {
	from := max(p.at, pos-maxSeparator)
	head := p.src.text(from, pos)
	sep := separator(head, p.atLineStart(from), false)
	p.head = from + sep
	p.headGap = gapOf(head[sep:])
	p.release(p.head)
}

func (p *Parser) enterBlock(start, body int) {
	p.cutOut(start)
	fences := countFences(p.src.text(p.head, start))
	p.pos.moveTo(&p.src, start)
	p.blk.live = nil
	if !p.silent {
		p.blk.live = &p.live
	}
	p.live.reset()
	p.blk.begin(start, body, p.parity+fences)
	p.mode = inBlock
}

// block goes on with the current block; false when more text is needed.
func (p *Parser) block() bool {
	how := p.blk.walk()
	switch how {
	case blockMore:
		p.live.grow(&p.blk)
		return false
	case blockNone:
		p.mention()
		return true
	}
	end := p.blk.at
	if how == blockMarked {
		end = p.lex.at(p.blk.next).end
	}
	p.keep(how, end)
	return true
}

// mention leaves a start marker without fields in the text.
func (p *Parser) mention() {
	w := &p.blk
	d := Diagnostic{Code: EmptyBlock, Severity: SeverityInfo, Offset: w.start, End: w.body,
		Message: fmt.Sprintf("received %s without any field behind it; expected command:»»»tool id«««: read as text", startMarker)}
	if w.attempt != (Range{}) {
		got := string(p.src.text(w.attempt[0], w.attempt[1]))
		d.Severity = SeverityWarning
		d.Message = fmt.Sprintf("received %q without delimiters; expected key:»»»value««« on every field: read as text", cut(got))
	}
	p.report(d)
	p.mode = inProse
	p.scan = w.body
}

// keep adds the block that ends at end.
func (p *Parser) keep(how blockEnd, end int) {
	w := &p.blk
	b := w.assemble(Span{w.start, end}, !w.cut && how != blockOver)
	b.Diagnostics, b.Warnings = p.locate(w.diags)
	p.blocks = append(p.blocks, b)
	p.parity = w.fences & 1
	p.live.finish(len(p.blocks)-1, &p.blocks[len(p.blocks)-1])
	p.resume(end, p.headGap)
	if how == blockOver {
		p.mode = inOverflow
	}
}

// resume continues with prose behind something that was cut out.
func (p *Parser) resume(at int, before gap) {
	p.gap = max(p.gap, before)
	p.gapOpen = true
	p.mode = inProse
	p.moveTo(at)
}

// closeGap takes the white space, and the closing fence, behind what was cut
// out; false when more text is needed.
func (p *Parser) closeGap() bool {
	b, base := p.src.b, p.src.base
	i := p.at - base
	for {
		n := len(b[i:]) - len(bytes.TrimLeft(b[i:], " \t\r\n"))
		p.gap = max(p.gap, gapOf(b[i:i+n]))
		i += n
		p.moveTo(base + i)
		p.resumed = p.at
		if i == len(b) {
			return p.src.final
		}
		line, whole := fenceLine(b[i:], p.src.final)
		switch {
		case p.parity == 0 || line == 0:
			p.gapOpen = false
			return true
		case !whole:
			return false
		}
		i += line
		p.parity = 0
	}
}

// fenceLine is the length of a closing fence at the start of b, 0 if there is
// none; not whole when the line may go on.
func fenceLine(b []byte, final bool) (n int, whole bool) {
	k := 0
	for k < len(b) && (b[k] == '`' || b[k] == '~') && b[k] == b[0] {
		k++
	}
	rest := bytes.TrimLeft(b[k:], " \t\r")
	switch {
	case k == 0 || len(rest) > 0 && rest[0] != '\n' || k < 3 && (final || len(b) > k) || len(b)-k-len(rest) > maxTrail:
		return 0, true
	case len(rest) == 0 && !final:
		return k, false
	}
	return len(b) - len(rest), true
}

// overflow skips what lies beyond the limit of a block, up to the next marker.
func (p *Parser) overflow() bool {
	b, base := p.src.b, p.src.base
	for i := p.scan - base; ; i++ {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			p.moveTo(base + len(b))
			return false
		}
		i += k
		m := scanMarker(b, i, p.src.final)
		p.moveTo(base + i)
		switch m.kind {
		case markMore:
			return false
		case markStart, markEnd:
			if m.kind == markEnd {
				p.moveTo(base + m.end)
			}
			p.mode = inProse
			return true
		}
	}
}

func (p *Parser) enterReasoning(t tag, end int) {
	p.cutOut(p.scan)
	p.tagStart, p.tagName, p.tagDepth = p.scan, t.name, 1
	p.pos.moveTo(&p.src, p.scan)
	p.moveTo(end)
	p.mode = inReasoning
	if t.self {
		p.resume(end, p.headGap)
	}
}

// reasoning skips to the closing tag. Blocks in there are thoughts, not calls.
func (p *Parser) reasoning() bool {
	b, base := p.src.b, p.src.base
	for i := p.scan - base; ; i++ {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			p.moveTo(base + len(b))
			return p.endReasoning()
		}
		i += k
		p.moveTo(base + i)
		m := scanMarker(b, i, p.src.final)
		t := scanTag(b, i, p.src.final)
		switch {
		case m.kind == markMore || t.state == markMore:
			return false
		case m.kind == markStart:
			p.report(Diagnostic{Code: InReasoning, Severity: SeverityInfo, Offset: base + i, End: base + m.end,
				Message: fmt.Sprintf("received a block inside <%s>; expected it in the answer: not read as a call", p.tagName)})
		case t.state == markStart && t.name == p.tagName && !t.self:
			if t.close {
				p.tagDepth--
			} else {
				p.tagDepth++
			}
			if p.tagDepth == 0 {
				p.resume(base+t.end, p.headGap)
				return true
			}
		}
	}
}

// endReasoning reports a tag that the text left open; nothing follows.
func (p *Parser) endReasoning() bool {
	if !p.src.final {
		return false
	}
	p.report(Diagnostic{Code: InReasoning, Severity: SeverityInfo, Offset: p.tagStart, End: p.tagStart + 1,
		Message: fmt.Sprintf("received <%s> without </%s>; expected both: everything behind it is dropped", p.tagName, p.tagName)})
	return false
}

// report keeps a finding about text outside blocks.
func (p *Parser) report(d Diagnostic) {
	at := p.pos
	at.moveTo(&p.src, d.Offset)
	d.Line, d.Col = at.line, at.col+1
	p.diags = append(p.diags, d)
	p.emit(Event{Kind: DiagnosticFound, Offset: d.Offset, Diagnostic: &p.diags[len(p.diags)-1]})
}

// locate sorts the findings of a block and gives them lines and columns. The
// distinct codes of those that are more than information are the warnings.
func (p *Parser) locate(found []Diagnostic) (out []Diagnostic, warnings []Code) {
	if len(found) == 0 {
		return nil, nil
	}
	out = slices.Clone(found)
	slices.SortStableFunc(out, func(a, b Diagnostic) int { return a.Offset - b.Offset })
	at := p.pos
	for i := range out {
		at.moveTo(&p.src, out[i].Offset)
		out[i].Line, out[i].Col = at.line, at.col+1
		if out[i].Severity != SeverityInfo && !slices.Contains(warnings, out[i].Code) {
			warnings = append(warnings, out[i].Code)
		}
	}
	return out, warnings
}

func (p *Parser) result() Result {
	r := Result{Text: p.text.String(), Blocks: p.blocks, Diagnostics: p.diags}
	slices.SortStableFunc(r.Diagnostics, func(a, b Diagnostic) int { return a.Offset - b.Offset })
	return r
}
