package machines

import "tavernsim/engine/agenda"

// turnMerged takes a turn whose facts are counted.
func (s *Stage) turnMerged(o uint32) {
	s.Spending.Merged(o)
	if s.realtime() { // it gives back what it had reserved and did not take
		s.grant()
	}
}

// turnCut takes a turn that was cut off; over = its agent has no other, whose facts could say what it took.
func (s *Stage) turnCut(o uint32, over bool) (err error) {
	if took := s.Spending.Cut(o, over); took != nil {
		err = s.keepOwn(&agenda.TurnAbandoned{Agent: o, Took: took})
	}
	if s.realtime() {
		s.grant()
	}
	return err
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
