package rawtext

// LaterCommands are the elements that the text of a here document may be: their openers show that the line
// that ends the document may belong to one of them. It reads forwards, each byte once.
type LaterCommands struct {
	s    string
	last int       // where the last opener stands
	docs *HereDocs // those of the first opener whose own documents have not all ended; nil for none
	read int       // what is before it was read
}

// NewLaterCommands has seen no opener.
func NewLaterCommands(s string) *LaterCommands { return &LaterCommands{s: s, last: -1} }

// Opener notes an opener at pos whose script begins at end. In a document of the command before, it is text.
// It gives the bytes it read.
func (l *LaterCommands) Opener(pos, end int) int {
	l.last = pos
	open, n := l.open(pos)
	if !open {
		l.docs, l.read = NewHereDocs(l.s, end), end
	}
	return n
}

// Closer ends the command before it, if no document of it is open. It gives the bytes it read.
func (l *LaterCommands) Closer(pos int) int {
	open, n := l.open(pos)
	if !open {
		l.docs = nil
	}
	return n
}

// Doubt tells whether the line that ended a document, which begins at ended, may not be meant for it: a
// command begins behind it, or has a document of its own there.
func (l *LaterCommands) Doubt(ended int) bool {
	open, _ := l.open(ended)
	return open || l.last >= ended
}

func (l *LaterCommands) open(at int) (open bool, n int) {
	if l.docs != nil {
		at = max(at, l.read) // a line that ended a document may stand before what was read: what is open now counts
		_, open = l.docs.Upto(at)
		n = at - l.read
		l.read = at
	}
	return open, n
}
