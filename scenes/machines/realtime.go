package machines

import (
	"slices"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
)

// On the realtime clock agents deliberate whenever they are due, and a wave is
// what arrived while the one before was being closed: the same steps, in the
// order in which it happened.

// nextRealtime wakes who is due and closes a wave over what has arrived.
func (s *Stage) nextRealtime() error {
	now := s.now.Wall
	if at := s.expiring(); at != 0 && at <= now {
		return s.expire(now)
	}
	s.wakeDue(now)
	if s.UrgentUnderWay(s.now) && len(s.urgentArrived) == 0 {
		return s.sleepUntilNext(now)
	}
	if !s.anyArrived() && !s.Agenda.DeferredDue(now) && !s.Agenda.ReleaseDue(now) {
		return s.sleepUntilNext(now)
	}
	return s.closeArrived(now)
}

// maxArrived bounds the turns of a realtime wave: what is urgent waits for no more than
// that many before it is routed.
const maxArrived = 64

// closeArrived closes a wave over the turns that have ended, and the failures
// that came between two deliberations.
func (s *Stage) closeArrived(now protocol.Time) error {
	arrived, urgent := s.takeArrived()
	s.openWave(now).urgent = urgent
	s.joinDeferred()
	for _, a := range arrived {
		if err := s.merge(a); err != nil {
			return err
		}
	}
	return s.closeWave()
}

// openArrivals opens the wave of a history; its turns follow as they are decided
// again.
func (s *Stage) openArrivals(in *Arrivals) error {
	w := s.openWave(in.At)
	w.order, w.workflow, w.expires = in.Order, in.Workflow, in.Expires
	w.facts = append(w.facts, in.Facts...)
	if !in.Lifecycle {
		s.joinDeferred()
	}
	return s.pump()
}

// takeArrived takes the turns of the next wave. On the realtime clock those that
// are urgent have one of their own: nobody waits for what others publish.
func (s *Stage) takeArrived() (taken []arrival, urgent bool) {
	if len(s.urgentArrived) > 0 && !s.flight.othersTurn() || len(s.arrived) == 0 {
		taken = takeSome(&s.urgentArrived, maxArrived)
		s.flight.urgentInARow += len(taken)
		return taken, len(taken) > 0
	}
	switch {
	case !s.realtime():
		taken = takeSome(&s.arrived, len(s.arrived))
	case len(s.urgentArrived) > 0:
		taken = takeSome(&s.arrived, maxArrived/urgentShare)
	default:
		taken = takeSome(&s.arrived, maxArrived)
	}
	s.flight.urgentInARow = max(0, min(s.flight.urgentInARow, urgentStreak)-urgentShare*len(taken))
	return taken, false
}

func takeSome(from *[]arrival, most int) []arrival {
	list := *from
	if len(list) <= most {
		*from = nil
		return list
	}
	*from = list[most:]
	return list[:most:most]
}

// wakeDue wakes who is due and for whom there is room; who heard something
// critical needs none.
func (s *Stage) wakeDue(now protocol.Time) {
	d := s.Agenda
	late := false
	busy := func(o uint32) bool {
		if !s.flight.has(o) {
			return false
		}
		late = d.Urgency(o) == protocol.Critical && s.makeUrgent(o, now) || late
		return true
	}
	for {
		o, ok := d.TakeNext(now, !s.flight.room(), busy)
		if !ok {
			break
		}
		urgency := d.Urgency(o)
		if s.flight.begin(o, urgency == protocol.Critical, now); urgency == protocol.Critical {
			s.tickAfterPatience()
		}
		s.effect(Effect{Act: ActWake, Agent: o, Wave: d.Wave + 1, At: now, Priority: urgency})
	}
	if late {
		s.sortArrived()
	}
}

// makeUrgent lets others stand aside for an agent that deliberates, and has heard
// something critical. It reports whether that has ended already.
func (s *Stage) makeUrgent(o uint32, now protocol.Time) (ended bool) {
	if ended = s.flight.makeUrgent(o, now); !ended {
		s.tickAfterPatience()
	}
	return ended
}

// sortArrived lets the turns go before others whose agents have heard something
// critical since: these are woken for it when they are merged.
func (s *Stage) sortArrived() {
	arrived := s.arrived
	s.arrived = nil
	for _, a := range arrived {
		if s.Agenda.Urgency(a.agent) == protocol.Critical {
			s.urgentArrived = append(s.urgentArrived, a)
		} else {
			s.arrived = append(s.arrived, a)
		}
	}
}

// anyArrived reports whether there are turns that have ended and are not merged.
func (s *Stage) anyArrived() bool { return len(s.arrived)+len(s.urgentArrived) > 0 }

// sleepUntilNext sets the scene's timer: the next agent that is due, or the
// end of the scene.
func (s *Stage) sleepUntilNext(now protocol.Time) error {
	at, ok := s.Agenda.NextTime()
	if ok && at <= now { // there is no room for who is due; when there is, somebody tells
		at = now.Add(urgentPatience)
	}
	if x, first := s.expiresFirst(at, ok || len(s.flight.agents) > 0); first && (!ok || x < at) {
		at, ok = x, true
	}
	if end, limited := s.timeLimit(); limited && (!ok || end < at) {
		at, ok = end, true
	}
	if !ok {
		if len(s.flight.agents) == 0 {
			s.stop(agenda.StoppedByQuiet, 0)
			return s.proceedToStop()
		}
		return nil
	}
	s.tickAt(max(at, now.Add(time.Millisecond)))
	return nil
}

// tickAt asks for a tick when the scene goes on.
func (s *Stage) tickAt(at protocol.Time) { s.effect(Effect{Act: ActTick, At: at}) }

// tickAfterPatience asks for a tick when the patience with what is urgent ends.
func (s *Stage) tickAfterPatience() {
	s.effect(Effect{Act: ActTickBeside, At: s.now.Wall.Add(urgentPatience)})
}

// arrive puts a turn behind those that have ended. One that handled something
// critical, or publishes it, goes before all that did not; a failure stays behind
// the turn that the agent ended before.
func (s *Stage) arrive(a arrival) {
	s.flight.arrive(a.agent)
	urgent := a.urgent || s.Agenda.Urgency(a.agent) == protocol.Critical
	if a.failure != nil {
		urgent = slices.ContainsFunc(s.urgentArrived, func(o arrival) bool { return o.agent == a.agent })
	}
	if urgent {
		s.urgentArrived = append(s.urgentArrived, a)
	} else {
		s.arrived = append(s.arrived, a)
	}
}

// turnArrivedRealtime notes the end of a turn for the next wave.
func (s *Stage) turnArrivedRealtime(a arrival) error {
	if w := s.wave; w != nil && s.phase == phaseTurns && len(w.order) > w.merged && w.order[w.merged] == a.agent {
		if err := s.merge(a); err != nil { // the scene's own workflow: the wave has one turn
			return err
		}
		w.merged++
		return s.pump()
	}
	s.arrive(a)
	if a.failure != nil && s.phase == phaseSnapshot {
		return s.dropSnapshot(a.failure.Actor)
	}
	return s.next()
}
