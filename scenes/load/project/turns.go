package project

import (
	"tavernsim/engine/script/turns"
)

// linkTurns checks the order of turns of a scene.
func (l *loader) linkTurns(s *Scene) {
	if s.Definition.Turns != nil {
		l.turns(s, s.Definition.Turns, "turns")
	}
}

// turns checks an order of turns at a place of a scene.
func (l *loader) turns(s *Scene, d *turns.Turns, steps ...any) {
	for _, f := range d.Faults() {
		l.fault(s.doc, at(append(steps, f.Field)...), f.Hint, "%s", f.Message)
	}
	l.linkSelectors(s, d.Participants, append(steps, "participants")...)
	l.linkSelectors(s, d.Order, append(steps, "order")...)
}
