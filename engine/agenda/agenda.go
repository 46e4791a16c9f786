package agenda

import (
	"cmp"
	"slices"

	"tavernsim/engine/agenda/calendar"
	"tavernsim/protocol"
)

// NextWake is when the next agent is woken; false = no agent is due at any time.
func (s *State) NextWake() (protocol.Time, bool) {
	next, ok := s.agenda.Next(s.stands)
	if t, hurries := s.urgent.Next(s.standsFirst); hurries && (!ok || t < next) {
		return t, true
	}
	return next, ok
}

// Take removes and returns the agents that are woken at time t, in the order of the
// wave.
func (s *State) Take(t protocol.Time) []uint32 {
	var wave []uint32
	for _, o := range s.agenda.Take(t) {
		if s.stands(t, o) {
			s.woken(o)
			wave = append(wave, o)
		}
	}
	slices.SortFunc(wave, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.slots[b].priority, s.slots[a].priority), cmp.Compare(a, b))
	})
	return wave
}

// TakeNext removes and returns the agent that is woken next on the realtime clock, of
// those that are due: first agents that heard a critical event, then the one that has
// waited longest. With urgent, it takes only the former. A busy agent leaves the
// agenda; its slot keeps what it heard, and the end of its turn puts it back.
func (s *State) TakeNext(now protocol.Time, urgent bool, busy func(ordinal uint32) bool) (o uint32, ok bool) {
	if o, ok = s.takeFrom(&s.urgent, s.standsFirst, now, busy); ok || urgent {
		return o, ok
	}
	return s.takeFrom(&s.agenda, s.stands, now, busy)
}

func (s *State) takeFrom(a *calendar.Calendar, stands func(protocol.Time, uint32) bool, now protocol.Time, busy func(ordinal uint32) bool) (o uint32, ok bool) {
	for {
		t, due := a.Next(stands)
		if !due || t > now {
			return 0, false
		}
		o = a.Pop(t)
		if s.slots[o].queuedAt, s.slots[o].hurries = 0, false; !busy(o) {
			s.woken(o)
			return o, true
		}
	}
}

// woken clears an agent's reasons to be woken.
func (s *State) woken(o uint32) {
	sl := &s.slots[o]
	sl.queuedAt, sl.hurries, sl.due, sl.heard = 0, false, 0, 0
}

// stands reports whether an entry is still valid. The caller drops an invalid entry,
// so the slot is no longer queued.
func (s *State) stands(t protocol.Time, o uint32) bool {
	sl := &s.slots[o]
	if sl.queuedAt != t {
		return false
	}
	if at := s.wake(o); at == t || at != 0 && s.keepsPlace(sl, at) {
		return true
	}
	sl.queuedAt, sl.hurries = 0, false
	return false
}

// standsFirst is stands for the agenda of urgent agents.
func (s *State) standsFirst(t protocol.Time, o uint32) bool {
	return s.slots[o].hurries && s.stands(t, o)
}

// keepsPlace reports whether an entry is valid although the agent is due later: it
// has not been woken for an earlier event. Without this, each new event would move an
// agent behind others, and an agent that hears many might never be woken.
func (s *State) keepsPlace(sl *slot, at protocol.Time) bool {
	return s.cfg.Clock == Realtime && sl.queuedAt != 0 && sl.queuedAt < at && at <= sl.heard
}

// wake is when an agent is to be woken; 0 = never.
func (s *State) wake(o uint32) protocol.Time {
	at := s.slots[o].wake()
	if at == 0 {
		return 0
	}
	return max(at, s.pauses.Until(o))
}

// wake is wake for an agent that does not rest beyond that.
func (sl *slot) wake() protocol.Time {
	if sl.givenUp || sl.blocked || sl.resting || sl.gates != 0 {
		return 0
	}
	at := sl.due
	if sl.held&heldBack != 0 {
		at = 0
	}
	if sl.heard != 0 && (at == 0 || sl.heard < at) {
		at = sl.heard
	}
	if at != 0 && at < sl.busyUntil {
		at = sl.busyUntil
	}
	return at
}

func (s *State) enqueue(o uint32) {
	sl := &s.slots[o]
	at := s.wake(o)
	hurries := s.cfg.Clock == Realtime && sl.priority == protocol.Critical
	switch {
	case at == 0:
		return
	case at != sl.queuedAt && !s.keepsPlace(sl, at):
		sl.queuedAt, sl.hurries = at, false
		s.agenda.Add(at, o)
		s.trim(&s.agenda)
	}
	if hurries && !sl.hurries {
		sl.hurries = true
		s.urgent.Add(sl.queuedAt, o)
		s.trim(&s.urgent)
	}
}

// trim bounds the entries that are not valid any more: an agent that is woken before its time leaves
// one, which else would stay until then. An agent has one valid entry at most.
func (s *State) trim(a *calendar.Calendar) {
	if a.Entries() <= 2*len(s.slots)+16 {
		return
	}
	a.Trim(func(t protocol.Time, o uint32) bool {
		sl := &s.slots[o]
		return sl.queuedAt == t && (a == &s.agenda || sl.hurries)
	})
}
