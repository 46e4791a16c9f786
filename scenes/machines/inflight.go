package machines

import (
	"time"

	"tavernsim/protocol"
)

// inFlight is who deliberates on the realtime clock, from the wake until the turn
// is merged: nobody has two turns at once.
type inFlight struct {
	agents       map[uint32]deliberation
	limit        int           // of them; who heard something critical is not held up by it
	urgent       int           // of them: heard something critical, and do not wait for a model
	since        protocol.Time // the last of these began
	urgentRound  uint32        // numbers the times that somebody was urgent
	urgentInARow int           // urgent turns that were merged and others have not made up for
}

// deliberation is one in flight.
type deliberation struct {
	urgentRound uint32 // 0 = not urgent, or no longer
	waits       bool   // for a model, or it did once
	ended       bool   // its turn waits to be merged, or it failed
}

// urgentPatience is how long others stand aside for an urgent deliberation that
// has no end. What takes longer is stuck, or was not urgent.
const urgentPatience = 100 * time.Millisecond

// urgentStreak is after how many urgent turns others have theirs, although there
// are more: one for each urgentShare of them.
const (
	urgentStreak = 64
	urgentShare  = 4
)

func newInFlight(limit int) inFlight {
	return inFlight{agents: map[uint32]deliberation{}, limit: limit, urgentRound: 1}
}

func (f *inFlight) has(o uint32) bool { _, ok := f.agents[o]; return ok }

// room reports whether an agent may be woken that heard nothing critical.
func (f *inFlight) room() bool { return len(f.agents) < f.limit }

// begin notes that an agent was woken.
func (f *inFlight) begin(o uint32, urgent bool, now protocol.Time) {
	f.agents[o] = deliberation{}
	if urgent {
		f.makeUrgent(o, now)
	}
}

// makeUrgent notes that something critical was heard by an agent whose deliberation is in
// flight: it perceives it, if it has not begun, and else makes room for the one
// that does. One that waits for a model is not waited for. It reports whether the
// deliberation has ended already.
func (f *inFlight) makeUrgent(o uint32, now protocol.Time) (ended bool) {
	d := f.agents[o]
	if !d.waits && !d.ended && d.urgentRound != f.urgentRound {
		f.urgent++
		f.since = now
		f.agents[o] = deliberation{urgentRound: f.urgentRound}
	}
	return d.ended
}

// wait notes that a deliberation waits for a model: nobody has to stand aside.
func (f *inFlight) wait(o uint32) { f.become(o, deliberation{waits: true}) }

// arrive notes that a deliberation has ended, well or not.
func (f *inFlight) arrive(o uint32) { f.become(o, deliberation{ended: true}) }

func (f *inFlight) become(o uint32, to deliberation) {
	if d, ok := f.agents[o]; ok {
		f.noLongerUrgent(d)
		f.agents[o] = to
	}
}

// end notes that the end of a deliberation is merged.
func (f *inFlight) end(o uint32) {
	f.noLongerUrgent(f.agents[o])
	delete(f.agents, o)
}

func (f *inFlight) noLongerUrgent(d deliberation) {
	if d.urgentRound == f.urgentRound {
		f.urgent--
	}
}

// othersTurn reports whether it is the turn of others.
func (f *inFlight) othersTurn() bool { return f.urgentInARow >= urgentStreak }

// urgentUnderWay reports whether an urgent deliberation is under way.
func (f *inFlight) urgentUnderWay(now protocol.Time) bool {
	if f.urgent > 0 && now.Sub(f.since) >= urgentPatience {
		f.urgent = 0
		f.urgentRound++
	}
	return f.urgent > 0
}

// UrgentUnderWay reports whether something critical is under way, from the end of the
// turn that publishes it to the end of those that perceive it: then ordinary agents
// pause, and their ended turns wait to be merged. Not while the scene waits for some
// of them.
func (s *Stage) UrgentUnderWay(now Moment) bool {
	if !s.realtime() || s.phase == phaseDone || s.phase == phaseTurns || s.phase == phaseSnapshot || s.flight.othersTurn() {
		return false
	}
	return now.Alarms > 0 || s.wave != nil && s.wave.urgent || len(s.urgentArrived) > 0 || s.flight.urgentUnderWay(now.Wall)
}
