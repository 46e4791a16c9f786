package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
)

// turnMerged takes a turn whose facts are counted.
func (s *Stage) turnMerged(o uint32) {
	s.Spending.Merged(o)
	if s.realtime() { // it gives back what it had reserved and did not take
		s.grant()
	}
}

// turnCut takes a turn that was cut off; over = its agent has no other, whose facts could say what it took. virtual is that,
// on the virtual clock.
func (s *Stage) turnCut(o uint32, over bool, virtual []budget.Part) (err error) {
	if took := s.Spending.Cut(o, over, virtual); took != nil {
		err = s.keepOwn(&agenda.TurnAbandoned{Agent: o, Took: took})
	}
	if s.realtime() {
		s.grant()
	}
	return err
}

// chargeRest charges what the turns took that leave no facts because the scene ends: those under way on the realtime clock, and
// those that have failed and are not begun anew. In verify there are none, and the history says what they took.
func (s *Stage) chargeRest() error {
	if s.Agenda.Ended == "" {
		return nil
	}
	for _, f := range s.Spending.Rest() {
		if err := s.keepOwn(&f); err != nil {
			return err
		}
	}
	return nil
}

// grant lets the requests leave whose turn it is.
func (s *Stage) grant() {
	at := s.now.Wall
	if s.wave != nil && !s.realtime() {
		at = s.wave.time
	}
	for _, g := range s.Spending.Grants(at) {
		s.effect(Effect{Act: ActGrant, Agent: g.Agent, Grant: &g})
	}
}
