package rawtext

import (
	"slices"
	"strings"
)

// HereDocs follows a shell script as far as it takes to know its here documents: quotes, comments,
// substitutions and arithmetic, in which << begins none. It reads forwards, each byte once. A parser of
// shell (mvdan.cc/sh) cannot do it: it reads again up to each closer, says nothing of a document behind
// something it does not take, and differs from bash in backticks, let and declare.
type HereDocs struct {
	s       string
	from    int      // where the script begins
	at      int      // what is before it was read
	seen    int      // in a document: no line ends before it
	inside  []byte   // what is open around at, one of the constants below each
	docs    []string // words that end the documents which have begun and not ended
	ticked  int      // how many are open around a backtick's text, with it; 0 outside
	outer   int      // how many of docs began before it: their lines stand behind it
	reading bool     // at is in the first of the others, at the beginning of a line
	lost    bool     // too deep: nothing is known any more
	ended   int      // where the line stands that ended the last document
}

// What may be open around a place of a script. A parenthesis of arithmetic counts for each of its two.
const (
	single     = '\''
	ansi       = '$' // $'…'
	double     = '"'
	subst      = '(' // $(…), <(…), >(…)
	group      = ')' // (…)
	backtick   = '`'
	parameter  = '{' // ${…}
	arithmetic = 'a'
	subscript  = '[' // also $[…]
)

const (
	maxNesting  = 64
	maxDocs     = 16
	maxAssigned = 8       // assignments in front of one with a subscript
	maxWord     = 64      // bytes of each of these, and of a word behind which a command begins
	maxLastLine = 4 << 10 // bytes of a line that may end a document; a longer one is a part of it
)

// NewHereDocs reads a script that begins at a place of s.
func NewHereDocs(s string, at int) *HereDocs { return &HereDocs{s: s, from: at, at: at} }

// Upto reads on to end, which no call makes smaller. Open is whether a here document has begun before end and not ended, word the
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

// Open reads on to end, and tells whether a document is open there.
func (h *HereDocs) Open(end int) bool {
	_, open := h.Upto(end)
	return open
}

// Ended is where the line begins that ended the last document.
func (h *HereDocs) Ended() int { return h.ended }

// line reads a line of a document; false if it does not end before end. A backtick ends it, and the
// documents that began within backticks.
func (h *HereDocs) line(end int) bool {
	i := max(h.at, h.seen)
	if h.ticked > 0 {
		for ; i < end && h.s[i] != '\n' && h.s[i] != '`'; i++ {
			if escapesTick(h.s[i:]) {
				i++
			}
		}
	} else if k := strings.IndexByte(h.s[i:end], '\n'); k >= 0 {
		i += k
	} else {
		i = end
	}
	if n := h.cuts(h.s[h.at:i]); n > 0 {
		h.next()
		h.at += n
		h.seen = h.at
		return true
	}
	if h.seen = i; i >= end {
		return false
	}
	if h.s[i] == '`' {
		h.ended = h.at
		h.leave()
	} else if h.ends(h.s[h.at:i]) {
		h.next()
	}
	h.at = i + 1
	h.seen = h.at
	return true
}

// next ends the first document by the line at h.at.
func (h *HereDocs) next() {
	h.ended = h.at
	h.docs = slices.Delete(h.docs, h.outer, h.outer+1)
	h.reading = len(h.docs) > h.outer
}

// cuts tells whether a line ends the document by its beginning, and gives the length of that: within a
// substitution bash takes a line that begins with the word and has a parenthesis behind it, as in "EOF)".
func (h *HereDocs) cuts(line string) int {
	if h.ticked > 0 || len(line) > maxLastLine || !slices.Contains(h.inside, subst) {
		return 0
	}
	rest, is := strings.CutPrefix(strings.TrimLeft(line, " \t"), h.docs[h.outer])
	if !is || !strings.Contains(rest, ")") {
		return 0
	}
	return len(line) - len(rest)
}

// leave ends the text of a backtick, whatever is open in it.
func (h *HereDocs) leave() {
	h.inside, h.docs = h.inside[:h.ticked-1], h.docs[:h.outer]
	h.ticked, h.outer, h.reading = 0, 0, false
}

// escapesTick tells whether rest begins with a backslash that a shell takes away when it reads the text of a
// backtick, also within quotes.
func escapesTick(rest string) bool {
	return len(rest) > 1 && rest[0] == '\\' && (rest[1] == '`' || rest[1] == '\\')
}

func (h *HereDocs) ends(line string) bool {
	return len(line) <= maxLastLine && strings.Trim(line, " \t\r") == h.docs[h.outer]
}

// code reads what stands first in rest and gives its length.
func (h *HereDocs) code(rest string) int {
	top := byte(0)
	if n := len(h.inside); n > 0 {
		top = h.inside[n-1]
	}
	c := rest[0]
	switch {
	case c == '\\' && top != single, h.ticked > 0 && escapesTick(rest):
		return min(2, len(rest))
	case c == '`' && h.ticked > 0:
		h.leave()
		return 1
	case top == single || top == ansi:
		if c == '\'' {
			h.pop()
		}
		return 1
	case c == '$':
		return h.dollar(rest, top)
	case c == '"' && top == double, c == '}' && top == parameter, c == ']' && top == subscript, c == ')' && (top == subst || top == group || top == arithmetic):
		h.pop()
		return 1
	case c == '`':
		h.push(backtick)
		h.ticked, h.outer = len(h.inside), len(h.docs)
		return 1
	case c == '"', c == '[' && top == subscript:
		h.push(c)
		return 1
	case c == '(' && top == arithmetic:
		h.push(arithmetic)
		return 1
	case top == double:
		return 1
	case c == '\'':
		h.push(single)
		return 1
	case top == parameter || top == arithmetic || top == subscript:
		return 1
	}
	return h.command(rest)
}

// command reads on where commands stand.
func (h *HereDocs) command(rest string) int {
	switch {
	case rest[0] == '\n':
		h.reading = len(h.docs) > h.outer
		h.seen = h.at + 1
	case rest[0] == '#' && h.beginsWord():
		stop := "\n`"
		if h.ticked == 0 {
			stop = "\n"
		}
		if i := strings.IndexAny(rest, stop); i >= 0 {
			return i
		}
		return len(rest)
	case strings.HasPrefix(rest, "(("):
		h.push(arithmetic)
		h.push(arithmetic)
		return 2
	case strings.HasPrefix(rest, "<("), strings.HasPrefix(rest, ">("):
		h.push(subst)
		return 2
	case rest[0] == '(':
		h.push(group)
	case rest[0] == '[' && h.assigns():
		h.push(subscript)
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
	case strings.HasPrefix(rest, "$["):
		h.push(subscript)
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
		case strings.HasPrefix(rest[i:], "\\\n"), strings.HasPrefix(rest[i:], "\\\r\n"):
			i += strings.IndexByte(rest[i:], '\n') // the line goes on
			continue
		case c == '\\':
			if i++; i < len(rest) {
				word = append(word, rest[i])
			}
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

// assigns tells whether the name of a variable stands before at, and a command begins with it: what follows
// is a subscript there, and a word elsewhere.
func (h *HereDocs) assigns() bool {
	start := h.at
	for start > h.from && (Letter(h.s[start-1]) || h.s[start-1] >= '0' && h.s[start-1] <= '9') {
		start--
	}
	if !Letter(h.s[start]) {
		return false // it is empty, or begins with a digit
	}
	return h.begins(start)
}

// begins tells whether a command begins at start, or assignments in front of it do.
func (h *HereDocs) begins(start int) bool {
	for range maxAssigned {
		before := h.s[h.from:start]
		p := len(strings.TrimRight(before, " \t"))
		if p == 0 || strings.IndexByte("\r\n;&|(){`", before[p-1]) >= 0 {
			return true
		}
		if p == len(before) {
			return false
		}
		word := before[max(0, p-maxWord):p]
		word = word[strings.LastIndexAny(word, " \t\r\n;&|()`")+1:]
		switch word {
		case "if", "then", "elif", "else", "while", "until", "do", "!", "time":
			return true
		}
		name, _, is := strings.Cut(word, "=")
		if !is || name == "" || !Letter(name[0]) {
			return false
		}
		start = h.from + p - len(word)
	}
	return false
}

func (h *HereDocs) push(c byte) {
	if len(h.inside) >= maxNesting {
		h.lost = true
		return
	}
	h.inside = append(h.inside, c)
}

func (h *HereDocs) pop() { h.inside = h.inside[:len(h.inside)-1] }
