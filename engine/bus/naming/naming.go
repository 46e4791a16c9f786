// Package naming makes the ids of events. The tests of package bus check it.
package naming

import (
	"strconv"

	"tavernsim/protocol"
)

// Names gives ids to the events of a channel. Tell it of each event that was published by Follow;
// those of a turn come one after the other.
type Names struct {
	Prefix   string // of all ids
	Numbered bool   // all ids are numbers

	source string // of the last event
	turn   uint64
	n      uint64 // which of its turn's it is, from 1
}

// Give names a new event, made out of a draft, and its trace. seq is its number.
func (s *Names) Give(h *protocol.EventHeader, d *protocol.Draft, seq uint64) {
	switch {
	case d.RequiresAck && d.ID != "": // published again, under the id that its receivers know
	case s.Numbered || d.Turn == 0 || d.ID != "":
		h.ID = s.Number('e', seq)
	case s.turn == d.Turn && s.source == d.Source:
		h.ID = s.of(d, s.n+1)
	default:
		h.ID = s.of(d, 1)
	}
	switch {
	case h.TraceID != "":
	case s.Numbered:
		h.TraceID = s.Number('t', seq)
	default:
		h.TraceID = h.ID
	}
}

func (s *Names) of(d *protocol.Draft, n uint64) string {
	var room [96]byte
	b := append(append(append(room[:0], s.Prefix...), d.Source...), '/')
	b = append(strconv.AppendUint(b, d.Turn, 10), ".e"...)
	return string(strconv.AppendUint(b, n, 10))
}

// Number is the id of an event that no turn published.
func (s *Names) Number(letter byte, seq uint64) string {
	var room [96]byte
	return string(strconv.AppendUint(append(append(room[:0], s.Prefix...), letter), seq, 10))
}

// Follow counts the events of a turn.
func (s *Names) Follow(h *protocol.EventHeader) {
	if s.turn != h.Turn || s.source != h.Source {
		s.Seek(h.Source, h.Turn, 0)
	}
	s.n++
}

// Seek makes the next event of a turn the one behind the n-th.
func (s *Names) Seek(source string, turn, n uint64) { s.source, s.turn, s.n = source, turn, n }

// Numbered reports whether the id of an event of a turn is a number, which is seq.
func Numbered(h *protocol.EventHeader, seq uint64) bool {
	var own Names
	n := len(h.ID) - len(own.Number('e', seq))
	if n < 0 || h.ID[n:] != own.Number('e', seq) {
		return false
	}
	local := h.Source + "/" + strconv.FormatUint(h.Turn, 10) + "."
	return n < len(local) || h.ID[n-len(local):n] != local
}
