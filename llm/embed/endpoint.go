package embed

import (
	"context"
	"fmt"
	"sync"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/openai"
	"tavernsim/protocol"
)

// MaxKept is how many answers an Endpoint keeps for who asks the same again.
const MaxKept = 4096

// Endpoint is a model at an endpoint. It is safe for concurrent use.
type Endpoint struct {
	name   string
	asks   Asks
	ctx    context.Context
	closed context.CancelFunc

	mu    sync.Mutex // guards what follows
	kept  map[string]*answer
	order []string // of kept, oldest first
}

// answer is one that came, or is on its way.
type answer struct {
	came chan struct{} // closed when it came
	is   protocol.ModelAnswer
	err  error
}

// Asks gives the vectors of texts, in their order, all with the same dimensions. Its failures are
// of the type llm.Failure.
type Asks interface {
	Embed(ctx context.Context, texts ...string) (*openai.Vectors, error)
}

// New makes the provider of a model, by the endpoint's name of it; dimensions may be 0. The
// endpoint is the caller's.
func New(to *endpoint.Endpoint, model string, dimensions int) *Endpoint {
	asks := openai.NewEmbedder(to, model)
	asks.Dimensions = dimensions
	return By(to.Name, asks)
}

// By makes a provider of a name that asks somebody else than an endpoint.
func By(name string, asks Asks) *Endpoint {
	e := &Endpoint{name: name, asks: asks, kept: map[string]*answer{}}
	e.ctx, e.closed = context.WithCancel(context.Background())
	return e
}

// Name implements llm.Provider: the endpoint's.
func (e *Endpoint) Name() string { return e.name }

// Close implements llm.Provider.
func (e *Endpoint) Close() error {
	e.closed()
	return nil
}

// Complete implements llm.Provider.
func (e *Endpoint) Complete(ctx context.Context, q *protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	texts, err := textsOf(e.name, q)
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	key := llm.Hash(protocol.AppendStrings(nil, texts))
	for {
		a, mine := e.find(key)
		if mine {
			a.is, a.err = e.ask(ctx, q, texts)
			if a.err != nil {
				e.forget(key)
			}
			close(a.came)
		} else if err := a.wait(ctx, e.name); err != nil {
			return protocol.ModelAnswer{}, err
		}
		if a.err != nil && !mine {
			continue // who asked may have been cancelled
		}
		if a.err != nil {
			return protocol.ModelAnswer{}, a.err
		}
		out := a.is
		o := *a.is.Origin
		out.Origin = &o
		return out, llm.Deliver(&out, sink)
	}
}

// wait returns when the answer came, or why the caller waits no longer.
func (a *answer) wait(ctx context.Context, name string) error {
	select {
	case <-a.came:
		if a.err == nil {
			return nil
		}
	case <-ctx.Done():
	}
	return llm.Stopped(ctx, name)
}

// find gives the answer to a question; mine = the caller has to ask.
func (e *Endpoint) find(key string) (a *answer, mine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a = e.kept[key]; a != nil {
		return a, false
	}
	if len(e.order) >= MaxKept {
		delete(e.kept, e.order[0])
		e.order = e.order[1:]
	}
	a = &answer{came: make(chan struct{})}
	e.kept[key], e.order = a, append(e.order, key)
	return a, true
}

func (e *Endpoint) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.kept, key)
	for i, k := range e.order {
		if k == key {
			e.order = append(e.order[:i:i], e.order[i+1:]...)
			return
		}
	}
}

func (e *Endpoint) ask(ctx context.Context, q *protocol.ModelRequest, texts []string) (a protocol.ModelAnswer, err error) {
	if q.Timeout > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, q.Timeout)
		defer done()
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(e.ctx, end)()
	v, err := e.asks.Embed(ctx, texts...)
	if err != nil {
		return a, err
	}
	list := make([][]int8, len(v.List))
	for i, x := range v.List {
		list[i] = vector.Of(x)
	}
	return protocol.ModelAnswer{
		Model: v.Model, Text: vector.Pack(list), Finish: protocol.FinishStop, Usage: v.Usage, Latency: v.Latency,
		Origin: &protocol.ModelOrigin{Endpoint: e.name, Attempts: 1, FirstChunk: v.Latency},
	}, nil
}

// textsOf are the texts of a request.
func textsOf(name string, q *protocol.ModelRequest) ([]string, error) {
	if q.Purpose != protocol.PurposeEmbed {
		return nil, &llm.Failure{Outcome: llm.OutcomeBadRequest, Message: fmt.Sprintf("%s: the model %s gives vectors and answers nothing; name another model", name, q.Model)}
	}
	texts := make([]string, len(q.Messages))
	for i := range q.Messages {
		texts[i] = q.Messages[i].Text
	}
	return texts, nil
}
