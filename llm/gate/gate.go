// Package gate admits requests to an endpoint: package limit decides, and a gate is
// its lock and its timer.
package gate

import (
	"tavernsim/llm"
	"tavernsim/llm/limit"
	"tavernsim/protocol"
)

// Gate is that of one endpoint and key, for all scenes of the process.
type Gate struct {
	name string
}

// New makes the gate of an endpoint. name is the endpoint's, for metrics and errors.
func New(name string, o limit.Options) *Gate { return &Gate{name: name} }

// Name is the endpoint's.
func (g *Gate) Name() string { return g.name }

// Hint takes what the endpoint said about its limits, as soon as an answer's headers
// are read.
func (g *Gate) Hint(limit.Hints) {}

// Reopen lets requests through again after the endpoint was closed, because its
// configuration was loaded again.
func (g *Gate) Reopen() {}

// Gated is a provider whose requests pass the gates of its endpoints. The caller
// passes the gate, and sends a request again if the gate says so; the provider makes
// one attempt each time it is called.
type Gated interface {
	llm.Provider
	// Gate is the gate of the endpoint that gets the request, and an upper bound of
	// its tokens, those of the answer included.
	Gate(req *protocol.ModelRequest) (g *Gate, tokens int64)
}
