package setup

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/profile"
)

// bounds are the bounds of an agent's lanes that block; nil = it has none.
func bounds(lanes *profile.Lanes) *agenda.Bounds {
	if lanes == nil {
		return nil
	}
	b := &agenda.Bounds{}
	for i, l := range lanes {
		if l.Policy == profile.LaneBlock {
			b[i] = l.Max
		}
	}
	if *b == (agenda.Bounds{}) {
		return nil
	}
	return b
}
