package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tavernsim/internal/noswitch"
	"tavernsim/protocol"
	"tavernsim/tools/child"
	"tavernsim/tools/httpcall"
	"tavernsim/tools/manifest"
)

// web is a server that is reached over HTTP.
type web struct {
	of     *manifest.Server
	client *http.Client
	header map[string]string
	below  http.RoundTripper
	broken atomic.Pointer[child.Violation]
	untold goodbyes
	other  atomic.Bool // the server says that its tools are others
}

// newWeb makes one with its secrets in the headers of every request. With headers of its
// own it follows no redirection.
func newWeb(of *manifest.Server, secrets func(id string, names []string) (map[string]string, error)) (*web, error) {
	w := &web{of: of, client: httpcall.Client(of.MayDial)}
	if names := of.Secrets(); len(of.Headers) > 0 {
		var values map[string]string
		if secrets == nil && len(names) > 0 {
			return nil, protocol.Errorf(protocol.KindDenied, "there are no secrets for it (--secrets)")
		}
		if len(names) > 0 {
			var err error
			if values, err = secrets("mcp:"+of.ID, names); err != nil {
				return nil, err
			}
		}
		w.header = of.HeaderOf(values)
		w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	w.below = w.client.Transport
	w.client.Transport = w
	return w, nil
}

// maxResumed is how often the answer to one call is asked for again where its stream broke
// off, with the id of the last event: that is no second call.
const maxResumed = 3

// transport bounds events above what a server may send: values in them are written as texts ([sound.Message]).
func (w *web) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: w.of.URL, HTTPClient: w.client, MaxRetries: maxResumed, MaxEventSize: 2 * child.MaxMessage}
}

func (w *web) changed() bool { return w.other.Swap(false) }

func (w *web) fault() error {
	if v := w.broken.Load(); v != nil {
		return *v
	}
	return nil
}

// leaves is the key of an atomic.Bool in the context of a call, which says that a request of it was made.
type leaves struct{}

func (w *web) left(ctx context.Context) bool {
	did, is := ctx.Value(leaves{}).(*atomic.Bool)
	return !is || did.Load()
}

func (w *web) cancelled() { w.untold.add(1) }

// goodbye waits until the server was told of the calls that were cancelled.
func (w *web) goodbye() { w.untold.wait(maxGoodbye) }

func (w *web) leave(time.Time) {} // the server goes on without us

func (w *web) cut() {
	(&http.Client{Transport: w.below}).CloseIdleConnections()
}

// maxGoodbye bounds the request that ends a session, and the wait before it.
const maxGoodbye = 2 * time.Second

// RoundTrip implements http.RoundTripper: it bounds answers, counts the calls of which a
// server was told that they are cancelled, and keeps the stream of what the server says by
// itself.
func (w *web) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := w.fault(); err != nil && q.Method != http.MethodDelete {
		return nil, err
	}
	if q.Method == http.MethodDelete {
		ctx, stop := context.WithTimeout(q.Context(), maxGoodbye)
		defer stop()
		q = q.WithContext(ctx)
	}
	if isGoodbye(q) {
		defer w.untold.add(-1)
	}
	q = q.Clone(q.Context())                    // a RoundTripper leaves requests as they are
	q.Header.Set("Accept-Encoding", "identity") // no header would allow every encoding
	if len(w.header) > 0 {
		for name, value := range w.header {
			if strings.ContainsAny(value, "\r\n\x00") {
				return nil, errors.New("the secret has characters that a header cannot have")
			}
			q.Header.Set(name, value)
		}
	}
	if q.Method == http.MethodGet && q.Header.Get(lastEvent) == "" || q.Method == http.MethodPost && q.Header.Get(methodHeader) == subscribes {
		return listen(w, q), nil
	}
	if did, is := q.Context().Value(leaves{}).(*atomic.Bool); is {
		did.Store(true)
	}
	a, err := w.below.RoundTrip(q)
	if _, switched := errors.AsType[*noswitch.Switched](err); switched {
		return nil, &refused{status: http.StatusSwitchingProtocols, inside: q.Header.Get(sessionID) != ""}
	}
	if err != nil {
		return nil, err
	}
	if r := refusalOf(q, a); r != nil {
		return nil, r
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	whole := a.StatusCode == http.StatusOK
	if !whole || kind != events { // of a stream each event is bounded, and how many there are
		a.Body = &bounded{ReadCloser: a.Body, left: child.MaxMessage + 1, of: w}
	}
	if whole && (kind == events || kind == "application/json") {
		a.Body = hearing(w, q, kind, a.Body)
		a.ContentLength = -1 // it may become another
	}
	return a, nil
}

// methodHeader names the method of a message, where servers have no sessions. subscribes is the one by which a client
// asks for what such a server says by itself.
const (
	methodHeader = "Mcp-Method"
	subscribes   = "subscriptions/listen"
	discovers    = "server/discover"
	acknowledges = "notifications/subscriptions/acknowledged" // the first message of a subscription
)

// events is the media type of a stream of events.
const events = "text/event-stream"

// breaks notes why nothing more can be read: the server breaks the protocol.
func (w *web) breaks(err error) error {
	v := child.Violated("%w", err)
	w.broken.Store(&v)
	return v
}

type bounded struct {
	io.ReadCloser
	left int64
	of   *web
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.of.breaks(errors.New("an answer has more than 8 MiB"))
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
