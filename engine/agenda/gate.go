package agenda

import "tavernsim/protocol"

// Gate is a reason why an agent rests: it hears events, and is not woken, also not by its
// own frequency. An agent rests while one of its gates is closed.
type Gate uint8

// Gates by who closes them.
const (
	ByScript Gate = 1 << iota // the state of the script
	away                      // it is not in the scene; see presence.go
)

// Close closes a gate of an agent. A publisher that waited for the agent goes on, because
// the agenda does not know when the agent has its next turn.
func (s *State) Close(g Gate, o uint32, now protocol.Time) {
	if s.slots[o].gates&g != 0 {
		return
	}
	s.slots[o].gates |= g
	s.letGo(o, everybody, now)
}

// Open opens a gate. An agent whose gates are all open is woken a tick later, if it was due
// or has heard something.
func (s *State) Open(g Gate, o uint32, now protocol.Time) {
	sl := &s.slots[o]
	if sl.gates&g == 0 {
		return
	}
	if sl.gates &^= g; sl.gates == 0 {
		s.back(o, now)
	}
}
