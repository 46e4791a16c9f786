// Package inflight counts the deliberations on the realtime clock that have begun and are not
// merged, and says which of them pause other agents.
package inflight

import (
	"time"

	"tavernsim/protocol"
)

// Flight are the agents that deliberate on the realtime clock, from the wake until
// the turn is merged. An agent has at most one turn at a time.
type Flight struct {
	agents      map[uint32]deliberation
	limit       int           // of agents; an agent that heard a critical event is woken beyond it
	urgent      int           // number of urgent agents: they heard a critical event and do not wait for a model
	since       protocol.Time // when the last of the urgent agents began
	urgentRound uint32        // current period of urgency; a new one begins when Patience has passed
	InARow      int           // merged urgent turns, less those that merged ordinary turns balance
}

// deliberation is a deliberation in flight.
type deliberation struct {
	urgentRound uint32 // 0 = not urgent, or no longer
	waits       bool   // it waits, or has waited, for a model
	ended       bool   // its turn waits to be merged, or its actor failed
	wave        uint64 // with which it was woken
}

// Patience is how long ordinary agents pause for urgent deliberations, counted
// from the beginning of the last one. A longer deliberation is stuck or not urgent.
const Patience = 100 * time.Millisecond

// After Streak urgent turns the stage merges ordinary turns, although more
// urgent ones wait: one for every Share urgent turns.
const (
	Streak = 64
	Share  = 4
)

// New makes one of at most limit ordinary agents.
func New(limit int) Flight {
	return Flight{agents: map[uint32]deliberation{}, limit: limit, urgentRound: 1}
}

func (f *Flight) Has(o uint32) bool { _, ok := f.agents[o]; return ok }

// Is reports whether a deliberation of an agent that was woken with a wave is in flight.
func (f *Flight) Is(o uint32, wave uint64) bool { d, ok := f.agents[o]; return ok && d.wave == wave }

// Room reports whether an ordinary agent may be woken.
func (f *Flight) Room() bool { return len(f.agents) < f.limit }

// Begin adds an agent that is woken with a wave.
func (f *Flight) Begin(o uint32, wave uint64, urgent bool, now protocol.Time) {
	f.agents[o] = deliberation{wave: wave}
	if urgent {
		f.MakeUrgent(o, now)
	}
}

// MakeUrgent makes the deliberation of an agent urgent, because the agent heard a
// critical event. Either this deliberation perceives the event, or its end makes way
// for the one that does. A deliberation that waits for a model does not become
// urgent. MakeUrgent reports whether the deliberation has ended already.
func (f *Flight) MakeUrgent(o uint32, now protocol.Time) (ended bool) {
	d := f.agents[o]
	if !d.waits && !d.ended && d.urgentRound != f.urgentRound {
		f.urgent++
		f.since = now
		f.agents[o] = deliberation{urgentRound: f.urgentRound, wave: d.wave}
	}
	return d.ended
}

// Wait marks a deliberation, woken with a wave, that waits for a model. It is no longer urgent. One that is not in flight any
// more changes nothing: the agent may have another.
func (f *Flight) Wait(o uint32, wave uint64) {
	if f.Is(o, wave) {
		f.become(o, deliberation{waits: true})
	}
}

// Arrive marks a deliberation that has ended or failed.
func (f *Flight) Arrive(o uint32) { f.become(o, deliberation{ended: true}) }

func (f *Flight) become(o uint32, to deliberation) {
	if d, ok := f.agents[o]; ok {
		f.noLongerUrgent(d)
		to.wave = d.wave
		f.agents[o] = to
	}
}

// End removes an agent whose turn is merged, or abandoned.
func (f *Flight) End(o uint32) {
	f.noLongerUrgent(f.agents[o])
	delete(f.agents, o)
}

func (f *Flight) noLongerUrgent(d deliberation) {
	if d.urgentRound == f.urgentRound {
		f.urgent--
	}
}

// OthersTurn reports whether ordinary turns are merged next.
func (f *Flight) OthersTurn() bool { return f.InARow >= Streak }

// UrgentUnderWay reports whether an urgent deliberation is in flight.
func (f *Flight) UrgentUnderWay(now protocol.Time) bool {
	if f.urgent > 0 && now.Sub(f.since) >= Patience {
		f.urgent = 0
		f.urgentRound++
	}
	return f.urgent > 0
}

// Len is how many there are.
func (f *Flight) Len() int { return len(f.agents) }
