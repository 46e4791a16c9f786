package machines

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/engine/expr"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/worldstate"
	"tavernsim/protocol"
)

// halting is how far the scene is with a stop or a pause.
type halting struct {
	Outcome
	at    protocol.Time // earliest time of the last waves
	kept  bool          // everything is durable
	alone bool          // realtime: the deliberations in flight are abandoned

	paused   bool          // a pause has begun, and no resumption since
	pausing  bool          // asked for, not begun
	pausedBy string        // reason of that pause
	resuming bool          // asked for, not begun
	resting  protocol.Time // realtime: since when the stage waits for all deliberations to end; 0 = it does not wait
}

// stop begins to stop the scene; the first reason counts.
func (h *halting) stop(reason string, at protocol.Time) {
	if h.Reason == "" {
		h.Reason, h.at, h.resting = reason, at, 0 // an end has its own patience
		h.Final = reason != agenda.StoppedByInterrupt && reason != agenda.StoppedByWallTime
	}
}

// asked reports whether a stop or a pause needs every deliberation ended and kept.
func (h *halting) asked() bool { return h.Reason != "" && !h.kept || h.pausing }

// abandons reports whether the scene stops without the deliberations in flight. They
// have left no facts. An interrupted scene does not wait for them; they begin again
// when it is resumed. A scene that ends has waited for endPatience before.
func (h *halting) abandons() bool { return h.Reason != "" && (!h.Final || h.alone) }

// Open reports whether a wave is open.
func (s *Stage) Open() bool { return s.wave != nil }

// Outcome is how the stage has stopped, or will stop.
func (s *Stage) Outcome() Outcome { return s.halting.Outcome }

// next opens the next wave, or ends the scene if there is none.
func (s *Stage) next() error {
	if s.phase != phaseIdle || s.config.Stepwise && !s.ticked {
		return nil
	}
	s.restartBroken()
	if s.Spending.Demands(budget.Pause) && !s.halting.paused && !s.halting.pausing && !s.config.Stepwise {
		s.halting.pausing, s.halting.pausedBy = true, PausedByBudget
	}
	if s.flight.any() && !s.halting.kept && s.Agenda.Ended == "" && (!s.realtime() || s.comesToRest()) { // no fact follows the end
		return s.closeArrived(s.moment())
	}
	if s.waitsForRest() {
		return nil
	}
	switch {
	case s.halting.Reason != "":
		return s.proceedToStop()
	case s.halting.resuming:
		return s.proceedToResume()
	case s.Waiting.due(s.Agenda.Wave+1, s.moment().Sub(s.Agenda.Begun())):
		return s.openOrder(s.moment())
	case s.Agenda.Paused:
		return s.rest()
	case s.halting.pausing:
		return s.proceedToPause()
	case s.snapshotDue():
		return s.takeSnapshot()
	case s.gate.On && s.gate.Wave != s.Agenda.Wave+1:
		s.effect(Effect{Act: ActGate, Wave: s.Agenda.Wave + 1, At: s.coming()})
		return nil
	}
	if reason, at := s.stops(); reason != "" {
		s.halting.stop(reason, at)
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
	if end, limited := s.TimeLimit(); some && limited && at >= end {
		s.halting.stop(s.timeReason(), end)
		return s.next()
	}
	switch {
	case ordered >= 0:
		s.Waiting.first(ordered)
		return s.openOrder(at)
	case !some && s.View.awaits(): // a person who plays an agent may still do something
		return nil
	case !some:
		s.halting.stop(agenda.StoppedByQuiet, 0)
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

// embeds reports whether the scene asks for vectors of entries before time goes on. It does not
// ask again right behind a wave that gave none: its own turn may have failed.
func (s *StageState) embeds(now protocol.Time) bool {
	wave, n := s.Agenda.Wave, uint64(s.View.wants(now))
	return n > 0 && s.bare != [2]uint64{wave, n} && s.bare != [2]uint64{wave} && !s.Agenda.GaveUp(uint32(s.scene.OwnOrdinal()))
}

// asksVectors notes behind which wave the scene asks for vectors, and of how many entries.
func (s *StageState) asksVectors(now protocol.Time) {
	s.bare = [2]uint64{s.Agenda.Wave + 1, uint64(s.View.wants(now))}
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
		return s.now.Wall
	}
	if reason, at := s.stops(); reason != "" || s.embeds(s.Agenda.Now) {
		return max(at, s.Agenda.Now)
	}
	at, some, _, _ := s.soonest()
	if !some {
		return 0
	}
	if end, limited := s.TimeLimit(); limited {
		at = max(min(at, end), s.Agenda.Now)
	}
	return at
}

// expiring is when a value or lease of the world expires next; 0 = never.
func (s *StageState) expiring() protocol.Time {
	if at := s.View.WorldState().NextExpiry(); at != 0 {
		return max(s.Agenda.Grid(at), s.Agenda.Now)
	}
	return 0
}

// expiresFirst reports whether an expiry comes before the next moment of the agenda;
// some = the agenda has one. If it has none, an expiry keeps the scene running only
// if it is observed: by the holder of a lease, a subscription to changes of the
// world, or the stop condition.
func (s *StageState) expiresFirst(next protocol.Time, some bool) (protocol.Time, bool) {
	at := s.expiring()
	switch {
	case at == 0:
		return 0, false
	case some:
		return at, at <= next
	}
	return at, !s.View.WorldState().Leases().Empty() || s.View.hearsWorld() || s.scene.Condition != nil
}

// expire opens a wave without turns, in which values of the world expire. Deferred
// effects that are due join it.
func (s *Stage) expire(at protocol.Time) error {
	w := s.openWave(at)
	w.expires = true
	w.joinDeferred()
	return s.pump()
}

// due reports whether a service decides in the open wave also without a request.
func (w *wave) due(service string) (due bool) {
	if service == worldstate.Service {
		due, w.expires = w.expires, false
		return due
	}
	if w.readied == service {
		w.readied = ""
		return true
	}
	next := w.View.of(service).Next
	return next != 0 && next <= w.time
}

// comesToRest reports whether the next step needs every deliberation ended and kept.
func (s *Stage) comesToRest() bool {
	return s.halting.asked() || s.snapshotDue()
}

// control takes a request from outside.
func (s *Stage) control(in *Control) error {
	switch in.Do {
	case DoPause:
		s.halting.pausing, s.halting.resuming, s.halting.pausedBy = !s.halting.paused, false, cmp.Or(in.Reason, PausedByRequest)
	case DoResume:
		s.halting.pausing, s.halting.resuming = false, s.halting.paused
	case DoStop:
		s.halting.stop(in.Reason, in.At)
	case DoGiveUp:
		if s.halting.Reason == "" || s.wave == nil {
			return nil
		}
		s.effect(Effect{Act: ActWarn, Err: errors.New("the open wave is given up: all its requests wait for endpoints that take none; the run resumes before it")})
		if s.halting.kept = true; s.halting.Final { // the end is in that wave
			s.halting.Outcome = Outcome{Reason: agenda.StoppedByInterrupt}
		}
		return s.finish()
	default:
		return s.errorf("control %q", in.Do)
	}
	return s.next()
}

// endTime is the moment of the scene's last waves: the limit that was reached, or the
// current moment.
func (s *Stage) endTime() protocol.Time { return max(s.halting.at, s.moment()) }

// moment is the current time of the scene's clock, that of the open wave if one is.
func (s *Stage) moment() protocol.Time {
	switch {
	case s.realtime():
		return s.now.Wall
	case s.wave != nil:
		return s.wave.time
	}
	return s.Agenda.Now
}

// behind reports whether the last wave is not durable yet.
func (s *Stage) behind() bool { return s.kept.Wave < s.Agenda.Wave }

// settle waits until everything is durable, then takes a snapshot.
func (s *Stage) settle() error {
	if s.behind() {
		s.phase = phaseKeeping
		return nil
	}
	if s.waitsForWriting() {
		return nil
	}
	s.halting.kept = true
	if s.snapshotWorthwhile() {
		return s.takeSnapshot()
	}
	return s.finish()
}

// waveKept handles a wave that has become durable.
func (s *Stage) waveKept(in *Kept) error {
	s.kept.Wave, s.kept.Bytes = max(s.kept.Wave, in.Wave), max(s.kept.Bytes, in.Bytes)
	s.restartBroken()
	if s.asking.retry {
		return s.retryService()
	}
	if s.phase == phaseKeeping && !s.behind() {
		s.phase = phaseIdle
		return s.next()
	}
	return nil
}

// fail stops the stage at once: nothing more can be kept. The run can be resumed before.
func (s *Stage) fail(reason string, err error) error {
	s.halting = halting{Outcome: Outcome{Reason: reason, Err: err}, kept: true}
	return s.finish()
}

func (s *Stage) finish() error {
	s.phase = phaseDone
	s.effect(Effect{Act: ActFinish})
	return nil
}

// stops is the stop condition that holds between two waves, and the earliest time of the last ones.
func (s *Stage) stops() (reason string, at protocol.Time) {
	if reason = s.stopReason(); reason == agenda.StoppedByOutcome {
		at = s.reaction(s.Agenda.Now)
	}
	return reason, at
}

// stopReason names the stop condition that holds between two waves.
func (s *Stage) stopReason() string {
	stop := &s.config.Stop
	switch {
	case s.script != nil && s.script.State.Outcome != nil && s.script.State.Outcome.Ends:
		return agenda.StoppedByOutcome
	case stop.Deliberations > 0 && s.Tally.Deliberations >= stop.Deliberations:
		return agenda.StoppedByDeliberations
	case stop.Events > 0 && s.Tally.EventsRouted >= stop.Events:
		return agenda.StoppedByEvents
	case stop.Tokens > 0 && s.Tally.TokensIn+s.Tally.TokensOut >= stop.Tokens:
		return agenda.StoppedByTokens
	case s.Spending.Dollars(stop.Dollars):
		return agenda.StoppedByDollars
	case s.Spending.Demands(budget.End) && !s.config.Stepwise:
		return agenda.StoppedByBudget
	case s.until():
		return agenda.StoppedByCondition
	}
	if end, ok := s.TimeLimit(); ok && s.realtime() && s.now.Wall >= end {
		return s.timeReason()
	}
	return ""
}

// TimeLimit is the scene time at which the scene ends, also before it has begun.
func (s *Stage) TimeLimit() (end protocol.Time, ok bool) {
	begun := cmp.Or(s.Agenda.Begun(), s.startTime())
	if d := s.config.Stop.After.Std(); d > 0 {
		end, ok = begun.Add(d), true
	}
	if n := s.config.Stop.Ticks; n > 0 && !s.realtime() {
		if at := begun.Add(ticksLong(n, s.scene.Simulation().Tick.Std())); !ok || at < end {
			end, ok = at, true
		}
	}
	return end, ok
}

// ticksLong is the duration of n ticks, at most the longest duration.
func ticksLong(n int64, tick time.Duration) time.Duration {
	if tick > 0 && n > math.MaxInt64/int64(tick) {
		return math.MaxInt64
	}
	return time.Duration(n) * tick
}

func (s *Stage) timeReason() string {
	end, _ := s.TimeLimit()
	if d := s.config.Stop.After.Std(); d > 0 && s.Agenda.Begun().Add(d) <= end {
		return agenda.StoppedByTime
	}
	return agenda.StoppedByTicks
}

// until evaluates the stop condition over the world and the scene's counters.
func (s *Stage) until() bool {
	if s.scene.Condition == nil {
		return false
	}
	ok, err := s.scene.Condition.EvalBool(s.Roots())
	if err != nil {
		s.warnOnce("until", fmt.Errorf("the stop condition cannot be evaluated yet and counts as false: %w", err))
	}
	return ok && err == nil
}

// Roots are those of expressions about the scene between two waves.
func (s *StageState) Roots() expr.Env { return conditionRoots{s, s.Agenda.Now, s.Agenda.Wave} }

// conditionRoots are what conditions of the scene read, in a wave.
type conditionRoots struct {
	stage *StageState
	now   protocol.Time
	wave  uint64
}

// Lookup resolves the roots of the stop condition.
func (c conditionRoots) Lookup(root string) (any, bool) {
	s := c.stage
	switch root {
	case "world":
		return s.View.World().Value(), true
	case "scene":
		return map[string]any{
			"id": s.scene.ID, "time": c.now.String(), "elapsed_seconds": c.now.Sub(s.Agenda.Begun()).Seconds(),
			"waves": int64(c.wave), "deliberations": s.Tally.Deliberations, "events": s.Tally.EventsRouted,
		}, true
	case "round":
		if s.View.Turns != nil {
			return s.View.Turns.Value(), true
		}
	}
	return nil, false
}

// restartBroken restores failed agents from the journal as soon as everything up to
// their failure is durable.
func (s *Stage) restartBroken() {
	for _, o := range s.flight.restorable(s.kept.Wave) {
		s.effect(Effect{Act: ActRestart, Agent: o})
	}
}
