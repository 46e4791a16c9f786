package agenda

import "tavernsim/protocol"

// Standing is the state of one agent on the agenda, for views.
type Standing struct {
	Next      protocol.Time // its next wake; 0 = only by an event, or never
	BusyUntil protocol.Time // simulated latency of its last deliberation; 0 = none
	Resting   bool          // somebody lets it rest, or a gate is closed
	Asleep    bool          // until Next, or until an event of WakeAbove or more
	WakeAbove protocol.Priority
	Failures  int // in a row
	GivenUp   bool
	Gated     bool     // it waits for its turn
	WaitsFor  []uint32 // blocked: the receivers with full lanes
}

// Standing returns the state of an agent.
func (s *State) Standing(o uint32) Standing {
	sl := &s.slots[o]
	st := Standing{Next: sl.wake(), Asleep: sl.asleep, WakeAbove: sl.wakeAbove, Failures: int(sl.failures), GivenUp: sl.givenUp, Resting: sl.resting || sl.gates != 0, Gated: sl.held&heldBack != 0}
	st.WaitsFor = s.waitingFor(o)
	if sl.busyUntil > s.Now {
		st.BusyUntil = sl.busyUntil
	}
	return st
}
