package llm

import (
	"time"

	"tavernsim/protocol"
)

// Router is a Provider with several models, which chooses one for each request.
type Router interface {
	Provider
	// Route chooses the model that answers and keeps the choice in the request. The
	// shell calls it before it asks anything else about the request, while its Asker is
	// there; a second call gives the same.
	Route(q *protocol.ModelRequest) Route
	// Next chooses another model after the chosen one has failed for good; false = the
	// failure is the answer. failed is what came with the failure.
	Next(q *protocol.ModelRequest, failed *protocol.ModelAnswer, err error) (Route, bool)
	// AppendChoice encodes which models a request may come to, after Route.
	AppendChoice(b []byte, q *protocol.ModelRequest) []byte
	// Now answers a request whose Route is instant.
	Now(q *protocol.ModelRequest) (protocol.ModelAnswer, error)
}

// Route is what a shell needs to know of the model that was chosen.
type Route struct {
	Instant  bool          // it answers without waiting, by Now
	Endpoint string        // that is asked, by name; "" = none
	Patience time.Duration // how long the request may wait at a gate; 0 = as long as others
}

// Sharing is a Provider that knows which requests one answer does for.
type Sharing interface {
	Provider
	// Alike names what a request asks and whom, after Route: any answer does for all requests with this name. "" = the
	// request needs an answer of its own, or has one that is recorded.
	Alike(q *protocol.ModelRequest) string
	// Shared notes that a request got the answer to another one.
	Shared(a *protocol.ModelAnswer)
}
