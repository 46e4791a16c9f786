package rawtext

import "strings"

// HereDocs follows a shell script as far as it takes to know its here documents: quotes, comments,
// substitutions and arithmetic, in which << begins none. It reads forwards, each byte once.
type HereDocs struct {
	s       string
	at      int      // what is before it was read
	seen    int      // in a document: no line ends before it
	inside  []byte   // what is open around at, one of the constants below each
	docs    []string // words that end the documents which have begun and not ended
	reading bool     // at is in the first of them, at the beginning of a line
	lost    bool     // too deep: nothing is known any more
	ended   int      // where the line stands that ended the last document
}

// What may be open around a place of a script. A parenthesis of arithmetic counts for each of its two.
const (
	single     = '\''
	ansi       = '$' // $'…'
	double     = '"'
	subst      = '(' // also a subshell
	backtick   = '`'
	parameter  = '{' // ${…}
	arithmetic = 'a'
)

const (
	maxNesting  = 64
	maxDocs     = 16
	maxLastLine = 4 << 10 // bytes of a line that may end a document; a longer one is a part of it
)

// NewHereDocs reads a script that begins at a place of s.
func NewHereDocs(s string, at int) *HereDocs { return &HereDocs{s: s, at: at} }

// Upto reads on to end. Open is whether a here document has begun before end and not ended, word the
// one that ends it. The indent of that word does not count: scripts are taken out of theirs later.
func (h *HereDocs) Upto(end int) (word string, open bool) {
	for h.at < end && !h.lost {
		if h.reading {
			if !h.line(end) {
				break
			}
			continue
		}
		h.at += h.code(h.s[h.at:end])
	}
	if h.lost || len(h.docs) == 0 {
		return "", false
	}
	if h.reading && len(h.docs) == 1 && h.ends(h.s[h.at:end]) {
		h.ended = h.at // by a line without line break
		return "", false
	}
	return h.docs[0], true
}

// Ended is where the line begins that ended the last document.
func (h *HereDocs) Ended() int { return h.ended }

// line reads a line of a document; false if it does not end before end.
func (h *HereDocs) line(end int) bool {
	from := max(h.at, h.seen)
	i := strings.IndexByte(h.s[from:end], '\n')
	if h.seen = end; i < 0 {
		return false
	}
	line := h.s[h.at : from+i]
	if h.ends(line) {
		h.ended = h.at
		h.docs = h.docs[1:]
		h.reading = len(h.docs) > 0
	}
	h.at = from + i + 1
	h.seen = h.at
	return true
}

func (h *HereDocs) ends(line string) bool {
	return len(line) <= maxLastLine && strings.Trim(line, " \t\r") == h.docs[0]
}

// code reads what stands first in rest and gives its length.
func (h *HereDocs) code(rest string) int {
	top := byte(0)
	if n := len(h.inside); n > 0 {
		top = h.inside[n-1]
	}
	c := rest[0]
	switch {
	case c == '\\' && top != single:
		return min(2, len(rest))
	case top == single || top == ansi:
		if c == '\'' {
			h.pop()
		}
		return 1
	case c == '$':
		return h.dollar(rest, top)
	case c == '`' && top == backtick, c == '"' && top == double, c == '}' && top == parameter, c == ')' && (top == subst || top == arithmetic):
		h.pop()
		return 1
	case c == '`' || c == '"', c == '(' && top == arithmetic:
		h.push(map[byte]byte{'`': backtick, '"': double, '(': arithmetic}[c])
		return 1
	case top == double:
		return 1
	case c == '\'':
		h.push(single)
		return 1
	case top == parameter || top == arithmetic:
		return 1
	}
	return h.command(rest)
}

// command reads on where commands stand.
func (h *HereDocs) command(rest string) int {
	switch {
	case rest[0] == '\n':
		h.reading = len(h.docs) > 0
		h.seen = h.at + 1
	case rest[0] == '#' && h.beginsWord():
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			return i
		}
		return len(rest)
	case strings.HasPrefix(rest, "(("):
		h.push(arithmetic)
		h.push(arithmetic)
		return 2
	case rest[0] == '(':
		h.push(subst)
	case strings.HasPrefix(rest, "<<<"):
		return 3
	case strings.HasPrefix(rest, "<<"):
		return h.begin(rest)
	}
	return 1
}

// dollar reads what a dollar sign begins.
func (h *HereDocs) dollar(rest string, top byte) int {
	switch {
	case strings.HasPrefix(rest, "$(("):
		h.push(arithmetic)
		h.push(arithmetic)
		return 3
	case strings.HasPrefix(rest, "$("):
		h.push(subst)
		return 2
	case strings.HasPrefix(rest, "${"):
		h.push(parameter)
		return 2
	case strings.HasPrefix(rest, "$'") && top != double:
		h.push(ansi)
		return 2
	}
	return 1
}

// begin reads the beginning of a document. Its word may be quoted, as a whole or in parts.
func (h *HereDocs) begin(rest string) int {
	i := len("<<")
	if i < len(rest) && rest[i] == '-' {
		i++
	}
	for i < len(rest) && (rest[i] == ' ' || rest[i] == '\t') {
		i++
	}
	word, quote := []byte(nil), byte(0)
	for ; i < len(rest); i++ {
		c := rest[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote != 0 && c != '\n':
		case c == '\'' || c == '"':
			quote = c
			continue
		case c == '\\':
			continue
		}
		if quote == 0 && strings.IndexByte(" \t\r\n;&|<>()`", c) >= 0 || c == '\n' {
			break
		}
		word = append(word, c)
	}
	if len(word) == 0 || len(word) > maxLastLine {
		return i
	}
	if len(h.docs) == maxDocs {
		h.lost = true
	}
	h.docs = append(h.docs, string(word))
	return i
}

// beginsWord tells whether a word may begin here.
func (h *HereDocs) beginsWord() bool {
	return h.at == 0 || strings.IndexByte(" \t\r\n;&|()>", h.s[h.at-1]) >= 0
}

func (h *HereDocs) push(c byte) {
	if len(h.inside) >= maxNesting {
		h.lost = true
		return
	}
	h.inside = append(h.inside, c)
}

func (h *HereDocs) pop() { h.inside = h.inside[:len(h.inside)-1] }
