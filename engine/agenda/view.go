package agenda

import "tavernsim/protocol"

// Standing is what the agenda knows of one agent, for those who look at a scene
// from outside.
type Standing struct {
	Next      protocol.Time // when it is woken next; 0 = only by an event, or never
	BusyUntil protocol.Time // simulated latency of its last deliberation; 0 = none
	Asleep    bool          // until Next, or until an event of WakeAbove or more
	WakeAbove protocol.Priority
	Failures  int // in a row
	GivenUp   bool
	WaitsFor  []uint32 // blocked: receivers whose lanes its events found full
}

// Standing shows how an agent stands.
func (s *State) Standing(o uint32) Standing {
	sl := &s.slots[o]
	st := Standing{Next: sl.wake(), Asleep: sl.asleep, WakeAbove: sl.wakeAbove, Failures: int(sl.failures), GivenUp: sl.givenUp}
	st.WaitsFor = s.waitingFor(o)
	if sl.busyUntil > s.Now {
		st.BusyUntil = sl.busyUntil
	}
	return st
}
