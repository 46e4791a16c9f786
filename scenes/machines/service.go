package machines

import (
	"tavernsim/engine/knowledge"
	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// Service is a machine that decides about the requests of a wave. A live scene puts
// it behind a mailbox; a fold and verify call it.
type Service interface {
	// Decide gives the facts of all requests in their order, a part at a time, and has
	// folded what it gives. Without requests it gives the facts of time that has passed.
	Decide(in *RequestReader, now protocol.Time, give func(facts []protocol.Fact, more bool) error) error
	// Apply folds a fact of its own; facts of others change nothing.
	Apply(protocol.Fact) error
	// Publish writes what others may know of it between two waves.
	Publish(*View)
	Snapshot() (protocol.Raw, error)
	Load(protocol.Raw) error
}

// ServiceKind is one row of the table of services.
type ServiceKind struct {
	To    string // addressee of requests
	Actor string // whose facts they are
	New   func(*setup.Scene) (Service, error)
	// Due reports whether the service has something to decide although no request
	// asks for it; nil = never.
	Due func(*Stage) bool
}

// Services lists the services in the order in which they decide about a wave.
func Services() []ServiceKind {
	return []ServiceKind{
		{To: protocol.ToWorld, Actor: setup.ActorWorld, New: newWorld, Due: (*Stage).worldExpires},
		{To: protocol.ToKnowledge, Actor: setup.ActorKnowledge, New: newKnowledge},
		{To: protocol.ToEvents, Actor: setup.ActorEvents, New: newEvents, Due: (*Stage).channelReleases},
	}
}

// View is what the services show between two waves. Agents deliberate against it,
// and the stage decides by it what comes next. It never changes once it is given.
type View struct {
	World      *world.Document
	Expires    protocol.Time // when something in the world expires next; 0 = never
	Leased     bool          // leases are held
	Knowledge  knowledge.State
	Releases   protocol.Time // when the channel releases next what it holds; 0 = it holds nothing
	HearsWorld bool          // a subscription listens to changes of the world
}
