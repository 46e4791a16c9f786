package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/tooltask"
	"tavernsim/protocol"
)

// next opens the next wave, or ends the scene if there is none.
func (s *Stage) next() error {
	if s.phase != phaseIdle || s.config.Stepwise && !s.ticked {
		return nil
	}
	if s.Spending.Demands(budget.Pause) && !s.halt.pausing && !s.config.Stepwise { // a pause heeds it, so it is of a turn behind the last one
		s.halt.pausing, s.halt.pausedBy = true, PausedByBudget
	}
	if s.flight.any() && !s.halt.kept && s.Agenda.Ended == "" && (!s.realtime() || s.comesToRest()) { // no fact follows the end
		return s.closeArrived(s.moment())
	}
	if s.waitsForRest() {
		return nil
	}
	switch {
	case s.halt.Reason != "":
		return s.proceedToStop()
	case s.halt.resuming:
		return s.proceedToResume()
	case s.Waiting.due(s.Agenda.Wave+1, s.moment().Sub(s.Agenda.Begun())):
		return s.openOrder(s.moment())
	case s.Agenda.Paused:
		return s.rest()
	case s.halt.pausing:
		return s.proceedToPause()
	case s.snapshotDue():
		return s.takeSnapshot()
	case s.gate.On && s.gate.Wave != s.Agenda.Wave+1:
		s.effect(Effect{Act: ActGate, Wave: s.Agenda.Wave + 1, At: s.coming()})
		return nil
	}
	if reason, at := s.stops(); reason != "" {
		s.halt.stop(reason, at)
		return s.next()
	}
	if s.realtime() {
		return s.nextRealtime()
	}
	return s.nextVirtual()
}

// nextVirtual opens the wave of the earliest moment on the agenda.
func (s *Stage) nextVirtual() error {
	if s.View.of(tooltask.Service).Holds { // scene time stands until a person answers
		return nil
	}
	if s.embeds(s.Agenda.Now) {
		s.asksVectors(s.Agenda.Now)
		s.openWave(s.Agenda.Now)
		return s.runLifecycle(knowledge.MomentEmbed)
	}
	at, some, expires, ordered := s.soonest()
	if end, reason := s.TimeLimit(); reason != "" && max(at, s.Agenda.Now) >= end { // a fork may begin after its limit
		s.halt.stop(reason, end)
		return s.next()
	}
	switch {
	case ordered >= 0:
		s.Waiting.first(ordered)
		return s.openOrder(at)
	case !some && s.View.awaits(): // a person who plays an agent may still do something
		return nil
	case !some:
		s.halt.stop(agenda.StoppedByQuiet, 0)
		return s.next()
	case expires:
		return s.expire(at)
	}
	w := s.openWave(at)
	w.joinDeferred()
	w.order = s.Agenda.Take(at)
	return s.pump()
}

// wants is how many entries are to be given vectors now.
func (v *View) wants(now protocol.Time) int {
	bases, _ := v.Shown(knowledge.Service).(knowledge.State)
	return bases.Wants(now)
}

// soonest is the next moment of the agenda, of an expiry before it, or of an order at that time or
// before; ordered is the index of the order, -1 = it is none.
func (s *Stage) soonest() (at protocol.Time, some, expires bool, ordered int) {
	at, some = s.Agenda.NextTime()
	if x, first := s.expiresFirst(at, some); first {
		at, some, expires = x, true, true
	}
	if i := s.Waiting.timed(s.Agenda.Wave + 1); i >= 0 {
		if x := max(s.Agenda.Grid(s.orderTime(s.Waiting[i])), s.Agenda.Now); !some || x <= at {
			return x, true, false, i
		}
	}
	return at, some, expires, -1
}

// coming is the time of the next wave, as far as it is known; 0 = the scene has nothing to do. No
// wave that opens without an order from outside is earlier, the last one neither: linked scenes go on
// by it. On the realtime clock it is now.
func (s *Stage) coming() protocol.Time {
	if s.realtime() {
		return s.now.Time
	}
	if reason, at := s.stops(); reason != "" || s.embeds(s.Agenda.Now) {
		return max(at, s.Agenda.Now)
	}
	at, some, _, _ := s.soonest()
	if !some {
		return 0
	}
	if end, reason := s.TimeLimit(); reason != "" {
		at = max(min(at, end), s.Agenda.Now)
	}
	return at
}

// comesToRest reports whether the next step needs every deliberation ended and kept.
func (s *Stage) comesToRest() bool { return s.halt.asked() || s.snapshotDue() }

// moment is the current time of the scene's clock, that of the open wave if one is.
func (s *Stage) moment() protocol.Time {
	switch {
	case s.realtime():
		return s.now.Time
	case s.wave != nil:
		return s.wave.time
	}
	return s.Agenda.Now
}
