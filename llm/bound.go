package llm

import (
	"cmp"

	"tavernsim/protocol"
	"tavernsim/protocol/bound"
)

// Bound is the most that one attempt of a request takes.
type Bound struct {
	Input, Output int64 // tokens
	Cost          int64 // nano-dollars
	Priced        bool  // false = nobody knows what it costs
	Script        bool  // a script inside the program answers
	Saved         bool  // a recorded answer is taken, which counts nothing
	Recorded      bool  // the run is replayed: whatever is recorded counts as it did when an endpoint was asked, and nobody is asked
	Parts         []Part
}

// Part is the most that one attempt takes of an endpoint to which the request may come.
type Part struct {
	Endpoint string // name
	Tokens   int64
	Cost     int64 // nano-dollars
	Priced   bool  // false = nobody knows what it costs
	First    bool  // it is asked first; others only after failures
}

// Bounder is a Provider that knows the most that a request takes.
type Bounder interface {
	Provider
	Bound(req *protocol.ModelRequest) Bound
}

// defaultMaxTokens is what a provider sends if the request leaves it open.
const defaultMaxTokens = 1024

// BoundOf is the most that a request to a provider takes. That of a provider which
// answers at once is what its answer takes.
func BoundOf(p Provider, req *protocol.ModelRequest) Bound {
	for {
		if b, ok := p.(Bounder); ok {
			return b.Bound(req)
		}
		if i, ok := p.(Instant); ok {
			x, _ := i.Answer(req) // a failure takes what it says, too
			return Bound{Input: x.Usage.Input, Output: x.Usage.Output, Priced: true, Script: true}
		}
		w, ok := p.(interface{ Unwrap() Provider })
		if !ok {
			return Bound{Input: bound.Prompt(req), Output: int64(cmp.Or(req.MaxTokens, req.Cap, defaultMaxTokens))}
		}
		p = w.Unwrap()
	}
}
