package machines

import (
	"slices"

	"tavernsim/engine/bus"
	"tavernsim/scenes/load/setup"
)

// Subscriptions lists the subscriptions of an agent: those of its definition, with
// its changes.
func (s *State) Subscriptions(o uint32) []bus.Subscription { return Subscriptions(s.scene, s.Bus(), o) }

// Subscriptions are those that an event channel of a scene has of an agent.
func Subscriptions(sc *setup.Scene, channel *bus.State, o uint32) []bus.Subscription {
	added, removed := channel.Changed(o)
	var list []bus.Subscription
	for _, sub := range sc.Subscriptions(o) {
		if !slices.Contains(removed, sub) && !slices.Contains(list, sub) {
			list = append(list, sub)
		}
	}
	return append(list, added...)
}

// ID is the id of the scene.
func (s *State) ID() string { return s.scene.ID }

// Name is the instance id of an agent by its ordinal; the last one, behind Size
// agents, is the scene's own.
func (s *State) Name(ordinal uint32) string { return s.scene.Name(ordinal) }

// Ordinal finds an agent by its instance id.
func (s *State) Ordinal(instance string) (ordinal uint32, ok bool) { return s.scene.Ordinal(instance) }

// Profile is the profile id of an agent.
func (s *State) Profile(ordinal uint32) string { return s.scene.Profile(ordinal) }
