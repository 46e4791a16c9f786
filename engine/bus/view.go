package bus

import "tavernsim/engine/bus/ordinals"

// View is what others see of a channel between two decisions.
type View struct {
	World   bool   // some subscription is to changes of the world
	Grouped Ranges // agents with a subscription of a group, of which one hears an event
}

// View gives the state as it is now.
func (s *State) View() View {
	if s.regroup {
		sets := make([]Ranges, 0, len(s.teams))
		for g := range s.teams {
			g.lent = true
			sets = append(sets, g.members)
		}
		s.grouped, s.regroup = ordinals.Union(sets), false
	}
	return View{World: s.index.hearsWorld(), Grouped: s.grouped}
}

// Changed lists the differences between an agent's subscriptions and its definition,
// in a fixed order.
func (s *State) Changed(o uint32) (added, removed []Subscription) {
	for _, c := range s.changes[o] {
		if c.on {
			added = append(added, c.sub)
		} else {
			removed = append(removed, c.sub)
		}
	}
	return added, removed
}
