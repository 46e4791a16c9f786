package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/protocol"
)

// turnMerged takes a turn whose facts are counted.
func (w *wave) turnMerged(o uint32) {
	w.Spending.Merged(o)
	if w.realtime() { // it gives back what it had reserved and did not take
		w.grant(w.now.Time)
	}
}

// tasksCounted takes the facts of the service of tasks: calls may leave again.
func (w *wave) tasksCounted() {
	if w.Spending.Taken(); w.realtime() {
		w.grant(w.now.Time)
	}
}

// turnCut takes a turn that was cut off; over = its agent has no other, whose facts could say what it took.
func (w *record) turnCut(o uint32, over bool) (err error) {
	if took := w.Spending.Cut(o, over); took != nil {
		err = w.keepOwn(&agenda.TurnAbandoned{Agent: o, Took: took})
	}
	if w.realtime() {
		w.grant(w.now.Time)
	}
	return err
}

// chargeRest charges what the turns took that leave no facts because the scene ends: those under way on the realtime clock, and
// those that have failed and are not begun anew. In verify there are none, and the history says what they took.
func (w *record) chargeRest() error {
	if w.Agenda.Ended == "" {
		return nil
	}
	for _, f := range w.Spending.Rest() {
		if err := w.keepOwn(&f); err != nil {
			return err
		}
	}
	return nil
}

// grant lets the requests leave whose turn it is.
func (s *shared) grant(at protocol.Time) {
	for _, g := range s.Spending.Grants(at) {
		s.effect(Effect{Act: ActGrant, Agent: g.Agent, Grant: &g})
	}
}
