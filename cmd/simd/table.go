package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/text/width"
)

// table writes rows in columns, as wide as what they hold, in batches: a list of
// any length needs the memory of one batch. The last column is cut at the width
// of the terminal.
type table struct {
	w     io.Writer
	paint paint
	width int // of the terminal; elsewhere a width that people can read
	head  []string
	right []bool // columns of numbers
	rows  [][]string
	wide  []int // of the columns so far
	shown bool  // the headline is out
	err   error
}

const (
	tableBatch = 128
	plainWidth = 160
)

// newTable begins a table; a name that begins with ">" is a column of numbers.
func newTable(w io.Writer, names ...string) *table {
	t := &table{w: w, paint: newPaint(w), width: plainWidth, wide: make([]int, len(names)), right: make([]bool, len(names))}
	if s, ok := w.(*screen); ok {
		if n := s.width(); n > 20 {
			t.width = n
		}
	}
	for i, name := range names {
		t.right[i] = strings.HasPrefix(name, ">")
		t.head = append(t.head, strings.TrimPrefix(name, ">"))
		t.wide[i] = textWidth(t.head[i])
	}
	return t
}

func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = oneLine(cells[i])
		t.wide[i] = max(t.wide[i], textWidth(cells[i]))
	}
	if t.rows = append(t.rows, cells); len(t.rows) == tableBatch {
		t.flush()
	}
}

// flush writes what has come.
func (t *table) flush() error {
	if !t.shown && len(t.rows) > 0 {
		t.shown = true
		t.line(t.head, t.paint.bold)
	}
	for _, r := range t.rows {
		t.line(r, nil)
	}
	t.rows = t.rows[:0]
	return t.err
}

func (t *table) line(cells []string, style func(string) string) {
	var b strings.Builder
	at := 0
	for i, cell := range cells {
		if i == len(cells)-1 && !t.right[i] {
			cell = cut(cell, max(t.width-at, 20))
			b.WriteString(cell)
			break
		}
		pad := strings.Repeat(" ", t.wide[i]-textWidth(cell))
		if t.right[i] {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
		b.WriteString("  ")
		at += t.wide[i] + 2
	}
	line := strings.TrimRight(b.String(), " ")
	if style != nil {
		line = style(line)
	}
	if t.err == nil {
		_, t.err = io.WriteString(t.w, line+"\n")
	}
}

// oneLine shows line ends, and what else does not show by itself.
func oneLine(s string) string {
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

// textWidth is how many cells of a terminal a text takes.
func textWidth(s string) (n int) {
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

// cut shortens a text to so many cells.
func cut(s string, cells int) string {
	if textWidth(s) <= cells {
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

// paint colours what goes to a terminal, and nothing else.
type paint struct{ on bool }

func newPaint(w io.Writer) paint {
	_, ok := w.(*screen)
	return paint{ok && os.Getenv("NO_COLOR") == ""}
}

func (p paint) with(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// colours are the codes that follow, and the one that ends them.
func colours() []string { return []string{"0", "1", "2", "31", "32", "33", "36"} }

func (p paint) bold(s string) string   { return p.with("1", s) }
func (p paint) dim(s string) string    { return p.with("2", s) }
func (p paint) red(s string) string    { return p.with("31", s) }
func (p paint) green(s string) string  { return p.with("32", s) }
func (p paint) yellow(s string) string { return p.with("33", s) }
func (p paint) cyan(s string) string   { return p.with("36", s) }

// spark draws numbers as a line of bars; nothing is a blank, and the least of
// something is seen.
func spark(values []int64) string {
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
