package bus

import (
	"strconv"

	"tavernsim/protocol"
)

// Name is the id of the n-th event, from 1, of a publisher's turn. It depends on nobody else, so
// whoever runs the turn ahead knows it.
func Name(prefix, publisher string, turn, n uint64) string {
	var room [96]byte
	b := append(append(append(room[:0], prefix...), publisher...), '/')
	b = append(strconv.AppendUint(b, turn, 10), ".e"...)
	return string(strconv.AppendUint(b, n, 10))
}

// number is the id of an event that no turn published.
func (s *State) number(seq uint64) string {
	var room [96]byte
	return string(strconv.AppendUint(append(append(room[:0], s.cfg.NamespacePrefix...), 'e'), seq, 10))
}

// name is the id of a new event. The requests of a turn come to the channel one after the other.
func (s *State) name(d *protocol.Draft, seq uint64) string {
	if s.cfg.Numbered || d.Turn == 0 || d.ID != "" {
		return s.number(seq)
	}
	n := uint64(1)
	if s.last.turn == d.Turn && s.last.source == d.Source {
		n += s.last.n
	}
	return Name(s.cfg.NamespacePrefix, d.Source, d.Turn, n)
}

// follow counts the events of a turn.
func (s *State) follow(h *protocol.EventHeader) {
	if s.last.turn != h.Turn || s.last.source != h.Source {
		s.last.source, s.last.turn, s.last.n = h.Source, h.Turn, 0
	}
	s.last.n++
}

// Foretell is the fact of the n-th event of a turn that is published at a moment, if nothing
// decides but the event, the subscriptions and their filters; nil = more does. It is for a State
// that is asked nothing else but to fold. Without places (inSpace = there are some) it does not
// know who is near.
func (s *State) Foretell(now protocol.Time, d *protocol.Draft, n uint64, inSpace bool) *Routed {
	more := s.cfg.Numbered || len(s.cfg.Middleware) > 0 || len(s.teams) > 0 || !s.throttle.Idle() && !s.exempt(d.Source) || inSpace && len(s.filters) > 0
	if more || d.Turn == 0 || d.ID != "" || d.Reach != "" {
		return nil
	}
	s.last.source, s.last.turn, s.last.n = d.Source, d.Turn, n-1
	f, ok := s.Decide(now, d, nil).Facts[0].(*Routed)
	if !ok || len(f.Held) > 0 || f.FilterErrors > 0 {
		return nil
	}
	return f
}
