package agenda

import "tavernsim/protocol"

// Standing is the state of one agent on the agenda, for views.
type Standing struct {
	Next      protocol.Time // its next wake; 0 = only by an event, or never
	BusyUntil protocol.Time // simulated latency of its last deliberation; 0 = none
	Resting   bool          // somebody lets it rest, or a gate is closed
	Away      bool          // it is not in the scene
	Asleep    bool          // until Next, or until an event of WakeAbove or more
	WakeAbove protocol.Priority
	Failures  int // in a row
	GivenUp   bool
	WaitsFor  []uint32 // blocked: the receivers with full lanes
}

// Standing returns the state of an agent.
func (s *State) Standing(o uint32) Standing {
	sl := &s.slots[o]
	st := Standing{Next: s.wake(o), Asleep: sl.asleep, WakeAbove: sl.wakeAbove, Failures: int(sl.failures), GivenUp: sl.givenUp, Resting: sl.resting || sl.gates != 0, Away: sl.gates&away != 0}
	st.WaitsFor = s.waitingFor(o)
	if sl.busyUntil > s.Now {
		st.BusyUntil = sl.busyUntil
	}
	return st
}

// Failing reports whether an agent has failed and is to begin its turn anew.
func (s *State) Failing(o uint32) bool { return s.slots[o].failures > 0 && !s.slots[o].givenUp }

// States of an agent.
const (
	StateIdle    = "idle"     // deliberates when it is due
	StateAsleep  = "asleep"   // until a time, or an event wakes it
	StateResting = "resting"  // somebody lets it rest
	StateBlocked = "blocked"  // until those who have its events have had a turn
	StateGivenUp = "given_up" // failed too often
	StateAway    = "away"     // it is not in the scene
)

// States lists what an agent can be.
func States() []string {
	return []string{StateIdle, StateAsleep, StateResting, StateBlocked, StateGivenUp, StateAway}
}

// State is the word for where an agent stands.
func (st *Standing) State() string {
	switch {
	case st.Away:
		return StateAway
	case st.GivenUp:
		return StateGivenUp
	case st.Resting:
		return StateResting
	case len(st.WaitsFor) > 0:
		return StateBlocked
	case st.Asleep:
		return StateAsleep
	}
	return StateIdle
}
