package embed

import (
	"context"
	"slices"

	"tavernsim/engine/knowledge/vector"
	"tavernsim/engine/prompt"
	"tavernsim/llm"
	"tavernsim/protocol"
)

// Absent stands for the model of its name, which has no endpoint: every request fails.
type Absent string

// Name implements llm.Provider.
func (a Absent) Name() string { return string(a) }

// Close implements llm.Provider.
func (Absent) Close() error { return nil }

// Complete implements llm.Provider.
func (a Absent) Complete(_ context.Context, q *protocol.ModelRequest, _ llm.Sink) (protocol.ModelAnswer, error) {
	return a.Answer(q)
}

// Answer implements llm.Instant.
func (a Absent) Answer(*protocol.ModelRequest) (protocol.ModelAnswer, error) {
	return protocol.ModelAnswer{}, &llm.Failure{Outcome: llm.OutcomeUnavailable, Message: string(a) + ": there is no endpoint that gives vectors"}
}

// Blind gives vectors of zeros, while it is estimated what true ones would cost.
type Blind struct{ Absent }

func (Blind) Answer(q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
	a := protocol.ModelAnswer{Finish: protocol.FinishStop, Text: vector.Pack(slices.Repeat([][]int8{{0}}, len(q.Messages)))}
	a.Usage.Input = int64(prompt.Request(q))
	return a, nil
}
