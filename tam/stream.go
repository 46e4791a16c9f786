package tam

import (
	"unicode/utf8"

	"tavernsim/protocol"
)

// EventKind names what a Parser found.
type EventKind string

const (
	TextDelta       EventKind = "text"        // Text is prose; all of them joined are Result.Text
	BlockStart      EventKind = "block_start" // a block that has at least one field
	ToolKnown       EventKind = "tool_known"  // Tool is the tool of the command Key
	ParamStart      EventKind = "param_start" // the value of Key begins
	ParamDelta      EventKind = "param_delta" // Text is more of it; all of them joined are the value
	ParamEnd        EventKind = "param_end"
	BlockEnd        EventKind = "block_end" // Result is the block: now its calls may start
	DiagnosticFound EventKind = "diagnostic"
)

// Event is one finding, in the order of the text.
type Event struct {
	Kind       EventKind
	Offset     int    // in the source
	Block      int    // ordinal of the block, from 0
	Key        string // normalised, with its step suffix
	Tool       string
	Text       string
	Result     *Block      // BlockEnd; read-only
	Diagnostic *Diagnostic // DiagnosticFound; read-only
}

func (p *Parser) emit(e Event) {
	if !p.silent {
		p.events = append(p.events, e)
	}
}

// Feed takes the next piece of the text, cut anywhere, and returns what is now
// certain. Diagnostics of a block come right before its end. After Close it
// returns nothing.
func (p *Parser) Feed(chunk string) []Event {
	if p.closed || chunk == "" {
		return nil
	}
	p.compact()
	p.src.b = append(p.src.b, chunk...)
	p.run()
	return p.take()
}

// Close ends the text. The result is what Parse gives for the whole of it.
func (p *Parser) Close(finish protocol.FinishReason) (Result, []Event) {
	if !p.closed {
		p.opt.Finish = finish
		p.src.final = true
		p.run()
		p.closed = true
	}
	return p.result(), p.take()
}

func (p *Parser) take() []Event {
	e := p.events
	p.events = nil
	return e
}

// compact drops bytes that nobody will look at again, when that pays.
func (p *Parser) compact() {
	keep := p.at
	switch p.mode {
	case inBlock:
		keep = min(keep, p.head)
	case inReasoning:
		keep = min(keep, p.scan)
	}
	n := keep - p.src.base - 1 // one byte behind, to see whether a line begins
	if n < 4096 || n < len(p.src.b)/2 {
		return
	}
	p.pos.moveTo(&p.src, p.src.base+n)
	p.src.b = p.src.b[:copy(p.src.b, p.src.b[n:])]
	p.src.base += n
}

// liveFields tells about the fields of a block that has not ended. It releases
// of a value only what stays, whatever the walker decides later.
type liveFields struct {
	p       *Parser
	started bool
	clean   cleaner
	key     string
	command bool
	sent    int // raw bytes of the value before this offset went to clean
	scan    int // the token to look at next; everything before is harmless
	stop    int // nothing at or behind this offset is certain; -1: not known
}

func (l *liveFields) reset() { l.started = false }

// begin announces the open field.
func (l *liveFields) begin(w *walker, o *token) {
	if !l.started {
		l.started = true
		l.p.emit(Event{Kind: BlockStart, Offset: w.start, Block: len(l.p.blocks)})
	}
	f := w.open
	l.key, l.command = f.name, isCommandKey(f.name)
	l.clean = cleaner{raw: o.cls.fam == famRaw, indent: f.indent, space: l.clean.space[:0]}
	l.sent, l.scan, l.stop = o.end, f.tok+1, -1
	if !l.command {
		l.p.emit(Event{Kind: ParamStart, Offset: o.key[0], Block: len(l.p.blocks), Key: l.key})
	}
}

// grow releases what the open field certainly holds: everything before the
// first token that may end it, and before a line that may yet open a key.
func (l *liveFields) grow(w *walker) {
	if w.open == nil || l.command || w.live == nil {
		return
	}
	if safe := l.certain(w); safe > l.sent {
		l.send(w, l.sent+wholeRunes(w.lex.src.text(l.sent, safe)))
	}
}

func (l *liveFields) send(w *walker, upTo int) {
	if s := l.clean.add(w.lex.src.text(l.sent, upTo)); s != "" {
		l.p.emit(Event{Kind: ParamDelta, Offset: l.sent, Block: len(l.p.blocks), Key: l.key, Text: s})
	}
	l.sent = upTo
}

func (l *liveFields) certain(w *walker) int {
	x := w.lex
	for l.stop < 0 && l.scan-x.first < len(x.tokens) {
		t := x.at(l.scan)
		switch {
		case t.kind == tokOpen && t.comment:
		case t.kind == tokOpen:
			l.stop = t.keyFrom
		case t.kind != tokClose, t.structural, t.cls == x.at(w.open.tok).cls:
			l.stop = t.pos
		}
		l.scan++
	}
	if l.stop >= 0 {
		return l.stop
	}
	safe := x.pos
	if x.prevKey[0] >= 0 {
		safe = min(safe, x.prevKey[0])
	}
	if x.pos-x.keyFrom <= maxKey && mayOpenKey(x.src.text(x.keyFrom, x.pos)) {
		safe = min(safe, x.keyFrom)
	}
	return safe
}

// mayOpenKey reports whether a line that begins with b can still turn out to be
// a key.
func mayOpenKey(b []byte) bool {
	for len(b) > 0 && utf8.FullRune(b) {
		r, n := utf8.DecodeRune(b)
		if !isKeyRune(r) && r != ':' && r != '：' {
			return false
		}
		b = b[n:]
	}
	return true
}

// end announces the end of the open field: what was not certain before is now.
func (l *liveFields) end(w *walker, f *openField, o *token, valueEnd int, text string) {
	if l.command {
		l.p.emit(Event{Kind: ToolKnown, Offset: o.key[0], Block: len(l.p.blocks), Key: l.key, Tool: text})
		return
	}
	l.send(w, max(valueEnd, l.sent))
	l.p.emit(Event{Kind: ParamEnd, Offset: valueEnd, Block: len(l.p.blocks), Key: l.key})
}

// finish announces the end of block n.
func (l *liveFields) finish(n int, b *Block) {
	if !l.started {
		l.p.emit(Event{Kind: BlockStart, Offset: b.Span.Start, Block: n})
	}
	for i := range b.Diagnostics {
		l.p.emit(Event{Kind: DiagnosticFound, Offset: b.Diagnostics[i].Offset, Block: n, Diagnostic: &b.Diagnostics[i]})
	}
	l.p.emit(Event{Kind: BlockEnd, Offset: b.Span.End, Block: n, Result: b})
}
