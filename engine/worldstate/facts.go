package worldstate

import (
	"slices"

	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/engine/world/lease"
	"tavernsim/protocol"
)

// FactGranted is the kind of the service's own fact; others are of packages world and
// statecmd.
const FactGranted = "world.granted"

// Granted records that a request was carried out which wanted an answer also on
// success. It changes nothing. Version 1 of this fact.
type Granted struct {
	Time    protocol.Time
	Version int64 // of the world afterwards
	Op      string
	Path    world.Path
	By      string
	Request string
}

// FactKind implements protocol.Fact.
func (*Granted) FactKind() string { return FactGranted }

// Facts are the kinds of all facts of the service.
func Facts() []protocol.FactType {
	return slices.Concat(world.Facts(), lease.Facts(), statecmd.Facts(), []protocol.FactType{protocol.ByCodec[Granted]()})
}

// Answers implements protocol.Answering.
func (g *Granted) Answers() (protocol.Answer, bool) {
	return protocol.Answer{To: g.By, Kind: "world_granted", Wakes: true}, true
}

// Told implements protocol.Answering.
func (g *Granted) Told() map[string]any {
	return map[string]any{"request_id": g.Request, "path": g.Path.String(), "op": g.Op, "version": g.Version}
}

// Commit is one step of the document's version.
type Commit struct {
	Before, After int64
	Changes       []world.Change
	Batch         string // request of changes that name none
}

// CommitOf returns the commit in a fact of the service.
func CommitOf(f protocol.Fact) (c Commit, ok bool) {
	switch x := f.(type) {
	case *world.Committed:
		return Commit{x.Before, x.After, x.Changes, ""}, true
	case *statecmd.Committed:
		for i := range x.Parts {
			if p := &x.Parts[i]; p.Document == document && p.After != p.Before {
				return Commit{p.Before, p.After, p.Changes, x.BatchName()}, true
			}
		}
	}
	return c, false
}
