package machines

import (
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
)

// Blocked is the decision that the publisher of an event waits for some of its
// receivers; nil when it need not. The event is part of the state already. The
// scene itself never waits.
func (s *State) Blocked(x *bus.Routed) *director.Blocked {
	if !s.scene.Blocks {
		return nil
	}
	publisher, ok := s.scene.Ordinal(x.Source)
	if !ok || int(publisher) == s.scene.OwnOrdinal() {
		return nil
	}
	f := &director.Blocked{Agent: publisher, Event: x.ID}
	for o := range x.Receivers.All() {
		if s.Director.Blocks(publisher, o, PriorityFor(x, s.scene, o)) {
			f.Receivers = append(f.Receivers, o)
		}
	}
	if len(f.Receivers) == 0 {
		return nil
	}
	return f
}
