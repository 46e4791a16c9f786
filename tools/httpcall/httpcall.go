// Package httpcall carries out tools whose implementation is a request over HTTP.
//
// # Promises
//
//  1. A connection goes to the address that was checked: a name is resolved once for it. A
//     private, loopback, link-local or otherwise special address is denied, unless the tool
//     names the server among its needs (net:HOST:PORT).
//  2. A redirection to another host is not followed, and no redirection of a request with a secret is.
//  3. Every attempt of a call carries its key in the header Idempotency-Key. A request of a
//     tool that must not be repeated is never sent twice by the connection.
//  4. An answer in an encoding (Content-Encoding), which no request asks for, is none.
//  5. At most 1 MiB of an answer is kept. The rest is dropped, and the output says so.
//  6. A request ends with its context. An answer that hands the connection over (101) is an error.
//
// # Not here
//
// The definition of the request (tools/manifest); repetitions, and time-outs (tools).
package httpcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"tavernsim/internal/noswitch"
	"tavernsim/internal/source"
	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/manifest"
	"tavernsim/tools/reach"
)

const (
	maxAnswer    = 1 << 20
	maxDropped   = 1 << 20 // bytes that are read beyond it, so that the connection can be used again
	maxRedirects = 5
	maxHeader    = 64 << 10
)

// Executor sends the requests of all http tools of a scene. Its connections wait for
// further calls until Close.
type Executor struct {
	// By what a tool may reach, and whether its requests may be sent again: connections of
	// one are never used for another.
	public, named, once *http.Client
}

// New makes an executor.
func New() *Executor {
	return &Executor{public: client(false, true), named: client(true, true), once: client(true, false)}
}

// client makes a client whose dialer denies special addresses, but those of servers that
// the calling tool names if named is true. Without reuse every request has a connection of
// its own, so that net/http never sends it again.
func client(named, reuse bool) *http.Client {
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, server string) (net.Conn, error) {
			return dial(ctx, network, server, named)
		},
		DisableCompression:    true,
		DisableKeepAlives:     !reuse,
		ForceAttemptHTTP2:     reuse,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   reach.DialTime,
		ExpectContinueTimeout: time.Second,

		MaxResponseHeaderBytes: maxHeader,
	}
	return &http.Client{Transport: noswitch.Transport{Transport: t}, CheckRedirect: sameHost}
}

// Client makes a client under the same rules for addresses and redirections, for servers
// that named allows by "host:port".
func Client(named func(server string) bool) *http.Client {
	c := client(false, true)
	c.Transport.(noswitch.Transport).DialContext = func(ctx context.Context, network, server string) (net.Conn, error) {
		return dialed(ctx, network, server, named(server))
	}
	return c
}

// sameHost ends a chain of redirections at the answer that leads elsewhere.
func sameHost(next *http.Request, via []*http.Request) error {
	if sendsSecrets(next) {
		return http.ErrUseLastResponse
	}
	if next.URL.User != nil { // net/http would write the server's words into Authorization
		return http.ErrUseLastResponse
	}
	if first := via[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Close implements tools.Executor.
func (x *Executor) Close() error {
	for _, c := range []*http.Client{x.public, x.named, x.once} {
		c.CloseIdleConnections()
	}
	return nil
}

// callerKey is under which the context of a request holds its tool.
type callerKey struct{}

// dial connects to an address after it was checked: the check is made of the address that
// the connection is opened to.
func dial(ctx context.Context, network, server string, named bool) (net.Conn, error) {
	t, _ := ctx.Value(callerKey{}).(*manifest.Tool)
	return dialed(ctx, network, server, named && t != nil && t.MayDial(server))
}

func dialed(ctx context.Context, network, server string, may bool) (net.Conn, error) {
	return reach.Dial(ctx, network, server, func(netip.Addr) bool { return may })
}

// Call implements tools.Executor.
func (x *Executor) Call(ctx context.Context, c *tools.Call) tools.Result {
	made, err := c.Tool.Request(c.Params, c.Secrets)
	if err != nil {
		return tools.Fail(protocol.KindOf(err), err.Error())
	}
	var sent atomic.Bool
	ctx = context.WithValue(ctx, callerKey{}, c.Tool)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, made.Method, made.URL, body(made.Body))
	if err != nil {
		return tools.Fail(protocol.KindInvalid, "the request cannot be made") // the error may have a secret
	}
	req.Header = made.Header
	req.Header.Set("Idempotency-Key", c.Key)
	req.Header.Set("Accept-Encoding", "identity") // no header would allow every encoding
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "simd")
	}
	if made.Body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := x.client(c.Tool).Do(req)
	if err != nil {
		return failed(made, err, sent.Load())
	}
	defer answer.Body.Close()
	return read(made, answer)
}

func body(b []byte) io.Reader {
	if b == nil {
		return nil
	}
	return strings.NewReader(string(b))
}

func (x *Executor) client(t *manifest.Tool) *http.Client {
	switch {
	case t.Execution.Repeat == manifest.Never:
		return x.once
	case t.MayDial(t.Server()):
		return x.named
	}
	return x.public
}

// failed is the result of a request without an answer.
func failed(made *manifest.Request, err error, sent bool) tools.Result {
	if no, ok := errors.AsType[*reach.Denied](err); ok {
		r := tools.Quote(protocol.KindDenied, no.Error(), "")
		r.Unsent = true
		return r
	}
	if no, ok := errors.AsType[*noswitch.Switched](err); ok {
		r := tools.Quote(tools.KindTool, fmt.Sprintf("%s %s: %s", made.Method, made.Server, no), "")
		r.Carried = true // the server has the request
		return r
	}
	kind := protocol.KindTransient
	if errors.Is(err, context.Canceled) {
		kind = protocol.KindCancelled
	} else if errors.Is(err, context.DeadlineExceeded) {
		kind = protocol.KindTimeout
	}
	r := tools.Fail(kind, fmt.Sprintf("%s %s: %s", made.Method, made.Server, cause(err)))
	r.Own = fmt.Sprintf("%s %s: no answer", made.Method, made.Server) // the cause may quote the server
	r.Unsent, r.Lost = !sent, sent
	return r
}

// cause is an error without the address, which has the values of parameters in it.
func cause(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Error()
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// read makes the result of an answer.
func read(made *manifest.Request, a *http.Response) tools.Result {
	data, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	dropped := int64(0)
	if err == nil && len(data) == maxAnswer {
		dropped, _ = io.Copy(io.Discard, io.LimitReader(a.Body, maxDropped))
	}
	if err != nil {
		r := tools.Quote(protocol.KindTransient, fmt.Sprintf("%s %s: the answer broke off after %d bytes", made.Method, made.Server, len(data)), ": "+cause(err))
		r.Size, r.Lost = int64(len(data)), true
		return r
	}
	r := resultOf(made, a, data)
	r.Size = int64(len(data)) + dropped
	if dropped > 0 && len(r.Blobs) > 0 {
		r = tools.Quote(protocol.KindLimit, fmt.Sprintf("%s %s: the answer is a file of more than %d bytes", made.Method, made.Server, maxAnswer), "")
	}
	r.Carried = !r.Unsent // the server has the request
	if dropped > 0 && r.Status == tools.OK {
		r.Dropped = dropped
		r.Output = string(data) + fmt.Sprintf("\n… the answer has more than %d bytes; the rest was dropped", maxAnswer)
	}
	return r
}

func resultOf(made *manifest.Request, a *http.Response, data []byte) tools.Result {
	switch code := a.StatusCode; {
	case code >= 200 && code < 300:
		if coding := encoding(a.Header); coding != "" && len(data) > 0 {
			return tools.Quote(tools.KindBadOutput, fmt.Sprintf("%s %s: the answer is encoded, which nobody asked for", made.Method, made.Server), ": "+protocol.Short(coding, 80))
		}
		return good(a.Header.Get("Content-Type"), data)
	case leads(a):
		return tools.Quote(protocol.KindDenied, fmt.Sprintf("%s %s: status %d %s, and is not followed", made.Method, made.Server, code, whyNot(a)), "")
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		r := refused(tools.KindRateLimited, made, code, data, a.Header)
		if code == http.StatusServiceUnavailable {
			r = refused(protocol.KindTransient, made, code, data, a.Header)
		}
		r.Error.RetryAfter = protocol.Duration(RetryAfter(a.Header.Get("Retry-After"), time.Now()))
		r.Unsent = len(data) == 0 // nothing began
		return r
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusInternalServerError || code == http.StatusBadGateway || code == http.StatusGatewayTimeout:
		return refused(protocol.KindTransient, made, code, data, a.Header)
	default:
		return refused(tools.KindTool, made, code, data, a.Header)
	}
}

// leads reports whether an answer is a redirection that names a place.
func leads(a *http.Response) bool {
	switch a.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return a.Header.Get("Location") != ""
	}
	return false
}

// whyNot says why sameHost has ended a chain of redirections at an answer.
func whyNot(a *http.Response) string {
	if sendsSecrets(a.Request) {
		return "leads on, but the request has a secret"
	}
	to, err := a.Location()
	if err == nil && to.User != nil {
		return "leads on with a name and a password of its own"
	}
	if err != nil || to.Host != a.Request.URL.Host || to.Scheme != a.Request.URL.Scheme {
		return "leads to another server"
	}
	return fmt.Sprintf("leads on more than %d times", maxRedirects)
}

func sendsSecrets(q *http.Request) bool {
	t, _ := q.Context().Value(callerKey{}).(*manifest.Tool)
	return t != nil && t.SendsSecrets()
}

// encoding is that of the body of an answer; "" = it is as it is.
func encoding(h http.Header) string {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(h["Content-Encoding"], ", ")))
	if coding == "identity" {
		return ""
	}
	return coding
}

func refused(kind protocol.ErrorKind, made *manifest.Request, code int, data []byte, h http.Header) tools.Result {
	said := ""
	if coding := encoding(h); coding != "" && len(data) > 0 {
		said = fmt.Sprintf(": its %d bytes are encoded (%s)", len(data), protocol.Short(strings.ToValidUTF8(coding, "\ufffd"), 80))
	} else if len(data) > 0 {
		said = ": " + protocol.Short(string(data), 512)
	}
	return tools.Quote(kind, fmt.Sprintf("%s %s: status %d %s", made.Method, made.Server, code, http.StatusText(code)), said)
}

// good is an answer that is one: a value, a text, or a file.
func good(typ string, data []byte) tools.Result {
	name, _, _ := strings.Cut(typ, ";")
	if name = strings.ToLower(strings.TrimSpace(name)); isText(data) || strings.HasPrefix(name, "text/") || strings.HasSuffix(name, "json") || strings.HasSuffix(name, "xml") {
		return tools.Output(output(typ, data))
	}
	r := tools.Output(nil)
	name = cmp.Or(protocol.Short(name, 100), "application/octet-stream")
	r.Output = fmt.Sprintf("[file %s, %d bytes: %s]", name, len(data), r.Attach("answer", name, data))
	return r
}

// isText reports whether bytes are UTF-8, but for a character that was cut at the bound.
func isText(data []byte) bool {
	for cut := 1; len(data) == maxAnswer && cut < utf8.UTFMax; cut++ {
		if utf8.Valid(data[:maxAnswer-cut]) {
			return true
		}
	}
	return utf8.Valid(data)
}

// output is the JSON of an answer as a value, else its text; nothing is null.
func output(typ string, data []byte) any {
	if len(data) == 0 {
		return nil
	}
	typ, _, _ = strings.Cut(strings.ToLower(typ), ";")
	if typ = strings.TrimSpace(typ); typ == "application/json" || strings.HasSuffix(typ, "+json") {
		if v, err := source.ParseValue("answer.json", data, source.Limits{MaxDepth: protocol.MaxNested, Wide: true}); err == nil {
			return v
		}
	}
	return string(data)
}

// maxAfter is the longest time that RetryAfter gives: nobody waits that long, and people read it.
const maxAfter = 24 * time.Hour

// RetryAfter reads a header Retry-After: seconds, or a date. It is in whole seconds, at most a day; 0 = it says nothing.
func RetryAfter(text string, now time.Time) time.Duration {
	if s, err := strconv.ParseInt(text, 10, 64); err == nil && s >= 0 {
		return min(time.Duration(min(s, 1<<31))*time.Second, maxAfter)
	}
	if t, err := http.ParseTime(text); err == nil {
		wait := min(t.Sub(now), maxAfter) + time.Second - 1 // never too short
		return max(0, wait.Truncate(time.Second))
	}
	return 0
}
