package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tavernsim/protocol"
	"tavernsim/tools/child"
	"tavernsim/tools/mcp/sound"
)

// toolsChanged is the method by which a server says that its tools are others.
const toolsChanged = "notifications/tools/list_changed"

// addressed is a message that a server sends as the whole answer to a request. Nothing follows it, so one that is not the
// answer is an error of the request. heard is what the library would get of it.
func addressed(q *http.Request, message, heard []byte) ([]byte, error) {
	asked := idOf(q)
	id, method, _, _, err := child.Parts(heard)
	if asked == nil || err != nil || !bytes.HasPrefix(bytes.TrimSpace(heard), []byte("{")) || method == nil && sameID(id, asked) {
		return heard, nil
	}
	why := "it has no id"
	switch {
	case method != nil:
		why = "it has the method " + string(method)
	case id != nil:
		why = "its id is " + string(id)
	}
	return child.UnsoundAnswer(asked, fmt.Sprintf("it is not the answer to the request %s, but %s: %s", asked, protocol.Short(why, 100), message)), nil
}

// idOf is the id of the request that a message to a server is; nil = it is no request.
func idOf(q *http.Request) []byte {
	if q.GetBody == nil {
		return nil
	}
	body, err := q.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	sent, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	id, method, _, _, err := child.Parts(sent)
	if err != nil || method == nil {
		return nil
	}
	return id
}

func sameID(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

// answer is the body of an answer over HTTP, as the library gets it.
type answer struct {
	io.ReadCloser
	of     *web
	next   func() ([]byte, error) // part of it
	unread []byte
}

// hearing is the body of an answer to q whose messages are heard one by one: it is one message, or a stream of
// events.
func hearing(w *web, q *http.Request, kind string, body io.ReadCloser) io.ReadCloser {
	a := &answer{ReadCloser: body, of: w}
	if kind == events {
		from, unasked, last := bufio.NewReader(body), child.NewUnasked(), 0
		a.next = func() ([]byte, error) {
			if last > 0 { // another one follows: it was no answer
				if err := unasked.More(last); err != nil {
					return nil, err
				}
			}
			e, err := w.event(from)
			last = len(e)
			return e, err
		}
		return a
	}
	a.next = func() ([]byte, error) {
		b, err := io.ReadAll(body)
		if err != nil || len(bytes.TrimSpace(b)) == 0 {
			return nil, cmp.Or(err, io.EOF)
		}
		heard, _, err := w.hears(b)
		if err != nil {
			return nil, err
		}
		return addressed(q, b, heard)
	}
	return a
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	for len(a.unread) == 0 {
		var err error
		if a.unread, err = a.next(); err != nil {
			if _, broken := errors.AsType[child.Violation](err); broken {
				err = a.of.breaks(err)
			}
			return 0, err
		}
	}
	n := copy(p, a.unread)
	a.unread = a.unread[n:]
	return n, nil
}

// hears is [sound.Message], and notes that the server says that its tools are others.
func (w *web) hears(message []byte) (out []byte, method string, err error) {
	if out, method, err = sound.Message(message); err != nil {
		return nil, "", child.Violated("it wrote what is no message: %w", err)
	}
	if method == toolsChanged {
		w.other.Store(true)
	}
	return out, method, nil
}

// event reads an event of a stream, its data as heard. One that breaks off is dropped, unless
// its data is whole.
func (w *web) event(from *bufio.Reader) ([]byte, error) {
	raw, broken := rawEvent(from)
	if len(raw) == 0 || errors.Is(broken, errTooLarge) {
		return nil, broken
	}
	e, _, err := w.heardEvent(raw)
	if err != nil && broken != nil {
		return nil, broken
	}
	return e, err
}

var errTooLarge = child.Violated("an event has more than 8 MiB")

// rawEvent reads an event, or with an error what there is of it.
func rawEvent(from *bufio.Reader) (event []byte, err error) {
	for {
		line, err := from.ReadSlice('\n')
		event = append(event, line...)
		switch {
		case len(event) > child.MaxMessage:
			return nil, errTooLarge
		case err == bufio.ErrBufferFull: //nolint:errorlint // ReadSlice gives it as it is
			continue
		case err != nil:
			return event, err
		}
		if text := bytes.TrimRight(line, "\r\n"); len(text) == 0 && (len(event) == len(line) || event[len(event)-len(line)-1] == '\n') {
			return event, nil
		}
	}
}

// heardEvent is an event whose data is as heard, with the method of the message in it; "" = it has none.
func (w *web) heardEvent(raw []byte) (event []byte, method string, err error) {
	var rest strings.Builder
	var data []string
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		} else if name != "" || value != "" {
			rest.WriteString(strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	message := []byte(strings.Join(data, "\n"))
	if len(bytes.TrimSpace(message)) == 0 {
		return raw, "", nil
	}
	message, method, err = w.hears(message)
	if err != nil {
		return nil, "", err
	}
	for line := range bytes.SplitSeq(message, []byte("\n")) {
		rest.WriteString("data: " + string(line) + "\n")
	}
	return []byte(rest.String() + "\n"), method, nil
}
