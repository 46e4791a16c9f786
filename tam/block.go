package tam

import (
	"bytes"

	"tavernsim/tam/finding"
)

// field is one key with its value, before steps are made of fields.
type field struct {
	name   string // normalised key
	text   string // clean value
	source FieldSource
	cls    class
	closed class // of the closer; famNone without one
}

// openField is a field whose end is being looked for.
type openField struct {
	tok    int
	name   string
	single bool // a command: the next line that opens a key ends it
	indent int
	scan   int // the token to look at next
	quoted int // start markers that stand open inside the value
	end    int // the first end marker inside that no start marker explains; -1: none
	closed bool

	failed                bool // no closer fits; the end of the region is looked for
	lastOwn, lastAny, own int  // tokens of closers in the region; -1: none
}

// walker reads one block. It walks over the lexer's tokens and goes back to an
// earlier token when a value turns out to have no closer.
type walker struct {
	lex    *lexer
	opt    Options
	limits limits

	start, body int // of the start marker, behind it
	at          int // everything before belongs to a field, a note or ignored text
	next        int // the token to look at next
	wall        int // no value of this block reaches beyond this token; -1: none
	open        *openField
	slot        openField
	fields      []field
	notes       []placedNote
	diags       []Diagnostic
	fences      int
	cut         bool // the text ended inside a field
	over        bool
	attempt     Range // a line between fields that looks like one without delimiters
}

// placedNote is a comment and where it stood.
type placedNote struct {
	at   int
	text string
}

type blockEnd uint8

const (
	blockMarked blockEnd = iota // at an end marker
	blockNext                   // at the next start marker
	blockEOF                    // at the end of the text
	blockOver                   // at the block limit
	blockNone                   // it is no call
)

// begin prepares for the block whose start marker spans start to body.
func (w *walker) begin(start, body, fences int) {
	*w = walker{lex: w.lex, opt: w.opt, limits: w.limits,
		start: start, body: body, at: body, wall: -1, fences: fences,
		fields: w.fields[:0], notes: nil, diags: nil}
	if w.lex.pos < body {
		w.lex.reset(body)
	}
	w.lex.forget(body)
	w.next = w.lex.first
}

// bound is the offset beyond which tokens do not count.
func (w *walker) bound() int {
	if len(w.fields) == 0 && w.open == nil {
		return w.body + maxPreamble
	}
	return w.start + w.limits.Block
}

// look is token n within the bound, or where looking ends: the bound, or the end
// of the text.
func (w *walker) look(n int) (t *token, end int, eof bool) {
	t = w.lex.peek(n)
	if bound := w.bound(); t != nil && t.pos > bound || t == nil && w.lex.pos > bound {
		return nil, bound, false
	}
	return t, w.lex.pos, t == nil
}

// walk goes to the end of the block.
func (w *walker) walk() blockEnd {
	for {
		t, end, eof := w.look(w.next)
		switch {
		case eof:
			return w.finish(blockEOF, end)
		case t == nil:
			return w.atBound(end)
		case t.kind == tokEnd:
			return w.finish(blockMarked, t.pos)
		case t.kind == tokStart:
			return w.finish(blockNext, t.pos)
		case t.kind == tokOpen && !t.comment && t.pos >= w.at:
			w.openField(t)
			w.resolve()
		default:
			w.next++
		}
	}
}

func (w *walker) atBound(bound int) blockEnd {
	if len(w.fields) == 0 {
		w.between(bound)
		if len(w.fields) == 0 {
			return blockNone
		}
		return w.walk() // it has a bare command; the bound is the block's now
	}
	w.over = true
	w.at = max(w.at, bound)
	w.note(LimitExceeded, finding.Error, w.start, w.body, "",
		"received a block of more than %d bytes; expected at most that: pass large data as uri_ parameters", w.limits.Block)
	return blockOver
}

// finish ends the block at pos. Text between the last field and an end marker
// is the block's; without an end marker it is prose, except a field or a
// marker that was cut by the end of the text.
func (w *walker) finish(how blockEnd, pos int) blockEnd {
	if how == blockMarked || len(w.fields) == 0 {
		w.between(pos)
	}
	if len(w.fields) == 0 {
		return blockNone
	}
	if how == blockMarked {
		return how
	}
	w.note(MissingEndMarker, finding.Warning, w.at, w.at, "",
		"received no end marker; expected %s after the last field", endMarker)
	if how == blockEOF {
		w.cutTail(pos)
		if w.opt.cut() && !w.cut {
			w.cut = true
			w.note(Truncated, finding.Error, w.start, w.body, "",
				"received a block whose text the provider cut off (finish reason %q); expected %s: send the block again", w.opt.Finish, endMarker)
		}
	}
	return how
}

// cutTail takes what is left of a field or marker at the end of the text.
func (w *walker) cutTail(pos int) {
	tail := w.lex.b[w.at:pos]
	line := tail[bytes.LastIndexByte(tail, '\n')+1:]
	trimmed := trimBlank(line)
	if len(trimmed) == 0 || len(bytes.TrimSpace(tail[:len(tail)-len(line)])) > 0 {
		return
	}
	if markerCut(trimmed) {
		w.at = pos
		return
	}
	head := bytes.TrimRight(trimmed, "»>》›「始{")
	if _, _, ok := keyBefore(head); ok && len(line) <= maxKey {
		w.cutAt(pos-len(trimmed), pos)
		w.at = pos
	}
}

func (w *walker) cutAt(from, to int) {
	w.cut = true
	w.note(Truncated, finding.Error, from, to, "",
		"received %q and then the end of the text; expected the whole field and %s: send the block again", cut(string(w.lex.b[from:to])), endMarker)
}

func (w *walker) openField(t *token) {
	w.between(t.keyFrom)
	raw := w.lex.b[t.key[0]:t.key[1]]
	w.slot = openField{tok: w.next, name: normaliseKey(string(raw)), scan: w.next + 1, end: -1, lastOwn: -1, lastAny: -1, own: -1}
	w.open = &w.slot
	w.open.single = isCommandKey(w.open.name) && !t.cls.exact()
	if t.keyFrom == t.line || t.key[0] < t.line {
		w.open.indent = indentWidth(w.lex.b[t.keyFrom:t.key[0]])
	}
	w.at = t.end
}

// resolve ends the open field.
func (w *walker) resolve() {
	f := w.open
	for !f.failed {
		if w.seekCloser() {
			m := w.lex.at(f.tok).match
			c := w.lex.at(m)
			w.close(c.pos, c.end, c.cls, m+1)
			return
		}
	}
	w.region(f)
}

// seekCloser takes one step towards the closer that the lexer paired with the
// open field. It sets failed when no such closer can count.
func (w *walker) seekCloser() (done bool) {
	f := w.open
	o := w.lex.at(f.tok)
	if o.dead || w.wall >= 0 && (o.match < 0 || o.match > w.wall) {
		f.failed = true
		return false
	}
	if o.cls.exact() && o.match >= 0 {
		f.failed = w.lex.at(o.match).pos > w.bound()
		return !f.failed
	}
	if o.cls.exact() { // no token inside counts
		f.scan = max(f.scan, w.lex.first+len(w.lex.tokens))
	}
	t, _, _ := w.look(f.scan)
	o = w.lex.at(f.tok) // the tokens may have moved
	if t == nil {
		w.fail(f.scan)
		return false
	}
	f.scan++
	return !o.dead && !o.cls.exact() && w.consider(f, o, t)
}

// fail gives up on closers from token n on, or from the first end marker inside
// the value. Later fields of the block meet the same wall: they see the same
// markers.
func (w *walker) fail(n int) {
	w.wall = n
	if w.open.end >= 0 {
		w.wall = w.open.end
	}
	w.open.failed = true
}

// consider looks at the next token inside the value. An end marker inside counts
// as text when a start marker inside explains it, or when a closer and another
// end marker follow before the next start marker.
func (w *walker) consider(f *openField, o, t *token) (done bool) {
	n := f.scan - 1
	switch t.kind {
	case tokEnd:
		switch {
		case f.closed:
			return true
		case f.quoted > 0:
			f.quoted--
		case f.end < 0:
			f.end = n
		}
	case tokStart:
		if f.end >= 0 || f.quoted == maxQuotedStarts {
			w.fail(n)
			return false
		}
		f.quoted++
	case tokClose:
		if n == o.match {
			f.closed = true
			return f.end < 0
		}
	case tokOpen:
		f.failed = f.single && !t.comment && !f.closed
	}
	return false
}

// region ends a value that has no closer of its own: at the last closer before
// the next line that opens a key or the next marker, else at that place.
func (w *walker) region(f *openField) {
	for f.scan = f.tok + 1; ; f.scan++ {
		t, end, eof := w.look(f.scan)
		switch {
		case t == nil:
			w.settle(end, f.scan, eof)
			return
		case t.kind == tokOpen && !t.comment:
			w.settle(t.keyFrom, f.scan, false)
			return
		case t.kind == tokStart || t.kind == tokEnd:
			w.settle(t.pos, f.scan, false)
			return
		case t.kind == tokClose:
			w.remember(f, t)
		}
	}
}

func (w *walker) remember(f *openField, t *token) {
	o := w.lex.at(f.tok)
	switch {
	case t.structural && t.cls == o.cls:
		f.lastOwn = f.scan
	case t.structural:
		f.lastAny = f.scan
	case t.cls == o.cls && t.line == o.line:
		f.own = f.scan
	}
}

// settle ends the open field inside a region that ends at pos, before token n.
func (w *walker) settle(pos, n int, eof bool) {
	f := w.open
	for _, m := range [...]int{f.lastOwn, f.lastAny, f.own} {
		if m >= 0 {
			w.closeAt(m)
			return
		}
	}
	o := *w.lex.at(f.tok)
	pos = max(pos, o.end)
	w.close(pos, pos, class{}, n)
	w.note(MissingTerminator, finding.Warning, o.key[0], o.end, f.name,
		"received %s without a closing delimiter; expected %s at its end", cut(f.name), closerText(o.cls))
	if eof {
		w.cutAt(o.key[0], o.end)
	}
}

// closeAt ends the open field at closer m. Of a run that is longer than the
// opener's the last ones close; the others end the value, as in »»»a««««.
func (w *walker) closeAt(m int) {
	c, o := w.lex.at(m), w.lex.at(w.open.tok)
	at, cls := c.pos, c.cls
	if cls.fam == o.cls.fam && cls.fam.run() && cls.n > o.cls.n {
		at = c.end - (c.end-c.pos)/int(cls.n)*int(o.cls.n)
	}
	w.close(at, c.end, cls, m+1)
}

// close makes a field of the open one.
func (w *walker) close(valueEnd, end int, closer class, next int) {
	f := w.open
	o := w.lex.at(f.tok)
	text := cleanValue(w.lex.b[o.end:valueEnd], f.indent, o.cls)
	w.add(field{
		name: f.name, text: text, cls: o.cls, closed: closer,
		source: FieldSource{
			RawKey:    string(w.lex.b[o.key[0]:o.key[1]]),
			KeySpan:   o.key,
			ValueSpan: Range{o.end, valueEnd},
			Family:    o.cls.fam.String(),
		},
	})
	w.at, w.next, w.open = end, next, nil
}

func (w *walker) add(f field) {
	if size := f.source.ValueSpan[1] - f.source.ValueSpan[0]; size > w.limits.Value {
		w.note(LimitExceeded, finding.Error, f.source.KeySpan[0], f.source.KeySpan[1], f.name,
			"received a value of %d bytes; expected at most %d: pass large data as uri_%s", size, w.limits.Value, f.name)
	}
	if len(w.fields) == w.limits.Fields {
		if !w.over {
			w.over = true
			w.note(LimitExceeded, finding.Error, f.source.KeySpan[0], f.source.KeySpan[1], f.name,
				"received more than %d fields; expected at most that: split the block", w.limits.Fields)
		}
		return
	}
	w.fields = append(w.fields, f)
}
