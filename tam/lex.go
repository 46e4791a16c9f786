package tam

import "bytes"

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
	b       []byte
	pos     int
	line    int    // start of the current line
	keyFrom int    // where the next key of this line may begin
	comment bool   // the rest of the line is a comment
	prevKey [3]int // line, start and end of a key whose colon ended the last line that was not blank; line -1: none
	tokens  []token
	first   int // number of tokens[0]
	stack   []pending
	exact   map[class]int // how many exact openers of each class the stack holds
}

// reset begins anew at a place where no earlier token matters.
func (l *lexer) reset(pos int) {
	l.pos, l.line, l.keyFrom, l.comment = pos, pos, pos, false
	l.prevKey[0] = -1
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

// peek lexes until token n is there; nil: the text ends before it.
func (l *lexer) peek(n int) *token {
	for n-l.first >= len(l.tokens) {
		if !l.step() {
			return nil
		}
	}
	return l.at(n)
}

// step lexes up to and with the next delimiter or marker; false at the end of
// the text. Delimiters that turn out to be nothing give no token.
func (l *lexer) step() bool {
	for ; l.pos < len(l.b); l.pos++ {
		switch l.b[l.pos] {
		case '\n':
			l.newline(l.pos)
		case '<', '>', '{', 0xC2, 0xE2, 0xE3:
			l.delimiter(l.pos)
			return true
		}
	}
	return false
}

// delimiter takes what stands at i and moves pos behind it.
func (l *lexer) delimiter(i int) {
	if l.b[i] == '<' {
		if m := scanMarker(l.b, i); m.kind != markNone {
			l.marker(m, i)
			return
		}
	}
	d := scanDelim(l.b, i)
	switch d.kind {
	case delimOpen:
		l.open(i, d)
	case delimClose:
		l.closer(i, d)
	}
	l.pos = max(d.end, i+1)
}

func (l *lexer) marker(m mark, pos int) {
	l.endLine()
	kind := tokStart
	if m.kind == markEnd {
		kind = tokEnd
	}
	l.tokens = append(l.tokens, token{kind: kind, pos: pos, end: m.end, line: l.line, match: -1})
	l.keyFrom, l.comment, l.pos = m.end, false, m.end
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
	head := l.b[l.keyFrom:pos]
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
	t := token{kind: tokOpen, cls: d.cls, pos: i, end: d.end, line: l.line, keyFrom: l.keyFrom, match: -1}
	if i-l.keyFrom > maxKey || !l.findKey(&t) {
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
	head := l.b[l.keyFrom:t.pos]
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

// closer pairs a closing delimiter.
func (l *lexer) closer(i int, d delim) {
	look := l.structural(d.end)
	n := l.first + len(l.tokens)
	l.tokens = append(l.tokens, token{kind: tokClose, structural: look.ok, cls: d.cls, pos: i, end: d.end, line: l.line, match: -1})
	if look.ok {
		l.pair(d.cls, n)
		l.keyFrom, l.comment = look.next, l.comment || look.comment
	} else if k := len(l.stack); k > 0 && l.stack[k-1].cls == d.cls && l.stack[k-1].line == l.line {
		if l.stack[k-1].tok < 0 {
			l.pop()
		} else {
			l.stack[k-1].soft = !d.cls.exact()
		}
	}
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
	ok      bool
	comment bool
	next    int // where a key may begin
}

// structural looks behind a closer that ends at i: blanks, one comma, and then
// an end of line, a marker, a fence, a comment or the next key.
func (l *lexer) structural(i int) lookahead {
	j, comma := i, false
	for j-i < maxTrail && j < len(l.b) {
		if n := blankLen(l.b[j:]); n > 0 {
			j += n
		} else if n := commaLen(l.b[j:]); n > 0 && !comma {
			j, comma = j+n, true
		} else {
			return structureAt(l.b, j)
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

func structureAt(b []byte, j int) lookahead {
	rest := b[j:]
	look := lookahead{next: j, comment: rest[0] == '#' || bytes.HasPrefix(rest, []byte("//"))}
	switch {
	case look.comment, rest[0] == '\n', bytes.HasPrefix(rest, []byte("```")), bytes.HasPrefix(rest, []byte("~~~")):
		look.ok = true
	case rest[0] == '<':
		look.ok = scanMarker(b, j).kind != markNone
	default:
		look.ok = keyAhead(b, j)
	}
	return look
}
