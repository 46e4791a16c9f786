package mock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"tavernsim/llm"
	"tavernsim/llm/mock/wire"
	"tavernsim/llm/scripted"
)

// plainBody is the largest body of a plain question, and plainHeader of its header.
const (
	plainBody   = 64 << 10
	plainHeader = 4 << 10
	plainHeads  = 256 // that are remembered
	maxEnds     = 4   // bytes: ends of lines between two questions
)

// Plain answers plain questions as they come over the connections of a listener, on one
// goroutine a connection, and gives every other connection to who accepts: net/http, with
// what it has read of the question. It costs a third less than net/http alone, which counts
// where a measured client shares the machine with this server.
//
// A question is plain if all of it came with its length, and its answer goes out whole, after its
// latency: it asks for no stream, and the server has no faults. The wait for the latency listens to the connection:
// it needs no timer of its own, and ends with a client that leaves.
func (s *Server) Plain(l net.Listener) net.Listener {
	m, ok := s.model.(*scripted.Model)
	if !ok || !m.NeverFails() || len(s.odds) > 0 {
		return l
	}
	p := &plain{Listener: l, server: s, others: make(chan accepted), conns: map[net.Conn]struct{}{}, heads: map[string]*http.Request{}}
	p.context, p.cancel = context.WithCancel(context.Background())
	p.parser = bufio.NewReaderSize(nil, plainHeader)
	p.running.Go(p.accept)
	return p
}

// plain is a listener of connections with questions that are not plain.
type plain struct {
	net.Listener
	server  *Server
	others  chan accepted
	context context.Context // ends when nobody accepts any more, and with it every wait
	cancel  func()
	running sync.WaitGroup

	mu    sync.Mutex // guards the following fields
	conns map[net.Conn]struct{}
	err   error // why context has ended

	// Headers that have come, as requests without a body: a client says the same few again and again. net/http
	// reads each once.
	headsMu sync.Mutex // guards the following fields
	parser  *bufio.Reader
	heads   map[string]*http.Request // nobody changes what is in it
}

// accepted is what Accept gives.
type accepted struct {
	conn net.Conn
	err  error
}

// Accept implements net.Listener.
func (p *plain) Accept() (net.Conn, error) {
	select {
	case a := <-p.others:
		return a.conn, a.err
	case <-p.context.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		return nil, p.err
	}
}

// Close implements net.Listener. It returns when every question has its answer.
func (p *plain) Close() error {
	err := p.Listener.Close()
	p.end(net.ErrClosed)
	p.running.Wait()
	return err
}

// end lets connections end that wait for a question.
func (p *plain) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	p.err = err
	p.cancel()
	for c := range p.conns {
		_ = c.SetReadDeadline(time.Unix(1, 0))
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	}
}

func (p *plain) accept() {
	for {
		c, err := p.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			p.end(err)
			return
		case err != nil && !p.pass(accepted{err: err}): // net/http says whether and when to accept again
			return
		case err == nil && p.add(c):
			p.running.Go(func() { p.serve(c) })
		}
	}
}

// pass gives something to who accepts; false = nobody does any more.
func (p *plain) pass(a accepted) bool {
	select {
	case p.others <- a:
		return true
	case <-p.context.Done():
		return false
	}
}

func (p *plain) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *plain) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// serve answers the questions of a connection, until one is not plain.
func (p *plain) serve(c net.Conn) {
	x := &talk{of: p, conn: c, in: bufio.NewReaderSize(c, plainHeader), header: http.Header{}}
	x.asks = io.NopCloser(&x.content)
	read, err := x.questions()
	p.remove(c)
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	if !p.pass(accepted{conn: &begun{Conn: c, in: io.MultiReader(bytes.NewReader(read), x.in)}}) {
		_ = c.Close()
	}
}

// begun is a connection of which something has been read.
type begun struct {
	net.Conn
	in io.Reader
}

// Read implements io.Reader.
func (b *begun) Read(p []byte) (int, error) { return b.in.Read(p) }

// talk is a connection with plain questions, and the http.ResponseWriter of the one that is being
// answered.
type talk struct {
	of    *plain
	conn  net.Conn
	in    *bufio.Reader
	until time.Time // when the connection ends if nothing comes

	head, body []byte // of the question, as they came
	request    http.Request
	content    bytes.Reader
	asks       io.ReadCloser // content
	header     http.Header
	status     int
	out        []byte
	sent       bool // the answer
}

// questions answers questions until one is not plain, and gives what has been read of it.
func (x *talk) questions() (read []byte, err error) {
	for {
		if time.Until(x.until) < idleTimeout/2 {
			x.until = time.Now().Add(idleTimeout)
			if err := x.listen(x.until); err != nil {
				return nil, err
			}
		}
		r, err := x.next()
		if r == nil || err != nil {
			return slices.Concat(x.head, x.body), err
		}
		x.status, x.sent = http.StatusOK, false
		clear(x.header)
		x.of.server.ServeHTTP(x, r)
		if !x.sent {
			return nil, net.ErrClosed
		}
	}
}

// listen sets until when the connection is read, unless all connections end: p.end says so before it sets their
// deadlines.
func (x *talk) listen(until time.Time) error {
	if err := x.conn.SetReadDeadline(until); err != nil {
		return err
	}
	return x.of.context.Err()
}

// wait implements waiter: it reads until the time is over.
func (x *talk) wait(d time.Duration) bool {
	until := time.Now().Add(d)
	if x.listen(until) != nil {
		return false
	}
	_, err := x.in.Peek(x.in.Buffered() + 1) // there is room: a byte of the question, at least, has left the buffer since it was filled
	if x.listen(x.until) != nil || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	return llm.Wait(x.of.context, "mock", time.Until(until)) == nil // the next question came before
}

// next reads a plain question; nil = it is not one, and head and body have what was read of it.
func (x *talk) next() (*http.Request, error) {
	x.head, x.body = x.head[:0], x.body[:0]
	size, err := x.headSize()
	if size == 0 || err != nil {
		return nil, err
	}
	start, _ := x.in.Peek(size)
	x.head = append(x.head, start...)
	_, _ = x.in.Discard(size)
	asked := x.of.read(x.head)
	if asked == nil {
		return nil, nil //nolint:nilnil // net/http reads it again and says what is wrong
	}
	x.body = slices.Grow(x.body, int(asked.ContentLength))[:asked.ContentLength]
	n, err := io.ReadFull(x.in, x.body)
	if x.body = x.body[:n]; err != nil || streams(x.body) {
		return nil, nil //nolint:nilnil // see above
	}
	x.content.Reset(x.body)
	x.request = *asked
	x.request.Body = x.asks
	return &x.request, nil
}

// streams reports whether a body asks for a stream. Few do, and only these bytes spell the member's name.
func streams(body []byte) bool {
	return (bytes.Contains(body, []byte(`"stream"`)) || bytes.Contains(body, []byte(`\u00`))) && wire.AsksStream(body)
}

// read reads the header of a plain question; nil = it is of none.
func (p *plain) read(head []byte) *http.Request {
	p.headsMu.Lock()
	defer p.headsMu.Unlock()
	if r := p.heads[string(head)]; r != nil {
		return r
	}
	p.parser.Reset(bytes.NewReader(head))
	r, err := http.ReadRequest(p.parser)
	if err != nil || r.Host == "" || r.Method != http.MethodPost || !r.ProtoAtLeast(1, 1) || r.Close || r.ContentLength <= 0 || r.ContentLength > plainBody ||
		r.Header["Expect"] != nil || route(r.URL.Path) > embeddings {
		return nil
	}
	if len(p.heads) >= plainHeads {
		clear(p.heads)
	}
	r = r.WithContext(p.context)
	p.heads[string(head)] = r
	return r
}

// headSize waits for the header of a question and gives its size; 0 = there is none. Behind another question it passes
// over ends of lines, as many as net/http does behind a body.
func (x *talk) headSize() (int, error) {
	passed := 0
	for n := 1; ; {
		if _, err := x.in.Peek(n); err != nil {
			if x.in.Buffered() > 0 { // it is too large, or cut
				return 0, nil
			}
			return 0, err
		}
		start, _ := x.in.Peek(x.in.Buffered())
		if x.sent && passed < maxEnds && (start[0] == '\r' || start[0] == '\n') {
			_, _ = x.in.Discard(1)
			passed, n = passed+1, 1
			continue
		}
		if start[0] < 'A' || start[0] > 'Z' { // of no method: it speaks TLS, or no HTTP
			return 0, nil
		}
		if end := bytes.Index(start, []byte("\r\n\r\n")); end >= 0 {
			return end + 4, nil
		}
		n = len(start) + 1
	}
}

// Header implements http.ResponseWriter.
func (x *talk) Header() http.Header { return x.header }

// WriteHeader implements http.ResponseWriter.
func (x *talk) WriteHeader(status int) { x.status = status }

// Write implements http.ResponseWriter. The server writes an answer in one piece.
func (x *talk) Write(body []byte) (int, error) {
	b := append(x.out[:0], "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(x.status), 10)
	b = append(append(append(b, ' '), http.StatusText(x.status)...), "\r\nDate: "...)
	b = time.Now().UTC().AppendFormat(b, http.TimeFormat)
	for name, values := range x.header { // of the server's own
		if name == "Content-Length" {
			continue
		}
		for _, value := range values {
			b = append(append(append(append(b, "\r\n"...), name...), ": "...), value...)
		}
	}
	b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), int64(len(body)), 10)
	x.out = append(append(b, "\r\n\r\n"...), body...)
	if _, err := x.conn.Write(x.out); err != nil {
		return 0, err
	}
	x.sent = true
	return len(body), nil
}
