package endpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"tavernsim/llm"
)

// Event is one server-sent event.
type Event struct {
	Type string
	Data []byte // until the next event
	Cut  bool   // the stream ended before the event did
}

// Events reads the answer as a stream of server-sent events, until it ends or the loop
// does. The error is the last element. A line of JSON is an event by itself, and an event may
// follow another one without an empty line, if both are JSON: no field of an event begins with
// {, and two objects are never one.
func (r *Reply) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		from := lineReader{Reader: bufio.NewReaderSize(&heard{r}, 8<<10)}
		e, line, data, total := Event{}, []byte(nil), false, 0
		for {
			var err error
			line, err = from.next(line[:0])
			if total == 0 {
				line = unmarked(line)
			}
			total += len(line)
			switch {
			case errors.Is(err, io.EOF) && len(line) == 0:
				if e.Cut = true; len(e.Data) > 0 {
					yield(e, nil)
				}
				return
			case errors.Is(err, errTooLong):
				yield(Event{}, r.endpoint.Failed(llm.OutcomeBadOutput, "the stream has a line of more than %d bytes", MaxLine))
				return
			case err == nil && total > MaxAnswer:
				yield(Event{}, r.endpoint.Failed(llm.OutcomeBadOutput, "the stream has more than %d bytes", MaxAnswer))
				return
			case err != nil && !errors.Is(err, io.EOF):
				yield(Event{}, r.watch.failed(err))
				return
			case len(line) == 0:
				if len(e.Data) > 0 && !yield(e, nil) { // an event without data keeps the connection open
					return
				}
				e, data = Event{Data: e.Data[:0]}, false
				continue
			}
			if line[0] == '{' {
				if len(e.Data) > 0 {
					if !yield(e, nil) {
						return
					}
					e.Type = ""
				}
				if !yield(Event{Type: e.Type, Data: line, Cut: err != nil}, nil) {
					return
				}
				e, data = Event{Data: e.Data[:0]}, false
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			if data && e.before(string(name), value) {
				if !yield(e, nil) {
					return
				}
				e, data = Event{Data: e.Data[:0]}, false
			}
			switch string(name) {
			case "event":
				e.Type = string(value)
			case "", "id", "retry":
			case "data":
				if data {
					e.Data = append(e.Data, '\n')
				}
				e.Data, data = append(e.Data, value...), true
			case "error": // as llama.cpp had it until 2025
				if !yield(Event{Type: "error", Data: value, Cut: err != nil}, nil) {
					return
				}
			default:
				r.odd = cmp.Or(r.odd, string(line[:min(len(line), maxOdd)]))
			}
		}
	}
}

// maxOdd is how much of a line that is of no event is kept, for an error.
const maxOdd = 400

// before reports whether an event with data is whole before a field: without the empty line between two, the field
// is of the next event.
func (e *Event) before(name string, value []byte) bool {
	switch {
	case name == "event" && e.Type == "", name != "event" && name != "data":
		return false
	case name == "data" && !bytes.HasPrefix(value, []byte("{")) && string(bytes.TrimSpace(value)) != "[DONE]":
		return false
	}
	return len(e.Data) > 0 && e.Data[0] == '{' && json.Valid(e.Data)
}

var errTooLong = errors.New("line too long")

// lineReader reads the lines of a stream, which end with CRLF, LF or CR.
type lineReader struct {
	*bufio.Reader
	cr bool // the last one ended with CR, and an LF that follows belongs to it
}

// next reads a line without its end, behind line.
func (l *lineReader) next(line []byte) ([]byte, error) {
	for {
		if _, err := l.Peek(1); err != nil {
			return line, err
		}
		part, _ := l.Peek(l.Buffered())
		if l.cr && part[0] == '\n' {
			part = part[1:]
			_, _ = l.Discard(1)
		}
		l.cr = false
		end, drop := bytes.IndexByte(part, '\n'), 1
		if end < 0 {
			end, drop = len(part), 0
		}
		if at := bytes.IndexByte(part[:end], '\r'); at >= 0 {
			end, drop, l.cr = at, 1, true
		}
		if len(line)+end > MaxLine {
			return line, errTooLong
		}
		line = append(line, part[:end]...)
		if _, _ = l.Discard(end + drop); drop == 1 {
			return line, nil
		}
	}
}

// heard tells the watch that something came.
type heard struct{ *Reply }

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.body.Read(p)
	if n > 0 {
		h.watch.heard()
	}
	return n, err
}
