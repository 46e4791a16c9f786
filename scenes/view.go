package scenes

import (
	"slices"

	"tavernsim/engine/bus"
	"tavernsim/protocol"
)

// ReadFact decodes a fact of any kind that a journal may hold.
func ReadFact(codec *protocol.Codec, kind string, data protocol.Raw) (protocol.Fact, error) {
	return readFact(codec, kind, data)
}

// Subscriptions lists what an agent hears: its definition's and what it
// changed since.
func (s *State) Subscriptions(o uint32) []bus.Subscription {
	added, removed := s.Bus.Changed(o)
	var list []bus.Subscription
	for _, sub := range s.scene.subscribers[o].Subscriptions {
		if !slices.Contains(removed, sub) && !slices.Contains(list, sub) {
			list = append(list, sub)
		}
	}
	return append(list, added...)
}
