package agent

import "tavernsim/engine/world"

// worldView is the world of the turn's wake. All reads of the turn go through it,
// so that it can note the places on which the decision depends.
type worldView struct {
	*world.Document
	// asked are the places that tools read, for check_reads: at most one more than a
	// request may declare.
	asked []world.Path
}

func (v *worldView) ask(path world.Path) {
	if len(v.asked) <= MaxReads {
		v.asked = append(v.asked, path)
	}
}
