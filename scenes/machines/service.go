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
	// Decide gives the facts of all requests in their order, a part at a time, after it
	// has folded them. Without requests it gives the facts that passing time causes.
	Decide(in *RequestReader, now protocol.Time, give func(facts []protocol.Fact, more bool) error) error
	// Apply folds a fact of the service; facts of other machines change nothing.
	Apply(protocol.Fact) error
	// Publish writes the part of its state that agents and the stage may read.
	Publish(*View)
	Snapshot() (protocol.Raw, error)
	Load(protocol.Raw) error
}

// ServiceKind is one row of the table of services.
type ServiceKind struct {
	To    string // addressee of requests
	Actor string // of its facts
	New   func(*setup.Scene) (Service, error)
	// Due reports whether the service must decide in the open wave also without a
	// request; nil = never.
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

// View is the published state of the services between two waves. Agents deliberate
// against it, and the stage uses it to choose the next wave. It is immutable.
type View struct {
	World      *world.Document
	Expires    protocol.Time // next expiry in the world; 0 = never
	Leased     bool          // some lease is held
	Knowledge  knowledge.State
	Releases   protocol.Time // next release of held events; 0 = the channel holds none
	HearsWorld bool          // some subscription is to changes of the world
}
