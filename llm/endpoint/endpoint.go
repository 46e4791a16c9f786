package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/budget"
	"tavernsim/internal/noswitch"
	"tavernsim/internal/until"
	"tavernsim/llm"
	"tavernsim/llm/endpoint/direct"
	"tavernsim/llm/endpoint/foreign"
	"tavernsim/llm/endpoint/hidden"
	"tavernsim/llm/endpoint/hints"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// Bounds.
const (
	MaxAnswer = 16 << 20 // bytes of an answer that is no stream, and of all lines of one
	MaxLine   = 4 << 20  // bytes of one line of a stream

	defaultConnect   = 5 * time.Second
	defaultFirstByte = time.Minute
	defaultSilence   = 30 * time.Second
	defaultWhole     = 10 * time.Minute
)

// Endpoint is one server of models. Its methods are safe for concurrent use.
type Endpoint struct {
	Name string
	Definition
	Gate *gate.Gate // which requests pass before Do; Do tells it what the answers say of limits

	base      *url.URL // of addresses, without the / at its end and without the query
	access    atomic.Pointer[access]
	transport *http.Transport // connects
	http      *direct.Transport
	buffers   sync.Pool // of *[]byte, for the bodies of answers
	prices    *price.Prices
	limits    *budget.Limits // of its budget; nil = it has none
	closed    atomic.Bool
}

// access is what the key is part of, and what is known of it. [Reload] gives an endpoint another.
type access struct {
	like     *http.Request  // every request, with the key in its header, and the query in its address
	secrets  hidden.Secrets // the key and what else nobody may see
	warnings []string
	missing  error       // why there is no key; nil = there is one, or none is needed
	answered atomic.Bool // a question: the server takes the key
}

// New makes an endpoint. Relative files of the definition lie in dir.
func New(name string, given Definition, dir string, getenv func(string) string) (*Endpoint, error) {
	e, err := newEndpoint(name, given, dir, getenv)
	if err == nil {
		err = e.Usable()
	}
	if err == nil && e.limits != nil && e.limits.Daily {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: a budget a day is counted beside a file of endpoints; load it from one", name)
	}
	return e, err
}

// Usable is why an endpoint of a file cannot be asked: its key is missing. A file may name endpoints
// that a project does not use, and whose keys its user has elsewhere.
func (e *Endpoint) Usable() error { return e.access.Load().missing }

func newEndpoint(name string, given Definition, dir string, getenv func(string) string) (*Endpoint, error) {
	d := given.whole()
	key, missing := readKey(name, given, d, dir, getenv)
	limits := limit.Options{Requests: d.Limits.RequestsPerMinute, Tokens: d.Limits.TokensPerMinute, Concurrency: d.Limits.MaxConcurrency, Fixed: d.Limits.Adaptive == nil || !*d.Limits.Adaptive}
	if d.Embed != "" && d.Protocol != llm.OpenAI {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: embeddings: the protocol %s has none; name them at an endpoint of the protocol %s", name, d.Protocol, llm.OpenAI)
	}
	if err := limits.Check(); err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: %w", name, err)
	}
	e := &Endpoint{Name: name, Definition: d, Gate: gate.New(name, limits)}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"simd"}} // which the definition may replace
	for k, v := range d.Headers {
		header.Set(k, v)
	}
	switch a := d.auth(key); a {
	case "none":
	case "bearer":
		header.Set("Authorization", "Bearer "+key)
	default:
		header.Set(a, key)
	}
	var err error
	if e.base, err = url.Parse(strings.TrimRight(d.BaseURL, "/")); err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: base_url: this is no address", name)
	}
	if e.prices, err = price.Make(d.Preset, d.Prices, d.Free != nil && *d.Free); err != nil {
		return nil, err
	}
	if e.limits, err = d.Budget.Limits(budget.Refuse); err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: %w", name, err)
	}
	query := url.Values{}
	for k, v := range d.Query {
		query.Set(k, v)
	}
	base := *e.base
	base.RawQuery = query.Encode()
	secrets, warnings := (&hidden.Given{Key: key, Headers: given.Headers, Query: given.Query, Public: given.Public}).Words()
	e.access.Store(&access{
		like:    &http.Request{Method: http.MethodGet, Host: base.Host, URL: &base, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1},
		secrets: hidden.Of(secrets), warnings: warnings,
		missing: missing,
	})
	if e.transport, err = d.transport(name, dir); err != nil {
		return nil, err
	}
	e.http = direct.New(e.base, e.transport)
	return e, nil
}

// transport keeps as many idle connections as there may be requests at once.
func (d *Definition) transport(name, dir string) (*http.Transport, error) {
	dialer := &net.Dialer{Timeout: d.Timeouts.Connect.Std(), KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: d.Timeouts.Connect.Std(), ForceAttemptHTTP2: true,
		MaxIdleConns: d.Limits.MaxConcurrency, MaxIdleConnsPerHost: d.Limits.MaxConcurrency, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if d.CAFile == "" {
		return t, nil
	}
	pem, err := readStart(d.CAFile, dir, math.MaxInt64)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoints.%s.ca_file: %w", name, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoints.%s.ca_file: the file has no certificate in PEM form", name)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// Close closes idle connections; later requests fail.
func (e *Endpoint) Close() error {
	e.closed.Store(true)
	e.http.CloseIdleConnections()
	if e.Gate.Book != nil {
		return e.Gate.Book.Close()
	}
	return nil
}

// Prices are those of the endpoint's models, by its names of them.
func (e *Endpoint) Prices() *price.Prices { return e.prices }

// String names the endpoint.
func (e *Endpoint) String() string { return e.Name }

// Ask is one request.
type Ask struct {
	Path    string // after the base: /chat/completions
	Body    []byte // nil = a GET
	Stream  bool   // the answer comes in parts
	Timeout time.Duration

	at *url.URL // of Path, as the endpoint was then; nil = it is made; nobody changes it
	of *running // nil = of no provider
}

// Reply is the answer to a request, whose status is one of success. The caller closes it.
type Reply struct {
	Header http.Header
	Began  time.Time

	endpoint *Endpoint
	body     io.ReadCloser
	buffer   *[]byte
	size     int64  // of the body; -1 = the server does not say
	odd      string // the beginning of a line of a stream that is of no event
	watch    *watch
}

// Do makes a request. Its failure is an [*llm.Failure].
func (e *Endpoint) Do(ctx context.Context, ask Ask) (*Reply, error) {
	if e.closed.Load() {
		return nil, e.failure(llm.OutcomeClosed, "the endpoint is closed", nil)
	}
	if err := llm.Stopped(ctx, e.Name); err != nil {
		return nil, err
	}
	if err := e.Usable(); err != nil {
		return nil, &llm.Failure{Outcome: llm.OutcomeAuth, Message: err.Error()}
	}
	w := newWatch(ctx, e, ask)
	if ask.of != nil && !ask.of.add(w) {
		w.stop()
		return nil, e.failure(llm.OutcomeClosed, "the provider is closed", nil)
	}
	began := time.Now()
	by := e.access.Load()
	resp, err := e.http.RoundTrip(e.request(w, by.like, ask)) //nolint:bodyclose // Reply.Close does
	if err != nil {
		err = w.failed(err)
		w.stop()
		return nil, err
	}
	if h := hints.Of(resp.Header); h != (limit.Hints{}) {
		h.Refused = resp.StatusCode/100 != 2 && hints.RetryAfter(resp.Header, began) > 0
		e.Gate.Hint(began, h)
	}
	r := &w.reply
	*r = Reply{Header: resp.Header, Began: began, endpoint: e, body: resp.Body, size: resp.ContentLength, watch: w}
	if resp.StatusCode/100 == 2 { // some gateways give another one than 200
		if why := foreign.Header(resp.Header); why != "" {
			r.Close()
			return nil, e.failure(llm.OutcomeBadOutput, why, nil)
		}
		if ask.Body != nil && !by.answered.Load() { // some services show their models without a key
			by.answered.Store(true)
		}
		return r, nil
	}
	defer r.Close()
	start, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil && len(start) == 0 {
		return nil, w.failed(err)
	}
	return nil, e.refused(resp.StatusCode, resp.Header, unmarked(start), by.answered.Load())
}

// request makes the HTTP request. The transport follows no redirect.
func (e *Endpoint) request(w *watch, like *http.Request, ask Ask) *http.Request {
	r := &w.request
	*r = *like.WithContext(w)
	if r.URL = ask.at; r.URL == nil || r.URL.RawQuery != like.URL.RawQuery {
		r.URL = address(like.URL, ask.Path)
	}
	body := ask.Body
	if body == nil {
		return r
	}
	r.Method, r.ContentLength, r.Body = http.MethodPost, int64(len(body)), &w.content
	if w.content.Reset(body); !e.http.Takes(r) {
		r.Body = newBody(body)
		r.GetBody = func() (io.ReadCloser, error) { return newBody(body), nil } // for a connection that was closed while it was idle
	}
	return r
}

// address is that of a path behind a base.
func address(base *url.URL, path string) *url.URL {
	at := *base
	if at.Path += path; at.RawPath != "" {
		at.RawPath += path
	}
	return &at
}

// content is the body of a request, which has nothing to close.
type content struct{ bytes.Reader }

// Close implements io.Closer.
func (*content) Close() error { return nil }

// newBody is of a kind that net/http knows to be in memory: it sends it together with
// the header.
func newBody(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// unmarked is a text without the mark of the byte order that some servers, and some editors, begin it with.
func unmarked(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\ufeff")) }

// maxError is how much of an error's body is read.
const maxError = 64 << 10

// ReadAll reads the body of an answer that is no stream, as the server wrote it. It is the caller's until
// [Reply.Close], who hides the secrets in what it means ([Endpoint.Hide]).
func (r *Reply) ReadAll() ([]byte, error) {
	r.watch.whole() // also of a server that does not stream although asked
	data, err := r.read()
	if err != nil {
		return nil, r.watch.failed(err)
	}
	if len(data) > MaxAnswer {
		return nil, r.endpoint.failure(llm.OutcomeBadOutput, fmt.Sprintf("the answer has more than %d bytes", MaxAnswer), nil)
	}
	return unmarked(data), nil
}

// read reads the body into a buffer that is used again, up to one byte too many.
func (r *Reply) read() ([]byte, error) {
	if r.buffer, _ = r.endpoint.buffers.Get().(*[]byte); r.buffer == nil {
		r.buffer = new([]byte)
	}
	b := slices.Grow((*r.buffer)[:0], int(min(max(r.size, 0), maxKept))+bytes.MinRead)
	for {
		n, err := r.body.Read(b[len(b):min(cap(b), MaxAnswer+1)])
		b = b[:len(b)+n]
		*r.buffer = b
		switch {
		case errors.Is(err, io.EOF) || len(b) > MaxAnswer:
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			b = slices.Grow(b, cap(b))
		}
	}
}

// maxKept is the size of a buffer that is kept for another answer.
const maxKept = 64 << 10

// Close ends the request.
func (r *Reply) Close() {
	_ = r.body.Close() // nothing is lost with what was not read
	r.watch.stop()
	if r.buffer != nil && cap(*r.buffer) <= maxKept {
		r.endpoint.buffers.Put(r.buffer)
	}
	r.buffer = nil
}

// watch bounds a request with one timer, which every phase sets anew. It is the
// request's context, and holds the request and its reply: they are made and end together.
type watch struct {
	until.Context
	parent   context.Context
	endpoint *Endpoint
	of       *running  // nil = of no provider
	ends     time.Time // of the whole
	moved    bool      // the timer is set to another time
	silence  time.Duration

	request http.Request
	content content
	reply   Reply
}

func newWatch(parent context.Context, e *Endpoint, ask Ask) *watch {
	w := &watch{parent: parent, endpoint: e, of: ask.of, silence: e.Timeouts.Silence.Std()}
	whole := e.Timeouts.Whole.Std()
	if ask.Timeout > 0 {
		whole = min(whole, ask.Timeout)
	}
	w.ends = time.Now().Add(whole)
	first := whole
	if ask.Stream {
		first, w.moved = min(whole, e.Timeouts.FirstByte.Std()), true
	} else if theirs, ok := parent.Deadline(); ok && !theirs.After(w.ends) {
		first = until.NoTime // the parent's time is over before
	}
	w.Begin(parent, first, late{})
	w.Follow(parent)
	return w
}

// late is the cause of a request that ran out of time.
type late struct{}

func (late) Error() string { return "out of time" }

// heard is called when a part of a stream came.
func (w *watch) heard() {
	w.moved = true
	w.Move(min(w.silence, time.Until(w.ends)))
}

// whole gives the request the time of the whole.
func (w *watch) whole() {
	if w.moved {
		w.Move(time.Until(w.ends))
	}
}

func (w *watch) stop() {
	if w.of != nil {
		w.of.remove(w)
	}
	w.End(nil)
}

// failed classes the error of a transport.
func (w *watch) failed(err error) error {
	if stopped := llm.Stopped(w.parent, w.endpoint.Name); stopped != nil {
		return stopped
	}
	_, unsent := errors.AsType[*direct.Unconnected](err)
	why, final := foreign.Secure(err, unsent && w.endpoint.base.Scheme == "https")
	f := w.failure(err, why, final)
	f.Unsent = unsent
	return f
}

// failure makes the failure of an error. why says it in other words, if there are better ones; final is one that asking again
// does not help.
func (w *watch) failure(err error, why string, final bool) *llm.Failure {
	e := w.endpoint
	var timeout net.Error
	switch {
	case errors.Is(w.Cause(), late{}) && time.Now().Before(w.ends):
		return e.failure(llm.OutcomeTimeout, "nothing came in time (timeouts.first_byte and timeouts.silence of the endpoint)", nil)
	case errors.Is(w.Cause(), late{}):
		return e.failure(llm.OutcomeTimeout, "no answer in time", nil)
	case errors.As(err, &timeout) && timeout.Timeout():
		return e.failure(llm.OutcomeTimeout, cmp.Or(why, "no connection in time: "+err.Error()), err)
	case errors.Is(w.Cause(), closed{}):
		return e.failure(llm.OutcomeClosed, "the provider was closed", nil)
	case e.closed.Load():
		return e.failure(llm.OutcomeClosed, "the endpoint was closed", nil)
	}
	other, _ := errors.AsType[*direct.Foreign](err)
	switched, _ := errors.AsType[*noswitch.Switched](err)
	o := llm.OutcomeServerError
	if final || switched != nil || other.Known() {
		o = llm.OutcomeBadRequest
	}
	return e.failure(o, cmp.Or(why, err.Error()), err)
}

// failure makes the error of a request. The cause is not kept if its text would have to
// be hidden.
func (e *Endpoint) failure(o llm.Outcome, message string, cause error) *llm.Failure {
	hidden := e.Hide(message)
	if hidden != message {
		cause = nil
	}
	return &llm.Failure{Outcome: o, Message: e.Name + ": " + hidden, Cause: cause}
}

// Failed makes the failure of an answer that a provider could not use.
func (e *Endpoint) Failed(o llm.Outcome, format string, args ...any) *llm.Failure {
	return e.failure(o, fmt.Sprintf(format, args...), nil)
}
