package machines

import (
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
	now := s.now.Time
	if at := s.expiring(); at != 0 && at <= now {
		return s.expire(now)
	}
	s.wakeDue(now)
	if own := uint32(s.scene.OwnOrdinal()); !s.flight.Has(own) && s.embeds(now) {
		s.asksVectors(now)
		s.wakeBeside(own, protocol.Normal, now)
	}
	if s.UrgentUnderWay(s.now) && len(s.flight.urgent) == 0 {
		return s.sleepUntilNext(now)
	}
	if !s.flight.any() && !s.Agenda.DeferredDue(now) && !s.Agenda.ReleaseDue(now) {
		return s.sleepUntilNext(now)
	}
	return s.closeArrived(now)
}

// wakeDue wakes the agents that are due, while fewer than the limit deliberate. The
// limit does not hold for agents that heard a critical event.
func (s *Stage) wakeDue(now protocol.Time) {
	d := s.Agenda
	late := false
	busy := func(o uint32) bool {
		in := s.flight.Has(o)
		switch {
		case !in || d.Urgency(o) != protocol.Critical:
		case s.flight.MakeUrgent(o, now): // it has ended already
			late = true
		default:
			s.tickBeside()
		}
		return in
	}
	for {
		o, ok := d.TakeNext(now, !s.flight.Room(), busy)
		if !ok {
			break
		}
		s.wakeBeside(o, d.Urgency(o), now)
	}
	if late {
		s.flight.sort(d)
	}
}

// wakeBeside begins a deliberation beside those in flight.
func (s *Stage) wakeBeside(o uint32, urgency protocol.Priority, now protocol.Time) {
	wave := s.Agenda.Wave + 1
	if s.flight.Begin(o, wave, urgency == protocol.Critical, now); urgency == protocol.Critical {
		s.tickBeside()
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

// sleepUntilNext sets the timer for the next agent that is due, the next expiry, or
// the end of the scene.
func (s *Stage) sleepUntilNext(now protocol.Time) error {
	at, ok := s.Agenda.NextTime()
	if ok && at <= now { // the limit holds agents back that are due; a merged turn wakes them earlier
		at = now.Add(inflight.Patience)
	}
	busy := s.flight.Len() > 0 || s.View.awaits()
	// While agents deliberate or something outside is awaited, time goes on, whether anybody observes the expiry or not.
	if x, first := s.expiresFirst(at, ok); first || !ok && x != 0 && busy {
		at, ok = x, true
	}
	if i := s.Waiting.timed(s.Agenda.Wave + 1); i >= 0 && (!ok || s.orderTime(s.Waiting[i]) < at) {
		at, ok = s.orderTime(s.Waiting[i]), true
	}
	if end, reason := s.TimeLimit(); reason != "" && (!ok || end < at) {
		at, ok = end, true
	}
	if !ok {
		if !busy {
			s.halt.stop(agenda.StoppedByQuiet, 0)
			return s.proceedToStop()
		}
		return nil
	}
	s.tickAt(max(at, now.Add(time.Millisecond)))
	return nil
}

// tickAt sets the timer for the next step of the scene.
func (s *Stage) tickAt(at protocol.Time) { s.effect(Effect{Act: ActTick, At: at}) }

// tickBeside sets the second timer for the end of inflight.Patience.
func (s *Stage) tickBeside() {
	s.effect(Effect{Act: ActTickBeside, At: s.now.Time.Add(inflight.Patience)})
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
	if w := s.wave; w != nil && len(w.order) > w.merged && w.order[w.merged] == a.agent {
		if err := w.merge(a); err != nil { // of the scene's own workflow, the only turn of its wave
			return err
		}
		w.merged++
		return s.pump()
	}
	s.flight.arrive(a, s.Agenda.Urgency(a.agent))
	if a.failure != nil && s.phase == phaseSnapshot {
		return s.dropSnapshot(a.failure.Actor)
	}
	return s.next()
}

// UrgentUnderWay reports whether a critical event is being handled: from the end of
// the turn that publishes it to the end of the turns that perceive it. Then ordinary
// agents pause, and their ended turns wait to be merged. It is false while the scene
// waits for turns of ordinary agents.
func (s *Stage) UrgentUnderWay(now Moment) bool {
	if !s.realtime() || s.phase == phaseDone || s.phase == phaseTurns || s.phase == phaseSnapshot || s.flight.OthersTurn() {
		return false
	}
	return now.Alarms > 0 || s.wave != nil && s.wave.urgent || len(s.flight.urgent) > 0 || s.flight.UrgentUnderWay(now.Time)
}
