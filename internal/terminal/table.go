package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Table writes rows in columns, as wide as what they hold, in batches: a list of
// any length needs the memory of one batch. The last column is cut at the width
// of the terminal. Where the others are too wide for a terminal, columns are closer
// together, and then a row goes on in further lines, which are indented.
type Table struct {
	w     io.Writer
	paint Paint
	width int  // of the terminal; elsewhere a width that people can read
	fits  bool // rows are to be no wider: w is a terminal, or goes to one
	head  []string
	right []bool // columns of numbers
	rows  [][]string
	wide  []int // of the columns so far
	shown bool  // the headline is out
	err   error
}

const (
	batch = 128
	// PlainWidth is that of tables in files and pipes, in cells.
	PlainWidth = 160
	// leastText is how many cells of the last column are shown, if it has as many.
	leastText = 20
	// narrowest is the width of the narrowest terminal to which text is fitted.
	narrowest = 40
)

// NewTable begins a table; a name that begins with ">" is a column of numbers.
func NewTable(w io.Writer, names ...string) *Table {
	t := &Table{w: w, paint: NewPaint(w), width: PlainWidth, wide: make([]int, len(names)), right: make([]bool, len(names))}
	if s, ok := w.(interface{ Width() int }); ok {
		if n := s.Width(); n > leastText {
			t.width, t.fits = n, n >= narrowest
		}
	}
	for i, name := range names {
		t.right[i] = strings.HasPrefix(name, ">")
		t.head = append(t.head, strings.TrimPrefix(name, ">"))
		t.wide[i] = Width(t.head[i])
	}
	return t
}

// Row adds a row.
func (t *Table) Row(cells ...string) {
	for i := range cells {
		cells[i] = OneLine(cells[i])
		t.wide[i] = max(t.wide[i], Width(cells[i]))
	}
	if t.rows = append(t.rows, cells); len(t.rows) == batch {
		t.Flush()
	}
}

// Err is the first error of writing.
func (t *Table) Err() error { return t.err }

// Flush writes what has come.
func (t *Table) Flush() error {
	if !t.shown && len(t.rows) > 0 {
		t.shown = true
		t.line(t.head, t.paint.Bold)
	}
	for _, r := range t.rows {
		t.line(r, nil)
	}
	t.rows = t.rows[:0]
	return t.err
}

// lines says how rows are laid out: how many cells are between two columns, and which columns begin a line.
func (t *Table) lines() (gap int, begins []bool) {
	last := len(t.wide) - 1
	for gap = 2; gap > 0; gap-- {
		begins = make([]bool, len(t.wide))
		at, broken := 0, false
		for i, n := range t.wide {
			if i == last && !t.right[i] {
				n = min(n, leastText)
			}
			if i > 0 && t.fits && at+n > t.width {
				begins[i], broken, at = true, true, len(goesOn)
			}
			at += n + gap
		}
		if !broken {
			break
		}
	}
	return max(gap, 1), begins
}

// goesOn begins the further lines of a row.
const goesOn = "    "

func (t *Table) line(cells []string, style func(string) string) {
	var b strings.Builder
	gap, begins := t.lines()
	at := 0
	end := func() {
		line := strings.TrimRight(b.String(), " ")
		if style != nil {
			line = style(line)
		}
		if t.err == nil {
			_, t.err = io.WriteString(t.w, line+"\n")
		}
		b.Reset()
	}
	for i, cell := range cells {
		if begins[i] {
			end()
			b.WriteString(goesOn)
			at = len(goesOn)
		}
		if i == len(cells)-1 && !t.right[i] {
			b.WriteString(Cut(cell, max(t.width-at, leastText)))
			break
		}
		pad := strings.Repeat(" ", t.wide[i]-Width(cell))
		if t.right[i] {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
		b.WriteString(strings.Repeat(" ", gap))
		at += t.wide[i] + gap
	}
	end()
}

// OneLine shows line ends, and what else does not show by itself.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n':
			return '↵'
		case '\t', '\r':
			return ' '
		}
		return visible(r)
	}, s)
}

// Width is how many cells of a terminal a text takes.
func Width(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x1100 {
		return 1
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Cut shortens a text to so many cells.
func Cut(s string, cells int) string {
	if Width(s) <= cells {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > cells-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// Fill breaks a line between words, so that no part takes more cells than width; all but the first begin with indent, or with
// less of it before a word that is too long for that. A word that is too long for a part has one of its own. Colours of paint take no cell.
func Fill(line, indent string, width int) string {
	var b strings.Builder
	for {
		n := within(line, width)
		if n == len(line) {
			break
		}
		begins := len(line) - len(strings.TrimLeft(line, " "))
		cut := strings.LastIndexByte(line[:n+1], ' ')
		if cut < begins {
			if cut = strings.IndexByte(line[begins:], ' ') + begins; cut < begins {
				break
			}
		}
		b.WriteString(strings.TrimRight(line[:cut], " ") + "\n")
		line = line[cut+1:]
		word, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		fits := len(indent)
		for fits > 0 && within(indent[:fits]+word, width) < fits+len(word) {
			fits--
		}
		line = indent[:fits] + line
	}
	return b.String() + line
}

// FillOn is a text whose lines Fill breaks if w is a terminal; elsewhere it is the text itself.
func FillOn(w io.Writer, text, indent string) string {
	screen, ok := w.(*Screen)
	if !ok || screen.Width() < narrowest {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Fill(lines[i], indent, screen.Width())
	}
	return strings.Join(lines, "\n")
}

// within is the length of the longest beginning of a line that takes so many cells.
func within(line string, cells int) int {
	for i := 0; i < len(line); {
		if line[i] == '\x1b' {
			if code, whole := colour(line[i:]); whole {
				i += len(code)
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		if cells -= runeWidth(r); cells < 0 {
			return i
		}
		i += n
	}
	return len(line)
}

// Paint colours what goes to a terminal, and nothing else.
type Paint struct{ on bool }

// NewPaint colours what goes to w, unless the variable NO_COLOR is set.
func NewPaint(w io.Writer) Paint {
	_, ok := w.(*Screen)
	return Paint{ok && os.Getenv("NO_COLOR") == ""}
}

func (p Paint) with(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// colours are the codes that follow, and the one that ends them.
func colours() []string { return []string{"0", "1", "2", "31", "32", "33", "36"} }

// Bold and the others colour a text.
func (p Paint) Bold(s string) string   { return p.with("1", s) }
func (p Paint) Dim(s string) string    { return p.with("2", s) }
func (p Paint) Red(s string) string    { return p.with("31", s) }
func (p Paint) Green(s string) string  { return p.with("32", s) }
func (p Paint) Yellow(s string) string { return p.with("33", s) }
func (p Paint) Cyan(s string) string   { return p.with("36", s) }

// Spark draws numbers as a line of bars; nothing is a blank, and the least of
// something is seen.
func Spark(values []int64) string {
	most := int64(1)
	if len(values) > 0 {
		most = max(most, slices.Max(values))
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		if v <= 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(bars[min(int64(len(bars))-1, v*int64(len(bars))/(most+1))])
	}
	return b.String()
}
