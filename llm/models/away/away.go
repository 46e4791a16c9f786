// Package away is for a run that goes on without endpoints that its models may ask: who asks none needs none. A request to one
// waits at a gate that lets nothing through, so it costs nothing and leaves no fact; whoever runs the scenes hears of it and
// stops the run.
package away

import (
	"context"

	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// Endpoints are those that a run lacks.
type Endpoints struct {
	prices map[string]*price.Price
	asked  chan string // the first that is asked
}

// New lacks endpoints. prices are those of models when the run began, by the names of their files: budgets reserve by them as before.
func New(prices map[string]*price.Price) *Endpoints { return &Endpoints{prices, make(chan string, 1)} }

// Model stands for the model of a file at such an endpoint; cost is nil if its price is not known.
func (e *Endpoints) Model(endpoint, file string) (m llm.Provider, cost *price.Price) {
	return &model{e, endpoint, gate.Shut(endpoint, notThere)}, e.prices[file]
}

// Watch calls stop in another goroutine with the first endpoint that is asked, once. over ends that, and says which it was; "" = none.
func (e *Endpoints) Watch(stop func(endpoint string)) (over func() string) {
	if e == nil {
		return func() string { return "" }
	}
	ended, first := make(chan struct{}), make(chan string, 1)
	go func() {
		select {
		case <-ended:
			first <- ""
		case name := <-e.asked:
			stop(name)
			first <- name
		}
	}()
	return func() string {
		close(ended)
		return <-first
	}
}

const notThere = "is in no file of endpoints"

type model struct {
	*Endpoints
	name string
	gate *gate.Gate
}

// Name implements llm.Provider.
func (m *model) Name() string { return m.name }

// Close implements llm.Provider.
func (*model) Close() error { return nil }

// Gate implements gate.Gated.
func (m *model) Gate(*protocol.ModelRequest) (*gate.Gate, int64) {
	select {
	case m.asked <- m.name:
	default: // the run stops already
	}
	return m.gate, 0
}

// Complete implements llm.Provider, for callers that pass no gate.
func (m *model) Complete(context.Context, *protocol.ModelRequest, llm.Sink) (protocol.ModelAnswer, error) {
	return protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeUnavailable, Message: m.name + ": it " + notThere}
}
