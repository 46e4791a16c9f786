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
