package agenda

import "tavernsim/protocol"

// A gated agent hears everything and is not woken: its own frequency, its sleep and what it
// hears rest until somebody calls it or opens its gate. Its slot has the bits below.
const (
	heldBack   = 1 << iota // it is gated
	heldAlert              // but something critical wakes it
	heldMissed             // it heard something for which it would have been woken
)

// HoldBack gates an agent. With alert, something critical that it hears wakes it nevertheless.
func (s *State) HoldBack(o uint32, alert bool) {
	sl := &s.slots[o]
	sl.held |= heldBack
	if sl.held &^= heldAlert; alert {
		sl.held |= heldAlert
	}
	sl.rest()
}

// LetGo ends the gate of an agent. What it would have been woken for wakes it now.
func (s *State) LetGo(o uint32, now protocol.Time) {
	sl := &s.slots[o]
	if sl.held == 0 {
		return
	}
	at := s.grid(now.Add(s.cfg.reaction()))
	if sl.held&heldMissed != 0 && sl.heard == 0 {
		sl.heard, s.arrived(o).at = at, now
	}
	if sl.due != 0 && sl.due < at {
		sl.due = at
	}
	sl.held = 0
	s.enqueue(o)
}

// Call opens the gate of an agent and wakes it at a time, also one that sleeps. After that
// turn its own frequency counts again.
func (s *State) Call(o uint32, at protocol.Time) {
	sl := &s.slots[o]
	sl.held, sl.asleep = 0, false
	sl.due = s.grid(at)
	s.enqueue(o)
}

// passes reports whether an event of a priority wakes an agent at its gate; else the slot
// keeps that it missed something.
func (sl *slot) passes(p protocol.Priority) bool {
	if sl.held&heldBack == 0 || sl.held&heldAlert != 0 && p == protocol.Critical {
		return true
	}
	sl.held |= heldMissed
	return false
}

// rest forgets, of a gated agent, a wake that does not pass its gate.
func (sl *slot) rest() {
	if sl.held&heldBack == 0 || sl.heard == 0 || sl.held&heldAlert != 0 && sl.priority == protocol.Critical {
		return
	}
	sl.heard, sl.hurries = 0, false
	sl.held |= heldMissed
}
