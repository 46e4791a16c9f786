package setup

import (
	"tavernsim/engine/agent"
	"tavernsim/engine/director"
)

// bounds are the lanes of an agent that block; nil = it has none.
func bounds(lanes *agent.Lanes) *director.Bounds {
	if lanes == nil {
		return nil
	}
	b := &director.Bounds{}
	for i, l := range lanes {
		if l.Policy == agent.LaneBlock {
			b[i] = l.Max
		}
	}
	if *b == (director.Bounds{}) {
		return nil
	}
	return b
}
