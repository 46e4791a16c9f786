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
)

// toolsChanged is the method by which a server says that its tools are others.
const toolsChanged = "notifications/tools/list_changed"

// noMethod stands in the place of the method of an answer.
const noMethod = "\x00"

// sound is received without the method.
func sound(message []byte) ([]byte, error) {
	out, _, err := received(message)
	return out, err
}

// received is a message of a server as the library gets it, and its method. An object that has a name twice is
// refused, since nobody knows which of the two is meant: in a result that is an error of the
// call. So is a result that is no object: the library takes null for one without content; and one that it
// could not read.
func received(message []byte) (out []byte, method string, err error) {
	id, raw, result, why, err := child.Parts(message)
	if err != nil {
		return nil, "", err
	}
	if method = noMethod; raw != nil && json.Unmarshal(raw, &method) != nil {
		method = noMethod // the library refuses it
	}
	out, err = mended(message, id, result, why)
	return out, method, err
}

// mended is a message with these parts as the library can read it. why = an object within it has a name twice.
func mended(message, id, result []byte, why error) ([]byte, error) {
	if why == nil && result != nil && result[0] == '{' && id != nil {
		if message, why = readable(message, result); why == nil {
			return noted(message, result), nil
		}
	}
	if why == nil && (result == nil || result[0] == '{') {
		return message, nil
	}
	if result == nil || id == nil {
		return message, why
	}
	return unsound(id, cmp.Or(why, errNoObject).Error())
}

// unsound is the answer to a request in the place of what the server sent.
func unsound(id []byte, why string) ([]byte, error) {
	text, err := json.Marshal(why)
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, child.Unsound, text), err
}

// addressed is a message that a server sends as the whole answer to a request. Nothing follows it, so one that is not the
// answer is an error of the request.
func addressed(q *http.Request, message []byte) ([]byte, error) {
	asked := idOf(q)
	id, method, _, _, err := child.Parts(message)
	if asked == nil || err != nil || !bytes.HasPrefix(bytes.TrimSpace(message), []byte("{")) || method == nil && sameID(id, asked) {
		return message, nil
	}
	return unsound(asked, fmt.Sprintf("the request has the id %s, and its answer is %s", asked, protocol.Short(string(message), maxRefusal)))
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

// taskOnly is the field of _meta that says of a tool that its server offers it as a task only.
const taskOnly = "simd/task-only"

// holds is the field of _meta that says for how many milliseconds a list of tools holds.
const holds = "simd/ttl-ms"

// noted is a message in which each tool that a server offers as a task only says so in its _meta: the library does not
// know the field in which the server says it. A list of tools says in its _meta how long it holds: the library would give
// the list once more until then, also when the server has said that it is another one.
func noted(message, result []byte) []byte {
	if !bytes.Contains(result, []byte(`"taskSupport"`)) && !bytes.Contains(result, []byte(`"ttlMs"`)) {
		return message
	}
	var list struct {
		Tools []struct{ Execution struct{ TaskSupport string } }
	}
	var whole map[string]any
	numbers := json.NewDecoder(bytes.NewReader(message))
	numbers.UseNumber()
	if json.Unmarshal(result, &list) != nil || numbers.Decode(&whole) != nil {
		return message
	}
	page, _ := whole["result"].(map[string]any)
	all, is := page["tools"].([]any)
	if !is {
		return message
	}
	if n, is := page["ttlMs"]; is {
		note(page, holds, n)
		delete(page, "ttlMs")
	}
	for i := range list.Tools[:min(len(list.Tools), len(all))] {
		if tool, is := all[i].(map[string]any); is && list.Tools[i].Execution.TaskSupport == "required" {
			note(tool, taskOnly, true)
		}
	}
	b, err := json.Marshal(whole)
	if err != nil {
		return message
	}
	return b
}

// note puts a value into the _meta of an object.
func note(of map[string]any, name string, v any) {
	meta, _ := of["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[name] = v
	of["_meta"] = meta
}

var errNoObject = errors.New("it is no object")

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
		if b, err = addressed(q, b); err == nil {
			b, _, err = w.hears(b)
		}
		return b, err
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

// hears is received, and notes that the server says that its tools are others.
func (w *web) hears(message []byte) (out []byte, method string, err error) {
	if out, method, err = received(message); err != nil {
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
