package bus

import "tavernsim/engine/bus/filter"

// Subscribers are the agents of a scene by ordinal, 0 to Len()-1. They never change; the channel asks
// them and keeps no copy.
type Subscribers interface {
	Len() int
	Name(ordinal uint32) string // instance id; none is empty, and no two are equal
	Profile(ordinal uint32) string
	Subscriptions(ordinal uint32) []Subscription // of its definition; agents of a class share the slice
	Ordinal(instanceID string) (uint32, bool)
}

// self is an agent as filters see it. The table is made for the first filter that asks.
func (s *State) self(o uint32) *filter.Self {
	if s.selves == nil {
		s.selves = make([]filter.Self, s.subscribers.Len())
	}
	who := &s.selves[o]
	if who.ID == nil {
		*who = filter.Self{ID: s.subscribers.Name(o), Profile: s.subscribers.Profile(o)}
	}
	return who
}
