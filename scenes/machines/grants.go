package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/protocol"
)

// turnMerged takes a turn whose facts are counted.
func (w *wave) turnMerged(o uint32) {
	w.Spending.Merged(o)
	w.grantNow() // it gives back what it had reserved and did not take
}

// turnCut takes a turn that was cut off; over = its agent has no other, whose facts could say what it took.
func (w *record) turnCut(o uint32, over bool) (err error) {
	if took := w.Spending.Cut(o, over); took != nil {
		err = w.keepOwn(&agenda.TurnAbandoned{Agent: o, Took: took})
	}
	w.grantNow()
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

// grantNow lets requests leave that the end of something else has room for, on the realtime clock.
func (s *shared) grantNow() {
	if s.realtime() {
		s.grant(s.now.Time)
	}
}

// grant lets the requests leave whose turn it is.
func (s *shared) grant(at protocol.Time) {
	for _, g := range s.Spending.Grants(at) {
		s.effect(Effect{Act: ActGrant, Agent: g.Agent, Grant: &g})
	}
}
