package setup

import "strings"

// names are texts by number, many in one piece of memory, so that each takes two bytes beside its letters
// and the collector has few of them. A text has at most project.MaxIDBytes.
type names struct {
	pieces []string
	ends   []uint16 // of each text in its piece
	last   strings.Builder
}

// inPiece is how many texts lie in a piece; their lengths add up to less than 64 KiB.
const inPiece = 256

func (n *names) add(text string) {
	n.last.WriteString(text)
	n.ends = append(n.ends, uint16(n.last.Len()))
	if len(n.ends)%inPiece == 0 {
		n.flush()
	}
}

// flush ends the last piece. Before it, the texts of that piece cannot be read.
func (n *names) flush() {
	if n.last.Len() > 0 {
		n.pieces = append(n.pieces, strings.Clone(n.last.String()))
		n.last.Reset()
	}
}

func (n *names) at(i uint32) string {
	from := uint16(0)
	if i%inPiece > 0 {
		from = n.ends[i-1]
	}
	return n.pieces[i/inPiece][from:n.ends[i]]
}
