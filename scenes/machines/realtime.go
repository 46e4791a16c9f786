package machines

import (
	"slices"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines/inflight"
)

// On the realtime clock agents deliberate whenever they are due. A wave takes the
// turns that arrived while the wave before was being closed, in that order; its steps
// are those of a virtual wave.

// nextRealtime wakes the agents that are due and closes a wave over the turns that
// have arrived.
func (s *Stage) nextRealtime() error {
	now := s.now.Wall
	if at := s.expiring(); at != 0 && at <= now {
		return s.expire(now)
	}
	s.wakeDue(now)
	if own := uint32(s.scene.OwnOrdinal()); !s.flight.Has(own) && s.embeds() {
		s.asksVectors()
		s.wakeBeside(own, protocol.Normal, now)
	}
	if s.UrgentUnderWay(s.now) && len(s.urgentArrived) == 0 {
		return s.sleepUntilNext(now)
	}
	if !s.anyArrived() && !s.Agenda.DeferredDue(now) && !s.Agenda.ReleaseDue(now) {
		return s.sleepUntilNext(now)
	}
	return s.closeArrived(now)
}

// maxArrived bounds the turns of a realtime wave, and so the turns that a critical
// event waits for before it is routed.
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

// openArrivals opens a wave of a history for verify, which then decides its turns
// again.
func (s *Stage) openArrivals(in *Arrivals) error {
	s.crashes = in.Crashes
	if in.Lifecycle != nil {
		return s.openLifecycle(in.At, in.Lifecycle, in.Given)
	}
	w := s.openWave(in.At)
	w.order, w.expires = in.Order, in.Expires
	if in.Given != nil {
		p, err := in.Given.plan()
		if err != nil {
			return err
		}
		return s.carryOutOrder(in.Given, p)
	}
	s.joinDeferred()
	return s.pump()
}

// takeArrived takes the turns of the next wave. On the realtime clock urgent turns
// have a wave of their own, so that they do not wait for the events of other turns.
func (s *Stage) takeArrived() (taken []arrival, urgent bool) {
	if len(s.urgentArrived) > 0 && !s.flight.OthersTurn() || len(s.arrived) == 0 {
		taken = takeSome(&s.urgentArrived, maxArrived)
		s.flight.InARow += len(taken)
		return taken, len(taken) > 0
	}
	switch {
	case !s.realtime():
		taken = takeSome(&s.arrived, len(s.arrived))
	case len(s.urgentArrived) > 0:
		taken = takeSome(&s.arrived, maxArrived/inflight.Share)
	default:
		taken = takeSome(&s.arrived, maxArrived)
	}
	s.flight.InARow = max(0, min(s.flight.InARow, inflight.Streak)-inflight.Share*len(taken))
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

// wakeDue wakes the agents that are due, while fewer than the limit deliberate. The
// limit does not hold for agents that heard a critical event.
func (s *Stage) wakeDue(now protocol.Time) {
	d := s.Agenda
	late := false
	busy := func(o uint32) bool {
		if !s.flight.Has(o) {
			return false
		}
		late = d.Urgency(o) == protocol.Critical && s.makeUrgent(o, now) || late
		return true
	}
	for {
		o, ok := d.TakeNext(now, !s.flight.Room(), busy)
		if !ok {
			break
		}
		s.wakeBeside(o, d.Urgency(o), now)
	}
	if late {
		s.sortArrived()
	}
}

// wakeBeside begins a deliberation beside those in flight.
func (s *Stage) wakeBeside(o uint32, urgency protocol.Priority, now protocol.Time) {
	wave := s.Agenda.Wave + 1
	if s.flight.Begin(o, wave, urgency == protocol.Critical, now); urgency == protocol.Critical {
		s.tickAfterPatience()
	}
	s.effect(Effect{Act: ActWake, Agent: o, Kind: WorkflowBeside(s.scene, o, s.View, now), Wave: wave, At: now, Priority: urgency, Budget: s.Spending.Woken(o, 0, wave, now)})
}

// WorkflowBeside is the workflow of a turn beside those in flight, by what the services showed when it
// began: of the scene's own one, which may also have heard something, the one that asks for vectors.
func WorkflowBeside(sc *setup.Scene, o uint32, v *View, at protocol.Time) string {
	if int(o) == sc.OwnOrdinal() && v.wants(at) > 0 {
		return knowledge.MomentEmbed
	}
	return ""
}

// makeUrgent makes the deliberation in flight of an agent urgent, because the agent
// heard a critical event. It reports whether the deliberation has ended already.
func (s *Stage) makeUrgent(o uint32, now protocol.Time) (ended bool) {
	if ended = s.flight.MakeUrgent(o, now); !ended {
		s.tickAfterPatience()
	}
	return ended
}

// sortArrived moves turns to the front whose agents have heard a critical event
// since: such an agent is woken for the event after its turn is merged.
func (s *Stage) sortArrived() {
	arrived := s.arrived
	s.arrived = nil
	for _, a := range arrived {
		s.queue(a, s.Agenda.Urgency(a.agent) == protocol.Critical)
	}
}

// anyArrived reports whether turns have ended that are not merged.
func (s *Stage) anyArrived() bool { return len(s.arrived)+len(s.urgentArrived) > 0 }

// sleepUntilNext sets the timer for the next agent that is due, the next expiry, or
// the end of the scene.
func (s *Stage) sleepUntilNext(now protocol.Time) error {
	at, ok := s.Agenda.NextTime()
	if ok && at <= now { // the limit holds agents back that are due; a merged turn wakes them earlier
		at = now.Add(inflight.Patience)
	}
	if x, first := s.expiresFirst(at, ok || s.flight.Len() > 0); first && (!ok || x < at) {
		at, ok = x, true
	}
	if i := s.Waiting.timed(s.Agenda.Wave + 1); i >= 0 && (!ok || s.orderTime(s.Waiting[i]) < at) {
		at, ok = s.orderTime(s.Waiting[i]), true
	}
	if end, limited := s.TimeLimit(); limited && (!ok || end < at) {
		at, ok = end, true
	}
	if !ok {
		if s.flight.Len() == 0 && !s.View.awaits() {
			s.stop(agenda.StoppedByQuiet, 0)
			return s.proceedToStop()
		}
		return nil
	}
	s.tickAt(max(at, now.Add(time.Millisecond)))
	return nil
}

// tickAt sets the timer for the next step of the scene.
func (s *Stage) tickAt(at protocol.Time) { s.effect(Effect{Act: ActTick, At: at}) }

// tickAfterPatience sets the second timer for the end of inflight.Patience.
func (s *Stage) tickAfterPatience() {
	s.effect(Effect{Act: ActTickBeside, At: s.now.Wall.Add(inflight.Patience)})
}

// arrive appends a turn to those that have ended. Turns that handled or publish a
// critical event go before all others. A failure stays behind the earlier turn of
// its agent.
func (s *Stage) arrive(a arrival) {
	s.flight.Arrive(a.agent)
	urgent := a.urgent || s.Agenda.Urgency(a.agent) == protocol.Critical
	if a.failure != nil {
		urgent = slices.ContainsFunc(s.urgentArrived, func(o arrival) bool { return o.agent == a.agent })
	}
	s.queue(a, urgent)
}

func (s *Stage) queue(a arrival, urgent bool) {
	if urgent {
		s.urgentArrived = append(s.urgentArrived, a)
	} else {
		s.arrived = append(s.arrived, a)
	}
}

// abandon ends the deliberation of an agent that is removed: nothing of it becomes a fact, as of one
// that is in flight when a scene ends, but what it took of budgets. Nor does a failure of its actor that no wave has taken yet: there is
// no actor to restart.
func (s *Stage) abandon(o uint32) error {
	of := func(a arrival) bool { return a.agent == o }
	s.arrived, s.urgentArrived = slices.DeleteFunc(s.arrived, of), slices.DeleteFunc(s.urgentArrived, of)
	s.flight.End(o)
	return s.turnCut(o, true, nil)
}

// abandoned reports whether a turn, or a failure, is of an agent that was removed meanwhile. In verify
// nothing is in flight, and every turn is one of the journal.
func (s *Stage) abandoned(a arrival) bool {
	switch own := int(a.agent) == s.scene.OwnOrdinal(); {
	case s.cast == nil || own || s.config.Stepwise:
		return false
	case a.failure != nil || !s.realtime():
		return s.Agenda.Away(a.agent)
	}
	return !s.flight.Is(a.agent, a.span.Wave)
}

// turnArrivedRealtime notes the end of a turn for the next wave.
func (s *Stage) turnArrivedRealtime(a arrival) error {
	if w := s.wave; w != nil && s.phase == phaseTurns && len(w.order) > w.merged && w.order[w.merged] == a.agent {
		if err := s.merge(a); err != nil { // of the scene's own workflow, the only turn of its wave
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
