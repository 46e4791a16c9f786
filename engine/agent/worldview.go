package agent

import "tavernsim/engine/world"

// worldView is the world that a turn was woken with. Every read of the turn goes
// through it, so one place can note what a decision depends on.
type worldView struct {
	*world.Document
	// asked are the places that tools read, for check_reads. One more than may be
	// declared is enough to know that there are too many.
	asked []world.Path
}

func (v *worldView) ask(path world.Path) {
	if len(v.asked) <= MaxReads {
		v.asked = append(v.asked, path)
	}
}
