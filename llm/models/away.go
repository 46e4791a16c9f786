package models

import (
	"context"

	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/price"
	"tavernsim/protocol"
)

// Away is for a run that goes on without endpoints that its models may ask: who asks none needs none. A request to one
// waits at a gate that lets nothing through, so it costs nothing and leaves no fact.
type Away struct {
	Prices map[string]*price.Price // when the run began, by the name of the model's file; budgets reserve by them as before
	Asked  func(endpoint string)   // one is asked, so the run must stop; it returns at once, and is called often
}

// from makes a model whose endpoint is away.
func (a *asked) from(away *Away) *asked {
	a.Provider = &absent{away, a.name, gate.Shut(a.name, notThere)}
	if p := away.Prices[a.file]; p != nil {
		a.price, a.priced = *p, true
	}
	return a
}

const notThere = "is in no file of endpoints"

// absent is the endpoint of a model that is away.
type absent struct {
	*Away
	name string
	gate *gate.Gate
}

func (x *absent) Name() string { return x.name }

func (*absent) Close() error { return nil }

// Complete implements llm.Provider, for callers that pass no gate.
func (x *absent) Complete(context.Context, *protocol.ModelRequest, llm.Sink) (protocol.ModelAnswer, error) {
	return protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeUnavailable, Message: x.name + ": it " + notThere}
}
