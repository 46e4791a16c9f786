package machines

import (
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
	"tavernsim/scenes/setup"
)

// World is the world state service at work.
type World struct {
	Rules *worldstate.Machine
	State worldstate.State
}

// Decide gives the facts of all requests, a part at a time; without requests,
// those of time that has passed.
func (w *World) Decide(in *RequestReader, now protocol.Time, give func(facts []protocol.Fact, more bool) error) error {
	r := worldReader{in: in}
	for {
		requests, more, err := r.next(MaxChanges)
		if err != nil {
			return err
		}
		d := w.Rules.Decide(w.State, now, requests)
		w.State = d.Next
		if err := give(d.Facts, more); err != nil || !more {
			return err
		}
	}
}

// worldReader takes the requests of a wave in parts that break no transaction.
type worldReader struct {
	in   *RequestReader
	held []worldstate.Request // read, and of the next part
}

// next gives about n requests; more tells whether others follow.
func (r *worldReader) next(n int) (part []worldstate.Request, more bool, err error) {
	raws, err := r.in.Next(n - len(r.held))
	if err != nil {
		return nil, false, err
	}
	part = append(make([]worldstate.Request, 0, len(raws)+len(r.held)), r.held...)
	r.held = nil
	for {
		for _, raw := range raws {
			q, err := worldstate.ReadRequest(raw)
			if err != nil {
				return nil, false, err
			}
			part = append(part, q)
		}
		last := len(part) - 1
		if last < n-1 || r.in.Left == 0 || part[last].Change.Group == "" {
			return part, r.in.Left > 0, nil
		}
		if last > 0 && part[last-1].Change.Group != part[last].Change.Group && last >= n {
			r.held = part[last:]
			return part[:last], true, nil
		}
		if raws, err = r.in.Next(1); err != nil {
			return nil, false, err
		}
	}
}

// ExpiresBefore reports whether what expires at a time comes before the next
// moment of the agenda, if it has some. What expires without anybody left to hear
// of it does not keep a scene going. Of a lease its holder hears; of a value who
// subscribed to changes of the world, and the scene's own condition.
func ExpiresBefore(sc *setup.Scene, at protocol.Time, someoneHears bool, next protocol.Time, some bool) (protocol.Time, bool) {
	switch {
	case at == 0:
		return 0, false
	case some:
		return at, at <= next
	}
	return at, someoneHears || sc.Condition != nil
}

// Expires reports whether something in the world expires before the next moment
// of the agenda, and when.
func (s *State) Expires(next protocol.Time, some bool) (protocol.Time, bool) {
	at := s.WorldState.NextExpiry()
	if at != 0 {
		at = max(s.Director.Grid(at), s.Director.Now)
	}
	return ExpiresBefore(s.scene, at, !s.WorldState.Leases().Empty() || s.Bus.HearsWorld(), next, some)
}

// setWorld keeps the document beside the state that holds it, for readers of a
// fold.
func (s *State) setWorld(w worldstate.State) { s.WorldState, s.World = w, w.World() }
