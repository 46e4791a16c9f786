package tam

import (
	"bytes"
	"unicode/utf8"
)

// source is a window on the text: b[0] stands at offset base. All positions in
// this package are offsets in the text.
type source struct {
	b     []byte
	base  int
	final bool // nothing follows
}

func (s *source) end() int             { return s.base + len(s.b) }
func (s *source) text(a, b int) []byte { return s.b[a-s.base : b-s.base] }

type tokenKind uint8

const (
	tokOpen  tokenKind = iota // a key with its opening delimiter
	tokClose                  // a closing delimiter
	tokStart                  // a start marker
	tokEnd                    // an end marker
)

// token is what the lexer found at pos.
type token struct {
	kind       tokenKind
	comment    bool // tokOpen inside a comment line: no field
	structural bool // tokClose: nothing but structure follows on its line
	dead       bool // tokOpen: on its line it was closed by a closer that is not structural
	cls        class
	pos, end   int
	line       int // start of its line
	keyFrom    int // tokOpen: where the line, or what follows a closer, begins
	key        [2]int
	match      int // tokOpen: number of the token that closes it; -1 as long as there is none
}

// pending is an opener that waits for its closer. An opener without a key pairs
// within its line only; it has no token.
type pending struct {
	tok  int // -1: no token
	cls  class
	line int
	soft bool
}

// lexer finds tokens. What it finds at a place depends on the line around that
// place alone; matches depend on what follows the opener alone. So tokens that
// were found ahead of a decision stay true when the decision is revised.
//
// Invariant: every byte before pos has been lexed, once.
type lexer struct {
	src     *source
	pos     int
	line    int    // start of the current line
	keyFrom int    // where the next key of this line may begin
	comment bool   // the rest of the line is a comment
	prevKey [3]int // line, start and end of a key whose colon ended the last line that was not blank; line -1: none
	tokens  []token
	first   int // number of tokens[0]
	stack   []pending
	long    string        // the lexer stands inside a run of this that is too long to be a delimiter
	exact   map[class]int // how many exact openers of each class the stack holds
}

// reset begins anew at a place where no earlier token matters.
func (l *lexer) reset(pos int) {
	l.pos, l.line, l.keyFrom, l.comment = pos, pos, pos, false
	l.prevKey[0], l.long = -1, ""
	l.first += len(l.tokens)
	l.tokens, l.stack = l.tokens[:0], l.stack[:0]
	clear(l.exact)
}

// forget drops the tokens before pos. Openers among them lie at the bottom of
// the stack and leave it: their closers would close nothing.
func (l *lexer) forget(pos int) {
	n := 0
	for n < len(l.tokens) && l.tokens[n].pos < pos {
		n++
	}
	l.first += n
	l.tokens = l.tokens[n:]
	for len(l.stack) > 0 && l.stack[0].tok >= 0 && l.stack[0].tok < l.first {
		l.drop(l.stack[0])
		l.stack = l.stack[1:]
	}
}

// drop keeps the count of an opener that leaves the stack.
func (l *lexer) drop(p pending) {
	if p.cls.exact() {
		l.exact[p.cls]--
	}
}

func (l *lexer) at(n int) *token { return &l.tokens[n-l.first] }

type lexState uint8

const (
	lexToken lexState = iota
	lexMore           // feed more
	lexDone           // the text ends before the token
)

// peek lexes until token n is there.
func (l *lexer) peek(n int) (*token, lexState) {
	for n-l.first >= len(l.tokens) {
		if st := l.step(); st != lexToken {
			return nil, st
		}
	}
	return l.at(n), lexToken
}

// step lexes up to and with the next delimiter or marker. Delimiters that turn
// out to be nothing give no token.
func (l *lexer) step() lexState {
	b, base := l.src.b, l.src.base
	if l.long != "" && !l.skipRun() {
		return lexMore
	}
	i := l.pos - base
	for i < len(b) {
		switch b[i] {
		default:
			i++
		case '\n':
			l.newline(base + i)
			i++
		case '<', '>', '{', 0xC2, 0xE2, 0xE3:
			l.pos = base + i
			if !l.delimiter(i) {
				return lexMore
			}
			return lexToken
		}
	}
	l.pos = base + i
	if l.src.final {
		return lexDone
	}
	return lexMore
}

// skipRun goes to the end of a long run; false when it may go on. The last '<'
// of a run may begin a marker and is left.
func (l *lexer) skipRun() bool {
	b, unit := l.src.b, []byte(l.long)
	i := l.pos - l.src.base
	for bytes.HasPrefix(b[i:], unit) && (l.long != "<" || i+1 < len(b) && b[i+1] == '<') {
		i += len(unit)
	}
	l.pos = l.src.base + i
	if len(b)-i < 2 && isPrefixOf(b[i:], l.long) && !l.src.final {
		return false
	}
	l.long = ""
	return true
}

// delimiter takes what stands at b[i] and moves pos behind it; false when more
// bytes are needed.
func (l *lexer) delimiter(i int) bool {
	b, base := l.src.b, l.src.base
	if b[i] == '<' {
		switch m := scanMarker(b, i, l.src.final); m.kind {
		case markMore:
			return false
		case markStart, markEnd:
			l.marker(m, base+i, base+m.end)
			return true
		}
	}
	d := scanDelim(b, i, l.src.final)
	switch d.kind {
	case delimMore:
		return false
	case delimOpen:
		l.open(i, d)
	case delimClose:
		if !l.closer(i, d) {
			return false
		}
	default:
		d.end = max(d.end, i+1)
		l.long = d.long
	}
	l.pos = base + d.end
	return true
}

func (l *lexer) marker(m mark, pos, end int) {
	l.endLine()
	kind := tokStart
	if m.kind == markEnd {
		kind = tokEnd
	}
	l.tokens = append(l.tokens, token{kind: kind, pos: pos, end: end, line: l.line, match: -1})
	l.keyFrom, l.comment, l.pos = end, false, end
}

// newline ends the line whose '\n' stands at pos.
func (l *lexer) newline(pos int) {
	l.endLine()
	l.keepKey(pos)
	l.line, l.keyFrom, l.comment = pos+1, pos+1, false
}

// keepKey remembers a key that ends the line, and keeps it over blank lines.
func (l *lexer) keepKey(pos int) {
	kept := l.prevKey
	l.prevKey[0] = -1
	if pos-l.keyFrom > maxKey || l.comment {
		return
	}
	head := l.src.text(l.keyFrom, pos)
	if s, e, ok := keyBefore(head); ok {
		l.prevKey = [3]int{l.keyFrom, l.keyFrom + s, l.keyFrom + e}
	} else if l.keyFrom == l.line && len(trimBlank(head)) == 0 {
		l.prevKey = kept
	}
}

// endLine settles the openers of the line: those without a key paired with
// nothing, and those whose line held a closer that is not structural were
// quotations.
func (l *lexer) endLine() {
	k := len(l.stack)
	for k > 0 && l.stack[k-1].line == l.line {
		k--
	}
	if k == len(l.stack) {
		return
	}
	l.filterStack(k, func(p pending) bool {
		if p.tok >= 0 && p.soft {
			l.at(p.tok).dead = true
		}
		return p.tok >= 0 && !p.soft
	})
}

func (l *lexer) filterStack(from int, keep func(pending) bool) {
	kept := l.stack[:from]
	for _, p := range l.stack[from:] {
		if keep(p) {
			kept = append(kept, p)
		} else {
			l.drop(p)
		}
	}
	l.stack = kept
}

func (l *lexer) push(p pending) {
	if p.cls.exact() {
		if l.exact == nil {
			l.exact = map[class]int{}
		}
		l.exact[p.cls]++
	}
	l.stack = append(l.stack, p)
}

func (l *lexer) open(i int, d delim) {
	base := l.src.base
	t := token{kind: tokOpen, cls: d.cls, pos: base + i, end: base + d.end, line: l.line, keyFrom: l.keyFrom, match: -1}
	if base+i-l.keyFrom > maxKey || !l.findKey(&t) {
		l.push(pending{tok: -1, cls: d.cls, line: l.line})
		return
	}
	t.comment = l.comment
	l.push(pending{tok: l.first + len(l.tokens), cls: d.cls, line: l.line})
	l.tokens = append(l.tokens, t)
}

// findKey looks for "key:" between keyFrom and the delimiter, or on the line
// before when this one is blank up to the delimiter.
func (l *lexer) findKey(t *token) bool {
	head := l.src.text(l.keyFrom, t.pos)
	if startsComment(head) {
		l.comment = true
		head = bytes.TrimLeft(head, " \t#/")
	}
	if s, e, ok := keyBefore(head); ok {
		at := t.pos - len(head)
		t.key = [2]int{at + s, at + e}
		return true
	}
	if l.keyFrom == l.line && l.prevKey[0] >= 0 && len(trimBlank(head)) == 0 {
		t.keyFrom = l.prevKey[0]
		t.key = [2]int{l.prevKey[1], l.prevKey[2]}
		return true
	}
	return false
}

func startsComment(b []byte) bool {
	b = trimBlank(b)
	return len(b) > 0 && (b[0] == '#' || len(b) > 1 && b[0] == '/' && b[1] == '/')
}

// closer pairs a closing delimiter; false when more bytes are needed to see
// whether it is structural.
func (l *lexer) closer(i int, d delim) bool {
	base := l.src.base
	look := l.structural(d.end)
	if look.more {
		return false
	}
	t := token{kind: tokClose, structural: look.ok, cls: d.cls, pos: base + i, end: base + d.end, line: l.line, match: -1}
	n := l.first + len(l.tokens)
	l.tokens = append(l.tokens, t)
	if look.ok {
		l.pair(d.cls, n)
		l.keyFrom, l.comment = base+look.next, l.comment || look.comment
	} else if k := len(l.stack); k > 0 && l.stack[k-1].cls == d.cls && l.stack[k-1].line == l.line {
		if l.stack[k-1].tok < 0 {
			l.pop()
		} else {
			l.stack[k-1].soft = !d.cls.exact()
		}
	}
	return true
}

func (l *lexer) pop() pending {
	p := l.stack[len(l.stack)-1]
	l.stack = l.stack[:len(l.stack)-1]
	l.drop(p)
	return p
}

// pair gives closer n to the opener on top of the stack. The closer of an exact
// class reaches through everything that was opened inside.
func (l *lexer) pair(c class, n int) {
	if !c.exact() {
		if k := len(l.stack); k > 0 && l.stack[k-1].cls == c {
			l.matched(l.pop(), n)
		}
		return
	}
	for l.exact[c] > 0 {
		if p := l.pop(); p.cls == c {
			l.matched(p, n)
			return
		}
	}
}

func (l *lexer) matched(p pending, n int) {
	if p.tok >= l.first {
		l.at(p.tok).match = n
	}
}

// lookahead is what follows a closer.
type lookahead struct {
	ok, more bool
	comment  bool
	next     int // index where a key may begin
}

// structural looks behind a closer that ends at index i: blanks, one comma, and
// then an end of line, a marker, a fence, a comment or the next key.
func (l *lexer) structural(i int) lookahead {
	b, final := l.src.b, l.src.final
	j, comma := i, false
	for j-i < maxTrail {
		if j >= len(b) || !utf8.FullRune(b[j:]) && !final {
			return lookahead{ok: final, more: !final, next: j}
		}
		if n := blankLen(b[j:]); n > 0 {
			j += n
		} else if n := commaLen(b[j:]); n > 0 && !comma {
			j, comma = j+n, true
		} else {
			return l.structureAt(j)
		}
	}
	return lookahead{ok: true, next: j}
}

func commaLen(b []byte) int {
	if b[0] == ',' {
		return 1
	}
	if bytes.HasPrefix(b, []byte("，")) {
		return len("，")
	}
	return 0
}

func (l *lexer) structureAt(j int) lookahead {
	b, final := l.src.b, l.src.final
	starved := func(s string) bool { return !final && len(b)-j < len(s) && isPrefixOf(b[j:], s) }
	switch c := b[j]; {
	case c == '\n':
		return lookahead{ok: true, next: j}
	case c == '#', bytes.HasPrefix(b[j:], []byte("//")):
		return lookahead{ok: true, comment: true, next: j}
	case bytes.HasPrefix(b[j:], []byte("```")), bytes.HasPrefix(b[j:], []byte("~~~")):
		return lookahead{ok: true, next: j}
	case starved("//"), starved("```"), starved("~~~"):
		return lookahead{more: true}
	case c == '<':
		m := scanMarker(b, j, final)
		return lookahead{ok: m.kind == markStart || m.kind == markEnd, more: m.kind == markMore, next: j}
	}
	ok, more := keyAhead(b, j, final)
	return lookahead{ok: ok, more: more, next: j}
}
