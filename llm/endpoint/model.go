package endpoint

import (
	"cmp"
	"context"
	"net/url"
	"sync"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// Protocol is how models are asked by one protocol.
type Protocol interface {
	// Path is where questions are posted, after the base of the endpoint.
	Path() string
	// Ask writes the body of a request, which it leaves as it is, and makes the reader of its
	// answer.
	Ask(q *protocol.ModelRequest) (body []byte, r Reader, err error)
}

// Model is the provider of one model at an endpoint.
type Model struct {
	to       *Endpoint
	name     string
	stream   bool
	protocol Protocol
	at       *url.URL // where questions are posted
	running  running
}

// NewModel makes a provider of a model, by the endpoint's name of it. The endpoint is
// the caller's, who closes it after the provider.
func NewModel(to *Endpoint, name string, stream bool, p Protocol) *Model {
	return &Model{to: to, name: name, stream: stream, protocol: p, at: address(to.access.Load().like.URL, p.Path())}
}

// Name implements llm.Provider: the endpoint's.
func (m *Model) Name() string { return m.to.Name }

// Close implements llm.Provider.
func (m *Model) Close() error {
	m.running.end()
	return nil
}

// Complete implements llm.Provider.
func (m *Model) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (a protocol.ModelAnswer, err error) {
	body, r, err := m.protocol.Ask(q)
	if err != nil {
		return a, err
	}
	ask := Ask{Path: m.protocol.Path(), at: m.at, Body: body, Stream: m.stream, Timeout: q.Timeout, of: &m.running}
	a, err = m.to.Complete(ctx, ask, r, sink)
	if err == nil {
		a.Model = cmp.Or(a.Model, m.name)
	}
	return a, err
}

// running are the requests of a provider that are out.
type running struct {
	mu     sync.Mutex
	out    map[*watch]struct{}
	closed bool
}

// add notes a request; false = the provider is closed.
func (r *running) add(w *watch) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	if r.out == nil {
		r.out = map[*watch]struct{}{}
	}
	r.out[w] = struct{}{}
	return true
}

func (r *running) remove(w *watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.out, w)
}

// end ends them all, and lets no more out.
func (r *running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for w := range r.out {
		w.End(closed{})
	}
}

// closed is the cause of a request that ended with its provider.
type closed struct{}

func (closed) Error() string { return "the provider was closed" }
