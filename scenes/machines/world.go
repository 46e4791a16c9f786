package machines

import (
	"slices"

	"tavernsim/engine/statecmd"
	"tavernsim/engine/world"
	"tavernsim/engine/world/lease"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/packed"
)

// World is the world state service.
type World struct {
	State worldstate.State

	rules *worldstate.Machine
	paths world.Paths // of requests
	read  worldReader // of the open wave
}

// ActorWorld is the actor of the world's facts.
const ActorWorld = ofService + worldstate.Service

func worldKind() ServiceKind {
	return ServiceKind{Name: worldstate.Service, New: newWorld, Facts: worldstate.Facts, Read: readWorldRequest, Early: true}
}

func newWorld(sc *setup.Scene) (Service, error) {
	doc, err := world.FromValue(sc.Def.Definition.InitialWorldState, 1)
	if err != nil {
		return nil, sc.Errorf("initial_world_state: %w", err)
	}
	return &World{State: worldstate.NewState(doc), rules: sc.Rules}, nil
}

// Decide implements Service.
func (w *World) Decide(in *packed.Reader, now protocol.Time, give func(facts []protocol.Fact, more bool) error) error {
	r := &w.read
	if r.in, r.paths = in, &w.paths; !in.Open {
		defer func() { w.read = worldReader{} }()
	}
	for {
		requests, more, err := r.next(MaxChanges)
		if err != nil || in.Open && !more { // what follows may belong to this part
			return err
		}
		d := w.rules.Decide(w.State, now, requests)
		w.State = d.Next
		if err := give(d.Facts, more); err != nil || !more {
			return err
		}
	}
}

// Apply implements Service.
func (w *World) Apply(f protocol.Fact) (err error) {
	switch f.(type) {
	case *world.Committed, *statecmd.Committed, *lease.Leased, *lease.Released:
		w.State, err = w.rules.Apply(w.State, f)
	case *world.Refused, *worldstate.Granted: // they change nothing
	default:
		err = unfolded(f)
	}
	return err
}

// Publish implements Service.
func (w *World) Publish() Part {
	return Part{Shown: w.State}
}

// Snapshot implements Service.
func (w *World) Snapshot(*protocol.Codec) (protocol.Raw, error) { return w.State.AppendSnapshot(nil) }

// Load implements Service.
func (w *World) Load(_ *protocol.Codec, raw protocol.Raw) (err error) {
	w.State, err = worldstate.ReadSnapshot(raw)
	return err
}

// readWorldRequest reads a request; a plain change is only that.
func readWorldRequest(raw protocol.Raw) (any, error) {
	q, err := worldstate.ReadRequest(raw)
	if err != nil || q.Kind != worldstate.Change || q.Always {
		return q, err
	}
	return q.Change, nil
}

// worldReader splits the requests of a wave into parts, but never a transaction.
type worldReader struct {
	in    *packed.Reader
	paths *world.Paths
	part  []worldstate.Request
	given int // of part, by the last call
}

// next gives about n requests, valid until the next call; more = others follow. Without others an open list
// keeps them for the next call.
func (r *worldReader) next(n int) (part []worldstate.Request, more bool, err error) {
	if r.given > 0 {
		r.part, r.given = append(r.part[:0], r.part[r.given:]...), 0
	}
	for want := n - len(r.part); ; want = 1 {
		raws, err := r.in.Next(max(0, want))
		if err != nil {
			return nil, false, err
		}
		room := len(raws)
		if r.in.Open { // a part comes in several messages
			room = max(room, n-len(r.part))
		}
		r.part = slices.Grow(r.part, room)
		for _, raw := range raws {
			r.part = append(r.part, worldstate.Request{}) // and read in place: it is large
			if err := r.part[len(r.part)-1].Read(raw, r.paths); err != nil {
				return nil, false, err
			}
		}
		last := len(r.part) - 1
		switch {
		case r.in.Left == 0:
			if !r.in.Open {
				r.given = len(r.part)
			}
			return r.part, false, nil
		case r.part[last].Change.Group == "":
			r.given = len(r.part)
		case last >= n && r.part[last-1].Change.Group != r.part[last].Change.Group:
			r.given = last
		default:
			continue
		}
		return r.part[:r.given:r.given], true, nil
	}
}
