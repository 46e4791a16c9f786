package bus

import "slices"

// View is what others see of a channel between two decisions.
type View struct {
	World   bool   // some subscription is to changes of the world
	Grouped Ranges // agents with a subscription of a group, of which one hears an event
}

// View gives the state as it is now.
func (s *State) View() View {
	v := View{World: s.index.hearsWorld()}
	for _, g := range s.teams {
		v.Grouped = v.Grouped.And(g.members)
	}
	return v
}

// Changed lists the differences between an agent's subscriptions and its definition,
// in a fixed order.
func (s *State) Changed(o uint32) (added, removed []Subscription) {
	if s.perAgent[o] == 0 {
		return nil, nil
	}
	var found []change
	for c := range s.changes {
		if c.agent == o {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, compareChanges)
	for _, c := range found {
		if s.changes[c] {
			added = append(added, c.sub)
		} else {
			removed = append(removed, c.sub)
		}
	}
	return added, removed
}
