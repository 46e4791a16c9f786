package setup

import (
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/director"
)

// bounds are the lanes of an agent that block; nil = it has none.
func bounds(lanes *profile.Lanes) *director.Bounds {
	if lanes == nil {
		return nil
	}
	b := &director.Bounds{}
	for i, l := range lanes {
		if l.Policy == profile.LaneBlock {
			b[i] = l.Max
		}
	}
	if *b == (director.Bounds{}) {
		return nil
	}
	return b
}
