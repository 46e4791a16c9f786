package agenda

import (
	"tavernsim/engine/budget"
	"tavernsim/protocol"
)

// An agent that is not in the scene has its place on the agenda like any other, behind the
// gate away: it is not woken, and others do not wait for it. The place outlives the agent,
// and the next one of the same instance id takes it.

// Spawned records that an agent came into the scene.
type Spawned struct {
	Agent  uint32
	Turns  uint64       // of its instance id so far: its own are numbered on, so that no id of a request comes twice
	State  protocol.Raw // the fields that differ from its initial private state; null = none
	ID     string       // of the request of a director, of the order or of the script's wave
	By     string       // the director, $order or $script
	Reason string
}

// Removed records that an agent left the scene. What it had deferred is dropped.
type Removed struct {
	Agent  uint32
	Unread int64 // events that had reached it and that no turn of it has perceived
	ID     string
	By     string
	Reason string
}

// TurnAbandoned records what a turn took of budgets that leaves no other facts: its agent left in the middle of it, or
// was given up (realtime).
type TurnAbandoned struct {
	Agent uint32
	Took  []budget.Loss // by ledger
}

// ReasonGone is the reason of the dead letters of an agent that left.
const ReasonGone = "gone"

// LastAgent implements protocol.Naming.
func (f *Spawned) LastAgent() uint32 { return f.Agent }

func (f *TurnAbandoned) LastAgent() uint32 { return f.Agent }

func (f *Removed) LastAgent() uint32 { return f.Agent }

// seats sets who is away before the scene begins.
func (s *State) seats() {
	if s.cfg.Away == nil && !s.cfg.Counts {
		return
	}
	s.unread = make([]uint32, len(s.slots))
	for o := range s.slots {
		if s.cfg.Away != nil && s.cfg.Away(uint32(o)) {
			s.slots[o].gates = away
		}
	}
}

// Away reports whether an agent is not in the scene.
func (s *State) Away(o uint32) bool { return s.slots[o].gates&away != 0 }

// Reached counts an event that was routed to an agent.
func (s *State) Reached(o uint32) { s.unread[o]++ }

// Pending is the number of events that wait for an agent, and one more while the latency of
// its turn passes.
func (s *State) Pending(o uint32, now protocol.Time) int64 {
	n := s.Unread(o)
	if s.slots[o].busyUntil > now {
		n++
	}
	return n
}

// Unread is the number of events that have reached an agent since its last turn.
func (s *State) Unread(o uint32) int64 { return int64(s.unread[o]) }

// Spawned applies the fact that an agent came: its first wake is one tick later, or after
// its own period.
func (s *State) Spawned(f Spawned, now protocol.Time) {
	sl, t := &s.slots[f.Agent], s.cfg.Timing(f.Agent)
	*sl = slot{gates: sl.gates &^ away, held: sl.held}
	s.unread[f.Agent] = 0
	s.anew(f.Agent)
	switch {
	case t.WakeOnStart:
		sl.due = s.grid(now.Add(s.cfg.reaction()))
	case t.Period > 0:
		sl.due = s.grid(now.Add(t.Period))
	}
	s.enqueue(f.Agent)
}

// Removed applies the fact that an agent left. Requests of it that are due now have joined
// the wave already.
func (s *State) Removed(f Removed, now protocol.Time) {
	s.deferred = s.without(f.Agent, now)
	delete(s.thinking, f.Agent)
	s.pauses.Forget(f.Agent)
	sl := &s.slots[f.Agent]
	*sl = slot{gates: sl.gates | away, held: sl.held}
	s.unread[f.Agent] = 0
	s.anew(f.Agent)
}

// unreadFlags are the bits of a stored slot that count unread events.
func (s *State) unreadFlags(o int) int64 {
	if s.unread == nil {
		return 0
	}
	return int64(s.unread[o]) << unreadShift
}
