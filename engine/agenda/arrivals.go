package agenda

import "tavernsim/protocol"

// arrivals are what a slot needs on the realtime clock, where events and answers reach an
// agent between its wake and the beginning of its deliberation. On the virtual clock none
// come then.
type arrivals struct {
	toldWave uint64        // of the last observation of an answer
	events   uint64        // number of events routed to the agent, as its inbox numbers them
	last     [4]uint64     // number of the last event of each priority, from low
	at       protocol.Time // of the last event or answer, also of those that do not wake
	wokeWave uint64        // of the last one that wakes
}

// arrived is the row of an agent, the last one if it has none.
func (s *State) arrived(o uint32) *arrivals { return &s.came[min(int(o), len(s.came)-1)] }

// number gives an event its number in the inbox of the agent.
func (s *State) number(o uint32, p protocol.Priority) {
	c := s.arrived(o)
	c.events++
	c.last[place(p)] = c.events
}

// anew lets the events of an agent that comes be numbered from 1, as its inbox does.
func (s *State) anew(o uint32) {
	if s.cfg.Clock == Realtime {
		s.came[o] = arrivals{}
	}
}

// HeardSoFar sets how many events have reached an agent, and the number of the last
// waiting one of each priority. The agent's snapshot stores both.
func (s *State) HeardSoFar(o uint32, n uint64, last func(protocol.Priority) uint64) {
	c := s.arrived(o)
	c.events = n
	for _, p := range protocol.Priorities() {
		c.last[place(p)] = last(p)
	}
}

// unperceived reports whether there may be events or answers that a deliberation did
// not perceive. On the virtual clock none arrive during a deliberation. On the
// realtime clock events may arrive between the wake and the beginning of a
// deliberation, which perceives them, so numbers of events are compared. Answers have
// no numbers; one that arrives in this time wakes the agent once more.
func (s *State) unperceived(o uint32, t Turn) bool {
	heard, c := s.slots[o].heardWave >= t.Wave, s.arrived(o)
	if s.cfg.Clock == Realtime {
		return heard && c.events > t.Through || c.toldWave >= t.Wave
	}
	return heard
}

// missed is how many events reached an agent that its deliberation did not perceive.
func (s *State) missed(o uint32, t Turn) uint32 {
	if c := s.arrived(o); s.cfg.Clock == Realtime && c.events > t.Through {
		return uint32(c.events - t.Through)
	}
	return 0
}

// leaves sets the urgency of the events that a deliberation did not perceive. An agent
// that was asleep was not put on the agenda for events below its wake level.
func (s *State) leaves(o uint32, t Turn) {
	sl, c := &s.slots[o], &s.came[o]
	sl.priority = c.left(t)
	sl.hurries = sl.hurries && sl.priority == protocol.Critical
	if c.wokeWave >= t.Wave {
		return
	}
	if sl.heard = 0; !sl.asleep || sl.priority >= sl.wakeAbove {
		sl.heard = c.at
	}
}

// left is the priority of the events that a deliberation did not perceive.
func (c *arrivals) left(t Turn) protocol.Priority {
	p := protocol.Low
	if c.toldWave >= t.Wave {
		p = protocol.Normal
	}
	for i, n := range c.last {
		if n > t.Through {
			p = max(p, protocol.Low+protocol.Priority(i))
		}
	}
	return p
}
