package agenda

import (
	"slices"

	"tavernsim/protocol"
)

// Resting reports whether somebody lets an agent rest.
func (s *State) Resting(o uint32) bool { return s.slots[o].resting }

// Rested applies the fact that agents rest. A turn that they have begun goes on. Nobody
// waits for them to read.
func (s *State) Rested(f Rested, now protocol.Time) {
	for _, o := range f.Agents {
		s.slots[o].resting = true
		s.letGo(o, everybody, now)
	}
}

// RestEnded applies the fact that agents rest no longer. One that was due meanwhile, or
// heard something that wakes it, is due at the next moment.
func (s *State) RestEnded(f RestEnded, now protocol.Time) {
	for _, o := range f.Agents {
		s.slots[o].resting = false
		s.back(o, now)
	}
}

// ordered refuses a fact of agents that are none, or not in ascending order.
func ordered[F Rested | RestEnded](f *F) error {
	var agents []uint32
	switch x := any(f).(type) {
	case *Rested:
		agents = x.Agents
	case *RestEnded:
		agents = x.Agents
	}
	if len(agents) > 0 && slices.IsSorted(agents) {
		return nil
	}
	return protocol.Errorf(protocol.KindCorrupt, "agents that rest: want at least one, in ascending order")
}
