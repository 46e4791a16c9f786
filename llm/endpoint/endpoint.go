package endpoint

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"tavernsim/llm"
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

	base   string // of addresses, without the / at its end
	query  string
	header http.Header // of every request, with the key
	key    string      // never printed
	client *http.Client
	prices *price.Prices
	closed atomic.Bool
}

// New makes an endpoint. Relative files of the definition lie in dir.
func New(name string, given Definition, dir string, getenv func(string) string) (*Endpoint, error) {
	d := given.whole()
	key, err := readKey(name, given, d, dir, getenv)
	if err != nil {
		return nil, err
	}
	limits := limit.Options{Requests: d.Limits.RequestsPerMinute, Tokens: d.Limits.TokensPerMinute, Concurrency: d.Limits.MaxConcurrency, Fixed: d.Limits.Adaptive == nil || !*d.Limits.Adaptive}
	if err := limits.Check(); err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: %w", name, err)
	}
	e := &Endpoint{Name: name, Definition: d, Gate: gate.New(name, limits), base: strings.TrimRight(d.BaseURL, "/"), key: key, header: http.Header{"Content-Type": {"application/json"}}}
	for k, v := range d.Headers {
		e.header.Set(k, v)
	}
	switch a := d.auth(key); a {
	case "none":
	case "bearer":
		e.header.Set("Authorization", "Bearer "+key)
	default:
		e.header.Set(a, key)
	}
	if e.prices, err = price.Make(d.Preset, d.Prices, d.Free != nil && *d.Free); err != nil {
		return nil, err
	}
	query := url.Values{}
	for k, v := range d.Query {
		query.Set(k, v)
	}
	if e.query = query.Encode(); e.query != "" {
		e.query = "?" + e.query
	}
	transport, err := d.transport(name, dir)
	if err != nil {
		return nil, err
	}
	e.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
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
	file, err := located(d.CAFile, dir)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: ca_file: %w", name, err)
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: ca_file: %w", name, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, protocol.Errorf(protocol.KindInvalid, "endpoint %s: ca_file %s has no certificate in PEM form", name, d.CAFile)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// Close closes idle connections; later requests fail.
func (e *Endpoint) Close() error {
	e.closed.Store(true)
	e.client.CloseIdleConnections()
	return nil
}

// Prices are those of the endpoint's models, by its names of them.
func (e *Endpoint) Prices() *price.Prices { return e.prices }

// Hide takes the key out of a text.
func (e *Endpoint) Hide(s string) string {
	if e.key == "" || !strings.Contains(s, e.key) {
		return s
	}
	return strings.ReplaceAll(s, e.key, "[key]")
}

// String names the endpoint.
func (e *Endpoint) String() string { return e.Name }

// Ask is one request.
type Ask struct {
	Path    string // after the base: /chat/completions
	Body    []byte // nil = a GET
	Stream  bool   // the answer comes in parts
	Timeout time.Duration
}

// Reply is the answer to a request, whose status is 200. The caller closes it.
type Reply struct {
	Header http.Header
	Began  time.Time

	endpoint *Endpoint
	body     io.ReadCloser
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
	w := newWatch(ctx, e, ask)
	method, body := http.MethodPost, io.Reader(bytes.NewReader(ask.Body))
	if ask.Body == nil {
		method, body = http.MethodGet, http.NoBody
	}
	req, err := http.NewRequestWithContext(w.ctx, method, e.base+ask.Path+e.query, body)
	if err != nil {
		w.stop()
		return nil, e.failure(llm.OutcomeBadRequest, err.Error(), err)
	}
	req.Header = e.header
	began := time.Now()
	resp, err := e.client.Do(req) //nolint:bodyclose // Reply.Close does
	if err != nil {
		err = w.failed(err)
		w.stop()
		return nil, err
	}
	if h := hints(resp.Header); h != (limit.Hints{}) {
		h.Refused = resp.StatusCode != http.StatusOK && retryAfter(resp.Header, began) > 0
		e.Gate.Hint(began, h)
	}
	r := &Reply{Header: resp.Header, Began: began, endpoint: e, body: resp.Body, watch: w}
	if resp.StatusCode == http.StatusOK {
		return r, nil
	}
	defer r.Close()
	start, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil && len(start) == 0 {
		return nil, w.failed(err)
	}
	return nil, e.refused(resp.StatusCode, resp.Header, start)
}

// maxError is how much of an error's body is read.
const maxError = 64 << 10

// ReadAll reads the body of an answer that is no stream.
func (r *Reply) ReadAll() ([]byte, error) {
	r.watch.timer.Reset(time.Until(r.watch.ends)) // also of a server that does not stream although asked
	data, err := io.ReadAll(io.LimitReader(r.body, MaxAnswer+1))
	if err != nil {
		return nil, r.watch.failed(err)
	}
	if len(data) > MaxAnswer {
		return nil, r.endpoint.failure(llm.OutcomeBadOutput, fmt.Sprintf("the answer has more than %d bytes", MaxAnswer), nil)
	}
	if k := r.endpoint.key; k != "" && bytes.Contains(data, []byte(k)) {
		data = bytes.ReplaceAll(data, []byte(k), []byte("[key]"))
	}
	return data, nil
}

// Close ends the request.
func (r *Reply) Close() {
	_ = r.body.Close() // nothing is lost with what was not read
	r.watch.stop()
}

// watch bounds a request with one timer, which every phase sets anew.
type watch struct {
	ctx      context.Context
	parent   context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	endpoint *Endpoint
	ends     time.Time // of the whole
	silence  time.Duration
}

func newWatch(parent context.Context, e *Endpoint, ask Ask) *watch {
	w := &watch{parent: parent, endpoint: e, silence: e.Timeouts.Silence.Std()}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	whole := e.Timeouts.Whole.Std()
	if ask.Timeout > 0 {
		whole = min(whole, ask.Timeout)
	}
	w.ends = time.Now().Add(whole)
	first := whole
	if ask.Stream {
		first = min(whole, e.Timeouts.FirstByte.Std())
	}
	w.timer = time.AfterFunc(first, func() { w.cancel(late{}) })
	return w
}

// late is the cause of a request that ran out of time.
type late struct{}

func (late) Error() string { return "out of time" }

// heard is called when a part of a stream came.
func (w *watch) heard() { w.timer.Reset(min(w.silence, time.Until(w.ends))) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// failed classes the error of a transport.
func (w *watch) failed(err error) error {
	e := w.endpoint
	if stopped := llm.Stopped(w.parent, e.Name); stopped != nil {
		return stopped
	}
	var wrapped *url.Error // it has the address, which may have secrets of the user in its query
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var timeout net.Error
	switch {
	case errors.Is(context.Cause(w.ctx), late{}) && time.Now().Before(w.ends):
		return e.failure(llm.OutcomeTimeout, "nothing came in time (timeouts.first_byte and timeouts.silence of the endpoint)", nil)
	case errors.Is(context.Cause(w.ctx), late{}):
		return e.failure(llm.OutcomeTimeout, "no answer in time", nil)
	case errors.As(err, &timeout) && timeout.Timeout():
		return e.failure(llm.OutcomeTimeout, "no connection in time: "+err.Error(), err)
	case e.closed.Load():
		return e.failure(llm.OutcomeClosed, "the endpoint was closed", nil)
	}
	return e.failure(llm.OutcomeServerError, err.Error(), err)
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
