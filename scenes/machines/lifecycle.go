package machines

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/hook"
	"tavernsim/engine/budget"
	"tavernsim/protocol"
)

// The scene begins, pauses, goes on and ends with a wave of its own, in which its workflow for that
// moment runs.

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

// Ends reports whether the scene has begun to end for good: the orders that it has not taken by now change nothing.
func (s *Stage) Ends() bool { return s.halt.Final }

// begin starts the scene, or continues where its journal ends.
func (s *Stage) begin(in *Begin) error {
	s.phase, s.crashes = phaseIdle, in.Crashes
	if s.Agenda.Started {
		if s.config.Raised {
			s.Spending.Heeded()
		}
		s.halt.resuming = s.halt.paused // starting a paused run again resumes it
		return s.next()
	}
	s.openWave(s.startTime())
	if err := s.wave.keepOwn(s.scene.Started(s.wave.time)); err != nil {
		return err
	}
	return s.runLifecycle(s.scene.Moment(hook.SceneStart, s.scene.Def.Lifecycle.Start))
}

func (s *Stage) startTime() protocol.Time {
	if s.realtime() {
		return s.now.Time
	}
	return protocol.TimeOf(s.scene.Simulation().StartTime)
}

// control takes a request from outside.
func (s *Stage) control(in *Control) error {
	switch in.Do {
	case DoPause:
		s.halt.pausing, s.halt.resuming, s.halt.pausedBy = !s.halt.paused, false, cmp.Or(in.Reason, PausedByRequest)
	case DoResume:
		s.halt.pausing, s.halt.resuming = false, s.halt.paused
	case DoStop:
		s.halt.stop(in.Reason, in.At)
	case DoGiveUp:
		if s.halt.Reason == "" || s.wave == nil {
			return nil
		}
		s.effect(Effect{Act: ActWarn, Err: errors.New("the open wave is given up: all its requests wait for persons, who are asked again then, or for endpoints that take none or whose rates are used up; the run resumes before it")})
		if s.halt.kept = true; s.halt.Final { // the end is in that wave
			s.halt.Outcome = Outcome{Reason: agenda.StoppedByInterrupt}
		}
		return s.finish()
	default:
		return s.errorf("control %q", in.Do)
	}
	return s.next()
}

// proceedToStop keeps the end and what the end workflow does in one wave, so that no
// kill comes between them, and waits for the disk.
func (s *Stage) proceedToStop() error {
	switch {
	case s.halt.kept:
		if s.waitsForWriting() {
			return nil
		}
		return s.finish()
	case !s.halt.Final, s.Agenda.Ended != "":
		return s.settle()
	}
	at := max(s.halt.at, s.moment()) // the limit that was reached, or now
	last, err := s.ending(at)
	if err != nil {
		return err
	}
	return s.openLifecycle(at, &agenda.Ended{Reason: s.halt.Reason}, last)
}

// proceedToPause runs the pause workflow and keeps the fact.
func (s *Stage) proceedToPause() error {
	s.halt.pausing, s.halt.paused = false, true
	return s.openLifecycle(s.moment(), &agenda.Paused{Reason: s.halt.pausedBy}, nil)
}

func (s *Stage) proceedToResume() error {
	s.halt.resuming, s.halt.paused = false, false
	s.effect(Effect{Act: ActGoOn})
	return s.openLifecycle(s.moment(), &agenda.Resumed{}, nil)
}

// rest waits until everything is durable and then reports that the scene is paused.
func (s *Stage) rest() error {
	if s.behind() {
		s.phase = phaseKeeping
		return nil
	}
	if s.halt.pausedBy == PausedByBudget && !s.config.Stepwise { // nobody can raise it while the scene runs
		s.halt.stop(agenda.StoppedByBudget, 0)
		s.halt.Final = false
		return s.next()
	}
	s.effect(Effect{Act: ActRest})
	return nil
}

// runLifecycle runs a workflow of the scene itself as the only turn of the open wave.
func (s *Stage) runLifecycle(workflow string) error {
	if workflow != "" {
		s.wave.order, s.wave.workflow = []uint32{uint32(s.scene.OwnOrdinal())}, workflow
	}
	return s.pump()
}

// openLifecycle opens a wave that begins with a pause, a resumption or the end of the scene, which an order may
// ask for. What was deferred and is due joins it, but for most ends: that by the script has what the script
// asked for.
func (s *Stage) openLifecycle(at protocol.Time, f protocol.Fact, last *Order) error {
	w := s.openWave(at)
	w.keep(f)
	if last != nil {
		if err := w.changes.keepLast(last); err != nil {
			return err
		}
	}
	joins, workflow := true, ""
	switch x := f.(type) {
	case *agenda.Paused:
		workflow = s.scene.Def.Lifecycle.Pause
	case *agenda.Resumed:
		workflow = s.scene.Def.Lifecycle.Resume
	case *agenda.Ended:
		w.last, joins, workflow = true, x.Reason == agenda.StoppedByOutcome, s.scene.Moment(hook.SceneEnd, s.scene.Def.Lifecycle.End)
	}
	if joins {
		w.joinDeferred()
	}
	return s.runLifecycle(workflow)
}

// settle waits until everything is durable, then takes a snapshot.
func (s *Stage) settle() error {
	if s.behind() {
		s.phase = phaseKeeping
		return nil
	}
	if s.waitsForWriting() {
		return nil
	}
	s.halt.kept = true
	if s.snapshotWorthwhile() {
		return s.takeSnapshot()
	}
	return s.finish()
}

// waveKept handles a wave that has become durable. Agents that failed up to it are restored from the journal.
func (s *Stage) waveKept(in *Kept) error {
	s.kept.Wave, s.kept.Bytes = max(s.kept.Wave, in.Wave), max(s.kept.Bytes, in.Bytes)
	for _, o := range s.flight.restorable(s.kept.Wave) {
		s.effect(Effect{Act: ActRestart, Agent: o})
	}
	if s.asking.retry {
		return s.retryService()
	}
	if s.phase == phaseKeeping && !s.behind() {
		s.phase = phaseIdle
		return s.next()
	}
	return nil
}

// behind reports whether the last wave is not durable yet.
func (s *Stage) behind() bool { return s.kept.Wave < s.Agenda.Wave }

// fail stops the stage at once: nothing more can be kept. The run can be resumed before.
func (s *Stage) fail(reason string, err error) error {
	s.halt = halting{Outcome: Outcome{Reason: reason, Err: err}, kept: true}
	return s.finish()
}

func (s *Stage) finish() error {
	s.phase = phaseDone
	s.effect(Effect{Act: ActFinish})
	return nil
}

// Outcome is how the stage has stopped, or will stop.
func (s *Stage) Outcome() Outcome { return s.halt.Outcome }

// stops is the stop condition that holds between two waves, and the earliest time of the last ones; "" = none does.
func (s *Stage) stops() (reason string, at protocol.Time) {
	stop := &s.config.Stop
	switch {
	case s.config.Endless:
	case s.script != nil && s.script.State.Outcome != nil && s.script.State.Outcome.Ends:
		return agenda.StoppedByOutcome, s.reaction(s.Agenda.Now)
	case stop.Deliberations > 0 && s.Tally.Deliberations >= stop.Deliberations:
		reason = agenda.StoppedByDeliberations
	case stop.Events > 0 && s.Tally.EventsRouted >= stop.Events:
		reason = agenda.StoppedByEvents
	case stop.Tokens > 0 && s.Tally.TokensIn+s.Tally.TokensOut >= stop.Tokens:
		reason = agenda.StoppedByTokens
	case s.Spending.Dollars(stop.Dollars):
		reason = agenda.StoppedByDollars
	case s.Spending.Demands(budget.End) && !s.config.Stepwise:
		reason = agenda.StoppedByBudget
	case s.until():
		reason = agenda.StoppedByCondition
	case s.realtime():
		if end, why := s.TimeLimit(); why != "" && s.now.Time >= end {
			reason = why
		}
	}
	return reason, 0
}

// TimeLimit is the scene time at which the scene ends, also before it has begun, and the reason; "" = never.
func (s *Stage) TimeLimit() (end protocol.Time, reason string) {
	begun := cmp.Or(s.Agenda.Begun(), s.startTime())
	if d := s.config.Stop.After.Std(); d > 0 {
		end, reason = begun.Add(d), agenda.StoppedByTime
	}
	if n := s.config.Stop.Ticks; n > 0 && !s.realtime() {
		if at := begun.Add(ticksLong(n, s.scene.Simulation().Tick.Std())); reason == "" || at < end {
			end, reason = at, agenda.StoppedByTicks
		}
	}
	return end, reason
}

// ticksLong is the duration of n ticks, at most the longest duration.
func ticksLong(n int64, tick time.Duration) time.Duration {
	if tick > 0 && n > math.MaxInt64/int64(tick) {
		return math.MaxInt64
	}
	return time.Duration(n) * tick
}

// EndsBy reports whether the stage itself finds that a reason ends the scene now, on the virtual clock. Else it hears
// of it from outside: of a request, a budget that nobody raised, or at its limit of time, which was reached for an order
// that no history has, since no wave took it.
func (s *Stage) EndsBy(reason string, at protocol.Time) bool {
	switch reason {
	case agenda.StoppedByRequest, agenda.StoppedByBudget:
		return false
	case agenda.StoppedByTime, agenda.StoppedByTicks:
		end, limit := s.TimeLimit()
		return s.coming() != 0 || reason != limit || at != end || end <= s.Agenda.Now
	}
	return true
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
