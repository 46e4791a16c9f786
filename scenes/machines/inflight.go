package machines

import (
	"time"

	"tavernsim/protocol"
)

// inFlight are the agents that deliberate on the realtime clock, from the wake until
// the turn is merged. An agent has at most one turn at a time.
type inFlight struct {
	agents       map[uint32]deliberation
	limit        int           // of agents; an agent that heard a critical event is woken beyond it
	urgent       int           // number of urgent agents: they heard a critical event and do not wait for a model
	since        protocol.Time // when the last of the urgent agents began
	urgentRound  uint32        // current period of urgency; a new one begins when urgentPatience has passed
	urgentInARow int           // merged urgent turns, less those that merged ordinary turns balance
}

// deliberation is a deliberation in flight.
type deliberation struct {
	urgentRound uint32 // 0 = not urgent, or no longer
	waits       bool   // it waits, or has waited, for a model
	ended       bool   // its turn waits to be merged, or its actor failed
}

// urgentPatience is how long ordinary agents pause for urgent deliberations, counted
// from the beginning of the last one. A longer deliberation is stuck or not urgent.
const urgentPatience = 100 * time.Millisecond

// After urgentStreak urgent turns the stage merges ordinary turns, although more
// urgent ones wait: one for every urgentShare urgent turns.
const (
	urgentStreak = 64
	urgentShare  = 4
)

func newInFlight(limit int) inFlight {
	return inFlight{agents: map[uint32]deliberation{}, limit: limit, urgentRound: 1}
}

func (f *inFlight) has(o uint32) bool { _, ok := f.agents[o]; return ok }

// room reports whether an ordinary agent may be woken.
func (f *inFlight) room() bool { return len(f.agents) < f.limit }

// begin adds an agent that is woken.
func (f *inFlight) begin(o uint32, urgent bool, now protocol.Time) {
	f.agents[o] = deliberation{}
	if urgent {
		f.makeUrgent(o, now)
	}
}

// makeUrgent makes the deliberation of an agent urgent, because the agent heard a
// critical event. Either this deliberation perceives the event, or its end makes way
// for the one that does. A deliberation that waits for a model does not become
// urgent. makeUrgent reports whether the deliberation has ended already.
func (f *inFlight) makeUrgent(o uint32, now protocol.Time) (ended bool) {
	d := f.agents[o]
	if !d.waits && !d.ended && d.urgentRound != f.urgentRound {
		f.urgent++
		f.since = now
		f.agents[o] = deliberation{urgentRound: f.urgentRound}
	}
	return d.ended
}

// wait marks a deliberation that waits for a model. It is no longer urgent.
func (f *inFlight) wait(o uint32) { f.become(o, deliberation{waits: true}) }

// arrive marks a deliberation that has ended or failed.
func (f *inFlight) arrive(o uint32) { f.become(o, deliberation{ended: true}) }

func (f *inFlight) become(o uint32, to deliberation) {
	if d, ok := f.agents[o]; ok {
		f.noLongerUrgent(d)
		f.agents[o] = to
	}
}

// end removes an agent whose turn is merged.
func (f *inFlight) end(o uint32) {
	f.noLongerUrgent(f.agents[o])
	delete(f.agents, o)
}

func (f *inFlight) noLongerUrgent(d deliberation) {
	if d.urgentRound == f.urgentRound {
		f.urgent--
	}
}

// othersTurn reports whether ordinary turns are merged next.
func (f *inFlight) othersTurn() bool { return f.urgentInARow >= urgentStreak }

// urgentUnderWay reports whether an urgent deliberation is in flight.
func (f *inFlight) urgentUnderWay(now protocol.Time) bool {
	if f.urgent > 0 && now.Sub(f.since) >= urgentPatience {
		f.urgent = 0
		f.urgentRound++
	}
	return f.urgent > 0
}

// UrgentUnderWay reports whether a critical event is being handled: from the end of
// the turn that publishes it to the end of the turns that perceive it. Then ordinary
// agents pause, and their ended turns wait to be merged. It is false while the scene
// waits for turns of ordinary agents.
func (s *Stage) UrgentUnderWay(now Moment) bool {
	if !s.realtime() || s.phase == phaseDone || s.phase == phaseTurns || s.phase == phaseSnapshot || s.flight.othersTurn() {
		return false
	}
	return now.Alarms > 0 || s.wave != nil && s.wave.urgent || len(s.urgentArrived) > 0 || s.flight.urgentUnderWay(now.Wall)
}
