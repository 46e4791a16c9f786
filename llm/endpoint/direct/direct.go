// Package direct makes requests over HTTP/1.1 to one server without TLS, on the goroutine
// of the caller.
//
// net/http gives each connection two goroutines, and every request goes through both. A
// nearby model server gets thousands of requests a second, with thousands
// in flight at once: there the goroutines cost more CPU time than the requests, and
// their stacks more memory. net/http still reads answers that are not plain.
//
// [New] makes a [Transport] in front of a transport of net/http, which carries what this one
// does not support: TLS, proxies, and bodies that may not fit into the buffers of a socket.
// The owner calls CloseIdleConnections at the end.
//
// # Promises
//
//  1. A request ends with its context, while it connects, waits or is read.
//  2. A connection carries one request at a time. It is used again only if its last answer
//     was read to its end, or nearly (1 KiB, which must be there within 5 ms), neither side said that it closes, and the server has neither closed
//     it nor sent anything since. After a stream of events it rests for 50 ms, because some servers close it then and do not say so; and
//     where the server says how many seconds it keeps an unused one (Keep-Alive: timeout=N), it is not used in the last of them.
//  3. No request is sent twice. One whose connection breaks fails. The failure of one that had no connection is an
//     [*Unconnected], also if the transport behind carries it, and no other failure is.
//  4. At most MaxIdleConnsPerHost connections are kept, none unused for longer than
//     IdleConnTimeout, and the header of an answer has at most MaxResponseHeaderBytes: fields
//     of the transport behind, whose DialContext connects.
package direct

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"tavernsim/internal/noswitch"
	"tavernsim/internal/until"
)

// MaxBody is the largest body that is sent here. A server may answer before it has read a
// larger one, and nobody reads while it is written.
const MaxBody = 64 << 10

// maxInformed bounds the interim answers (1xx) before an answer, as net/http does.
const maxInformed = 5

// Transport is an http.RoundTripper for one server. It is safe for concurrent use.
type Transport struct {
	general *http.Transport
	addr    string    // host:port; "" = everything goes by general
	buffers sync.Pool // of *bytes.Buffer, for requests

	mu     sync.Mutex // guards the following fields
	idle   []*conn    // the one that was used last is the last
	closed bool       // connections are not kept, until somebody asks again
	sweeps bool       // a timer looks for those that nobody uses
}

// New makes the transport of the server of an address.
func New(base *url.URL, general *http.Transport) *Transport {
	t := &Transport{general: general, addr: addrOf(base, general)}
	t.buffers.New = func() any { return new(bytes.Buffer) }
	return t
}

// addrOf is where a server is reached; "" = not over plain TCP.
func addrOf(base *url.URL, general *http.Transport) string {
	if base.Scheme != "http" || base.Hostname() == "" || general.DialContext == nil || !ascii(base.Host) {
		return ""
	}
	if general.Proxy != nil {
		if via, err := general.Proxy(&http.Request{URL: base}); via != nil || err != nil {
			return ""
		}
	}
	port := base.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(base.Hostname(), port)
}

// ascii reports whether a host is written as it is asked for.
func ascii(host string) bool {
	for i := range len(host) {
		if host[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Takes reports whether a request is made here, and not by the transport behind.
func (t *Transport) Takes(r *http.Request) bool {
	return t.addr != "" && (r.Body == nil || r.ContentLength > 0 && r.ContentLength <= MaxBody)
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.Takes(r) {
		return t.behind(r)
	}
	ctx := r.Context()
	c, err := t.connection(ctx)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, &Unconnected{err}
	}
	x := &exchange{transport: t, conn: c}
	x.ends.After(ctx, c.abort)
	resp, err := t.exchange(x, r)
	if err != nil {
		x.end(false)
		return nil, err
	}
	x.body, x.closes = resp.Body, resp.Close
	c.rest, c.keeps = 0, keptFor(resp.Header)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		c.rest = restTime
	}
	if resp.Body == http.NoBody {
		x.end(true)
	}
	resp.Body = x
	return resp, nil
}

// behind lets the transport behind carry a request.
func (t *Transport) behind(r *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	if own, ok := r.Context().(ender); ok {
		ctx = traced{ctx, own}
	}
	resp, err := noswitch.Transport{Transport: t.general}.RoundTrip(r.WithContext(ctx))
	switch {
	case err == nil:
		return resp, nil
	case connected.Load():
		return nil, lost(err)
	}
	return nil, &Unconnected{err}
}

// ender is a context that calls a function at its end.
type ender interface {
	AfterFunc(f func()) (stop func() bool)
}

// traced is a context with a trace around one that is an ender. Without it package context would start a goroutine for each request
// to wait for the end.
type traced struct {
	context.Context
	ender
}

// Unconnected is the failure of a request that had no connection, not even one that broke: nothing of it has left. With TLS,
// there is a connection when the handshake has ended on this side.
type Unconnected struct{ cause error }

func (u *Unconnected) Error() string { return u.cause.Error() }

// Unwrap gives the reason.
func (u *Unconnected) Unwrap() error { return u.cause }

// exchange writes a request and reads the header of its answer.
func (t *Transport) exchange(x *exchange, r *http.Request) (*http.Response, error) {
	c := x.conn
	b := t.buffers.Get().(*bytes.Buffer)
	b.Reset()
	err := write(b, r)
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if err == nil {
		_, err = c.Write(b.Bytes())
	}
	if b.Cap() <= 2*MaxBody {
		t.buffers.Put(b)
	}
	if err != nil {
		return nil, fmt.Errorf("the request was not sent to its end: %w", err)
	}
	for range maxInformed {
		c.header = t.general.MaxResponseHeaderBytes
		if start, err := c.in.Peek(len(beginning)); err == nil && string(start) != beginning {
			return nil, &Foreign{Start: string(start)}
		}
		if x.plain.read(c.in, r) {
			c.header = noLimit
			return &x.plain.Response, nil
		}
		resp, err := http.ReadResponse(c.in, r)
		c.header = noLimit
		if err != nil {
			return nil, lost(err)
		}
		switch {
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, &noswitch.Switched{}
		case resp.StatusCode >= 200:
			return resp, nil
		}
	}
	return nil, fmt.Errorf("the server sent %d interim answers and no other", maxInformed)
}

// lost is the error of an answer that does not come. net/http says "unexpected EOF" of a
// connection that was closed before its first byte.
func lost(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the server closed the connection before its answer was whole: %w", err)
	}
	return err
}

// CloseIdleConnections closes those that carry no request.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	idle := t.idle
	t.idle, t.closed = nil, true
	t.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
	t.general.CloseIdleConnections()
}

// connection gives one that carries no request: the one that was used last, or a new one.
func (t *Transport) connection(ctx context.Context) (*conn, error) {
	for c := t.take(); c != nil; c = t.take() {
		if (c.keeps == 0 || time.Since(c.since) < c.keeps) && c.alive() {
			return c, nil
		}
		_ = c.Close()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	to, err := t.general.DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	return newConn(to), nil
}

func (t *Transport) take() *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = false
	for n, c := range slices.Backward(t.idle) {
		if c.rest == 0 || time.Since(c.since) >= c.rest {
			t.idle = slices.Delete(t.idle, n, n+1)
			return c
		}
	}
	return nil
}

// keptFor is for how long the server says that it keeps an unused connection, less a second for
// the way; 0 = it does not say.
func keptFor(h http.Header) time.Duration {
	for field := range strings.SplitSeq(h.Get("Keep-Alive"), ",") {
		if n, ok := strings.CutPrefix(strings.TrimSpace(field), "timeout="); ok {
			if s, err := strconv.Atoi(n); err == nil && s > 0 && s < 1<<20 {
				return max(time.Duration(s-1)*time.Second, 1)
			}
		}
	}
	return 0
}

// keep keeps a connection for another request; false = there are enough of them.
func (t *Transport) keep(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.idle) >= t.general.MaxIdleConnsPerHost {
		return false
	}
	c.since = time.Now()
	t.idle = append(t.idle, c)
	if !t.sweeps && t.general.IdleConnTimeout > 0 {
		t.sweeps = true
		time.AfterFunc(t.general.IdleConnTimeout, t.sweep)
	}
	return true
}

// sweep closes connections that nobody has used for long.
func (t *Transport) sweep() {
	t.mu.Lock()
	old := 0
	for old < len(t.idle) && time.Since(t.idle[old].since) >= t.general.IdleConnTimeout {
		old++
	}
	gone := t.idle[:old:old]
	t.idle = append([]*conn(nil), t.idle[old:]...)
	if t.sweeps = len(t.idle) > 0; t.sweeps {
		time.AfterFunc(t.general.IdleConnTimeout-time.Since(t.idle[0].since), t.sweep)
	}
	t.mu.Unlock()
	for _, c := range gone {
		_ = c.Close()
	}
}

// exchange is one request and the body of its answer. Its reader owns it.
type exchange struct {
	transport *Transport
	conn      *conn
	body      io.ReadCloser // nil = it has ended
	closes    bool          // one side closes the connection after this answer
	ends      until.Waiter  // for the end of the context
	plain     plain         // the answer, if it is
}

// Read implements io.Reader.
func (x *exchange) Read(p []byte) (int, error) {
	if x.conn == nil {
		return 0, io.EOF
	}
	n, err := x.body.Read(p)
	if errors.Is(err, io.EOF) {
		x.end(true)
	}
	return n, err
}

// Close implements io.Closer. What was not read is lost with the connection, unless it is
// next to nothing.
func (x *exchange) Close() error {
	if x.conn != nil {
		x.end(x.left())
	}
	return nil
}

// The most that is read of an answer that nobody reads on, and how long that may take. A stream
// says that it is done before its bytes have ended: net/http closes the connection there, and
// asks for another one for each stream.
const (
	maxLeft  = 1 << 10
	leftTime = 5 * time.Millisecond
)

// left reads an answer to its end, if little of it is left.
func (x *exchange) left() bool {
	if x.closes || x.conn.SetReadDeadline(time.Now().Add(leftTime)) != nil {
		return false
	}
	n, err := io.Copy(io.Discard, io.LimitReader(x.body, maxLeft+1))
	return err == nil && n <= maxLeft && x.conn.SetReadDeadline(time.Time{}) == nil
}

// end gives the connection back, if the answer was read to its end.
func (x *exchange) end(whole bool) {
	c := x.conn
	x.conn = nil
	if !x.ends.Stop() || !whole || x.closes || c.in.Buffered() > 0 || !x.transport.keep(c) {
		_ = c.Close()
	}
}

// conn is a connection. One goroutine at a time reads from it; any closes it.
type conn struct {
	net.Conn
	in     *bufio.Reader
	header int64         // bytes that may still be read of a header; [noLimit] elsewhere
	since  time.Time     // it has carried no request
	rest   time.Duration // from then on before it carries another one
	keeps  time.Duration // from then on after which it carries none; 0 = any time
	probe  probe
	abort  func() // closes it: who reads or writes fails
}

const noLimit = -1

// restTime is how long a server may take to close a connection after a stream of events.
const restTime = 50 * time.Millisecond

func newConn(to net.Conn) *conn {
	c := &conn{Conn: to, header: noLimit, probe: newProbe(to)}
	c.in = bufio.NewReader(c)
	c.abort = func() { _ = c.Close() }
	return c
}

// Read implements io.Reader for the buffer of the connection.
func (c *conn) Read(p []byte) (int, error) {
	switch {
	case c.header == 0:
		return 0, errors.New("the header of the answer is too large")
	case c.header > 0 && int64(len(p)) > c.header:
		p = p[:c.header]
	}
	n, err := c.Conn.Read(p)
	if c.header > 0 {
		c.header -= int64(n)
	}
	return n, err
}
