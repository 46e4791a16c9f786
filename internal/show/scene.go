package show

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"tavernsim/internal/terminal"
)

// Scene writes views of one scene of a run.
type Scene struct {
	Out, Err io.Writer
	JSON     bool
	Dir      string    // of the run, for the commands that a page names
	Begun    time.Time // of the scene; times are shown as offsets from it
	Limit    int       // rows of a list; 0 = all, below 0 = defaultRows, with JSON all
	Live     *Live     // nil = a list is shown once
}

// Live is a list that goes on with each look at a run that grows: it has one headline,
// and one width of columns.
type Live struct {
	Ctx   context.Context // when it ends, so does the list
	Shown int             // rows so far
	table *terminal.Table
}

// page writes a view as JSON, or as text.
func (s *Scene) page(v any, fill func(*page)) error {
	if s.JSON {
		return JSON(s.Out, v)
	}
	return write(s.Out, s, fill)
}

// List says how the lines of a view are shown.
type List[T any] struct {
	None string   // said when there is no line
	Head []string // names of the columns, see terminal.NewTable
	Rows func(*terminal.Table, T)
}

// defaultRows is how many rows a list shows to people.
const defaultRows = 50

// limits is how many rows are asked for: one more than are shown, to know whether
// there are more.
func (s *Scene) limits() (ask, show int) {
	switch {
	case s.Live != nil:
		return max(s.Limit, 0), 0
	case s.Limit > 0 && s.JSON:
		return s.Limit, s.Limit
	case s.Limit > 0:
		return s.Limit + 1, s.Limit
	case s.Limit == 0 || s.JSON:
		return 0, 0
	}
	return defaultRows + 1, defaultRows
}

func (s *Scene) table(head []string) *terminal.Table {
	if s.Live == nil {
		return terminal.NewTable(s.Out, head...)
	}
	if s.Live.table == nil {
		s.Live.table = terminal.NewTable(s.Out, head...)
	}
	return s.Live.table
}

// Lines shows the lines that read hands over, at most limit (0 = all), as a table or
// as lines of JSON.
func Lines[T any](s *Scene, l List[T], read func(limit int, yield func(T) error) error) error {
	ask, show := s.limits()
	t, enc, n := s.table(l.Head), json.NewEncoder(terminal.Escaped(s.Out)), 0
	enc.SetEscapeHTML(false)
	err := read(ask, func(line T) error {
		n++
		switch {
		case s.Live != nil && s.Live.Ctx.Err() != nil:
			return s.Live.Ctx.Err()
		case s.JSON:
			return enc.Encode(line)
		case show > 0 && n > show:
			return nil
		}
		l.Rows(t, line)
		return t.Err()
	})
	if s.Live != nil {
		s.Live.Shown += n
	}
	if err == nil {
		err = t.Flush()
	}
	switch {
	case err != nil || s.Live != nil:
		return err
	case n == 0:
		fmt.Fprintln(s.Err, l.None)
	case !s.JSON && show > 0 && n > show:
		fmt.Fprintf(s.Err, "the first %d; there are more: --limit N, --limit 0 for all\n", show)
	}
	return nil
}

// since is a time of the run as an offset from its start.
func (s *Scene) since(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return "+" + offset(t.Sub(s.Begun))
}

// offset is a span as --at takes it, without zeros at its end.
func offset(d time.Duration) string {
	if d > time.Second {
		d = d.Round(time.Millisecond)
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
