package openai

import (
	"cmp"
	"context"
	"sync/atomic"

	"tavernsim/llm"
	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
)

// Provider asks one model at one endpoint.
type Provider struct {
	to      *endpoint.Endpoint
	dialect endpoint.Dialect
	model   string
	stream  bool
	closed  atomic.Bool
}

// New makes a provider of a model, by the endpoint's name of it.
func New(to *endpoint.Endpoint, model string, stream bool) *Provider {
	return &Provider{to: to, dialect: to.Dialect, model: model, stream: stream}
}

// Name implements llm.Provider: the endpoint's.
func (p *Provider) Name() string { return p.to.Name }

// Close implements llm.Provider.
func (p *Provider) Close() error {
	p.closed.Store(true)
	return nil
}

// Complete implements llm.Provider.
func (p *Provider) Complete(ctx context.Context, q protocol.ModelRequest, sink llm.Sink) (protocol.ModelAnswer, error) {
	if p.closed.Load() {
		return protocol.ModelAnswer{}, p.to.Failed(llm.OutcomeClosed, "the provider is closed")
	}
	names := endpoint.NewNames(&q)
	body, err := p.encode(&q, names)
	if err != nil {
		return protocol.ModelAnswer{}, err
	}
	a, err := p.to.Complete(ctx, endpoint.Ask{Path: "/chat/completions", Body: body, Stream: p.stream, Timeout: q.Timeout}, &reading{Provider: p, names: names}, sink)
	if err == nil {
		a.Model = cmp.Or(a.Model, p.model)
	}
	return a, err
}
