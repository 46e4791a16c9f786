package bus

import "slices"

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
