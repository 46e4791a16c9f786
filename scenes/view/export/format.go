package export

import (
	"bufio"
	"encoding/csv"
	stdjson "encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tavernsim/protocol"
)

// Format of an export.
type Format string

const (
	JSONL   Format = "jsonl"
	CSV     Format = "csv"
	Parquet Format = "parquet"
)

// ParseFormat reads a format's name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case JSONL, CSV, Parquet:
		return f, nil
	}
	return "", protocol.Errorf(protocol.KindInvalid, "format %q: want jsonl, csv or parquet", name)
}

// rows takes rows of one table.
type rows interface {
	write(row []Cell) error
	close() error
}

func (f Format) rows(t Table, w io.Writer) (rows, error) {
	switch f {
	case CSV:
		return newCSV(t, w)
	case Parquet:
		return newParquet(t, w), nil
	}
	return newLines(t, w), nil
}

// text is a cell as text; "" when it is empty.
func text(c Cell) string {
	switch x := c.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(x)
	case string:
		return x
	case json:
		return string(x)
	case protocol.Time:
		return moment(x)
	}
	return ""
}

func moment(t protocol.Time) string { return t.Std().UTC().Format(time.RFC3339Nano) }

// csvRows writes CSV of RFC 4180: a head, CR LF, quotes where needed.
type csvRows struct {
	w      *csv.Writer
	record []string
}

func newCSV(t Table, w io.Writer) (*csvRows, error) {
	c := &csvRows{w: csv.NewWriter(w), record: make([]string, len(t.Columns))}
	c.w.UseCRLF = true
	for i, col := range t.Columns {
		c.record[i] = col.Name
	}
	return c, c.w.Write(c.record)
}

func (c *csvRows) write(row []Cell) error {
	for i, cell := range row {
		c.record[i] = text(cell)
	}
	return c.w.Write(c.record)
}

func (c *csvRows) close() error {
	c.w.Flush()
	return c.w.Error()
}

// lines writes one JSON object a line, its members in byte order of their names.
type lines struct {
	w     *bufio.Writer
	order []int    // places of columns
	heads []string // `{"a":` or `,"b":`, in that order
	buf   []byte
}

func newLines(t Table, w io.Writer) *lines {
	l := &lines{w: bufio.NewWriterSize(w, 1<<16)}
	for i := range t.Columns {
		l.order = append(l.order, i)
	}
	slices.SortFunc(l.order, func(a, b int) int { return strings.Compare(t.Columns[a].Name, t.Columns[b].Name) })
	for i, at := range l.order {
		lead := ","
		if i == 0 {
			lead = "{"
		}
		l.heads = append(l.heads, lead+strconv.Quote(t.Columns[at].Name)+":")
	}
	return l
}

func (l *lines) write(row []Cell) error {
	l.buf = l.buf[:0]
	for i, at := range l.order {
		l.buf = appendCell(append(l.buf, l.heads[i]...), row[at])
	}
	_, err := l.w.Write(append(l.buf, '}', '\n'))
	return err
}

func appendCell(b []byte, c Cell) []byte {
	switch x := c.(type) {
	case nil:
		return append(b, "null"...)
	case json:
		return append(b, x...)
	case string:
		return appendString(b, x)
	case protocol.Time:
		return appendString(b, moment(x))
	}
	return append(b, text(c)...)
}

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == '"' || s[i] == '\\' {
			quoted, err := stdjson.Marshal(s)
			if err != nil { // a string always has a JSON form
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func (l *lines) close() error { return l.w.Flush() }
