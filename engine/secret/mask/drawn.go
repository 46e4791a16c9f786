package mask

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// onScreen is the form of a value that a terminal shows, while the text spells it with other letters between: bold
// letters of manual pages, which are written twice, or letters in places that the text names.
const onScreen = "what a terminal shows"

// drawn looks for secrets in what a terminal shows of a text that moves its cursor. What is not UTF-8 is no such text.
func (s *search) drawn(text string) (name, form string) {
	if !moves(text) || !utf8.ValidString(text) {
		return "", ""
	}
	if hits := s.scan(drawing(text)); len(hits) > 0 {
		return hits[0].pattern.name, onScreen
	}
	return "", ""
}

// moves reports whether a text moves the cursor other than to the next line, or may.
func moves(text string) bool {
	for at := 0; ; at++ {
		i := strings.IndexAny(text[at:], "\b\r\x1b")
		if i < 0 {
			return false
		}
		at += i
		switch rest := text[at:]; {
		case rest[0] == '\r' && (len(rest) == 1 || rest[1] == '\n'):
		case rest[0] != 0x1b:
			return true
		case skipEscape(text, at) == at || text[skipEscape(text, at)] != 'm': // colours move nothing
			return true
		}
	}
}

// Bounds of a screen, which is as large as the text makes it, but for maxWork: cells that are made or moved, as a multiple of
// the bytes of the text. What follows is not drawn.
const (
	maxColumns = 1 << 12
	maxRows    = 1 << 16
	maxWork    = 16
	leastWork  = 1 << 16
)

// screen is what a terminal shows. A cell that nothing was written to is 0.
type screen struct {
	rows     [][]rune
	row, col int
	kept     [2]int          // a place of the cursor
	gone     strings.Builder // what was shown and is erased, or may be written over
	work     int             // that is left
}

func drawing(text string) string {
	s := screen{work: leastWork + maxWork*len(text)}
	for i := 0; i < len(text) && s.work > 0; {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == 0x1b:
			n = s.escape(text[i:])
		case r == '\b':
			s.to(s.row, s.col-1)
		case r == '\r':
			s.leave(s.row)
			s.col = 0
		case r == '\n':
			s.to(s.row+1, 0)
		case r == '\t':
			s.to(s.row, (s.col/8+1)*8)
		case r >= ' ' && r != 0x7f:
			s.put(r)
		}
		i += n
	}
	for i := range s.rows {
		s.leave(i)
	}
	return s.gone.String()
}

// to moves the cursor, at most to a border.
func (s *screen) to(row, col int) {
	s.row, s.col = min(max(row, 0), maxRows-1), min(max(col, 0), maxColumns-1)
}

// line is the row of the cursor, with so many cells at least.
func (s *screen) line(cells int) *[]rune {
	if more := s.row + 1 - len(s.rows); more > 0 {
		s.work -= more
		s.rows = append(s.rows, make([][]rune, more)...)
	}
	line := &s.rows[s.row]
	if more := cells - len(*line); more > 0 {
		s.work -= more
		*line = append(*line, make([]rune, more)...)
	}
	return line
}

func (s *screen) put(r rune) {
	(*s.line(s.col + 1))[s.col] = r
	if s.work--; s.col+1 == maxColumns {
		s.to(s.row+1, 0)
		return
	}
	s.col++
}

// leave keeps what a row shows, for the search.
func (s *screen) leave(row int) {
	if row >= len(s.rows) {
		return
	}
	s.work -= len(s.rows[row])
	for _, r := range s.rows[row] {
		if r == 0 {
			r = ' '
		}
		s.gone.WriteRune(r)
	}
	s.gone.WriteByte('\n')
}

// escape obeys an escape sequence at the beginning of a text and gives its length.
func (s *screen) escape(text string) (n int) {
	if len(text) == 1 {
		return 1
	}
	switch text[1] {
	case '[':
		if end := skipEscape(text, 0); end > 0 {
			s.control(text[2:end], text[end])
			return end + 1
		}
	case ']', 'P', 'X', '^', '_': // a title or the like, which BEL or ESC \ ends
		if end := strings.IndexAny(text[2:], "\a\x1b"); end >= 0 {
			return 2 + end
		}
	case '7':
		s.kept = [2]int{s.row, s.col}
	case '8':
		s.to(s.kept[0], s.kept[1])
	case 'D':
		s.to(s.row+1, s.col)
	case 'E':
		s.to(s.row+1, 0)
	case 'M':
		s.to(s.row-1, s.col)
	}
	return 2
}

// control obeys a control sequence: it moves the cursor, or erases, inserts or deletes.
func (s *screen) control(parameters string, final byte) {
	first, second, _ := strings.Cut(parameters, ";")
	mode, _ := strconv.Atoi(first)
	column, _ := strconv.Atoi(second)
	n := min(max(mode, 1), maxRows)
	switch final {
	case 'A':
		s.to(s.row-n, s.col)
	case 'B', 'e':
		s.to(s.row+n, s.col)
	case 'C', 'a':
		s.to(s.row, s.col+n)
	case 'D':
		s.to(s.row, s.col-n)
	case 'E':
		s.to(s.row+n, 0)
	case 'F':
		s.to(s.row-n, 0)
	case 'G', '`':
		s.to(s.row, n-1)
	case 'd':
		s.to(n-1, s.col)
	case 'H', 'f':
		s.to(n-1, min(column, maxColumns)-1)
	case 's':
		s.kept = [2]int{s.row, s.col}
	case 'u':
		s.to(s.kept[0], s.kept[1])
	default:
		s.change(n, mode, final)
	}
}

// change erases, inserts or deletes.
func (s *screen) change(n, mode int, final byte) {
	line := s.line(s.col)
	end := min(s.col+n, len(*line))
	s.work -= len(*line)
	switch final {
	case 'J':
		for i := range s.rows {
			s.leave(i)
		}
		switch mode {
		case 0:
			*line, s.rows = (*line)[:s.col], s.rows[:s.row+1]
		case 1:
			clear(s.rows[:s.row])
			clear((*line)[:min(s.col+1, len(*line))])
		default:
			s.rows = nil
		}
	case 'K':
		s.leave(s.row)
		switch mode {
		case 0:
			*line = (*line)[:s.col]
		case 1:
			clear((*line)[:min(s.col+1, len(*line))])
		default:
			*line = nil
		}
	case 'P':
		*line = slices.Delete(*line, s.col, end)
	case 'X':
		clear((*line)[s.col:end])
	case '@':
		n = min(n, maxColumns)
		*line = slices.Insert(*line, s.col, make([]rune, n)...)
		*line = (*line)[:min(len(*line), maxColumns)]
	case 'L':
		n = min(n, maxRows-len(s.rows))
		s.work -= len(s.rows) + n
		s.rows = slices.Insert(s.rows, s.row, make([][]rune, max(n, 0))...)
	case 'M':
		s.work -= len(s.rows)
		s.rows = slices.Delete(s.rows, s.row, min(s.row+n, len(s.rows)))
	}
}
