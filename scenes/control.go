package scenes

import (
	"fmt"
	"math"
	"time"

	"tavernsim/engine/director"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/setup"
)

// What a scene can be asked to do.
const (
	doStart     = "start"
	doPause     = "pause"
	doResume    = "resume"
	doTerminate = "terminate"
	doInterrupt = "interrupt"
	doWallTime  = "wall_time"
)

// control takes a request from outside. Its answer goes to the waiters when
// the scene is where it was asked to be.
func (st *stage) control(env *protocol.Envelope) error {
	switch env.Type {
	case doStart:
		return st.begin()
	case doPause:
		st.pausing = !st.state.Director.Paused
	case doResume:
		st.pausing, st.resuming = false, st.state.Director.Paused
	case doTerminate:
		st.stop(director.StoppedByRequest)
	case doInterrupt:
		st.stop(director.StoppedByInterrupt)
	case doWallTime:
		st.stop(director.StoppedByWallTime)
	default:
		return protocol.Errorf(protocol.KindInternal, "scene %s: control %q", st.ID, env.Type)
	}
	return st.next()
}

// proceedToPause lets deliberations finish, runs the pause workflow, keeps the
// fact and waits until it is durable.
func (st *stage) proceedToPause() error {
	st.pausing = false
	st.state.Director.Paused = true
	w := st.openWave(st.moment())
	w.keep(setup.ActorScene, &director.Paused{Reason: "request"})
	if wf := st.Def.Lifecycle.Pause; wf != "" {
		return st.runLifecycle(wf)
	}
	return st.closeWave()
}

func (st *stage) proceedToResume() error {
	st.resuming = false
	st.state.Director.Paused = false
	st.metrics.Became(metrics.SceneRunning)
	select {
	case <-st.rests: // of a rest that nobody waited for
	default:
	}
	w := st.openWave(st.moment())
	w.keep(setup.ActorScene, &director.Resumed{})
	if wf := st.Def.Lifecycle.Resume; wf != "" {
		return st.runLifecycle(wf)
	}
	return st.closeWave()
}

// moment is now, on the scene's clock.
func (st *stage) moment() protocol.Time {
	if st.Clock == director.Realtime {
		return st.now()
	}
	return st.state.Director.Now
}

// rest is where a paused scene stays: durable, and answered.
func (st *stage) rest() error {
	if st.kept < st.state.Director.Wave && st.journal.Err() == nil {
		st.phase = phaseKeeping
		return nil
	}
	st.metrics.Became(metrics.ScenePaused)
	select {
	case st.rests <- struct{}{}:
	default: // nobody took the last one; it still stands
	}
	return nil
}

// stopReason names the stop condition that holds between two waves.
func (st *stage) stopReason() string {
	stop, t := &st.options.Stop, &st.state.Tally
	switch {
	case stop.Deliberations > 0 && t.Deliberations >= stop.Deliberations:
		return director.StoppedByDeliberations
	case stop.Events > 0 && t.EventsRouted >= stop.Events:
		return director.StoppedByEvents
	case st.until():
		return director.StoppedByCondition
	}
	if end, ok := st.timeLimit(); ok && st.Clock == director.Realtime && st.now() >= end {
		return st.timeReason()
	}
	return ""
}

// timeLimit is the scene time at which it ends.
func (st *stage) timeLimit() (end protocol.Time, ok bool) {
	begun := st.state.Director.Begun()
	if d := st.options.Stop.After.Std(); d > 0 {
		end, ok = begun.Add(d), true
	}
	if n := st.options.Stop.Ticks; n > 0 && st.Clock == director.Virtual {
		if at := begun.Add(ticksLong(n, st.Simulation().Tick.Std())); !ok || at < end {
			end, ok = at, true
		}
	}
	return end, ok
}

// ticksLong is how long n ticks take, at most as long as a duration can be.
func ticksLong(n int64, tick time.Duration) time.Duration {
	if tick > 0 && n > math.MaxInt64/int64(tick) {
		return math.MaxInt64
	}
	return time.Duration(n) * tick
}

func (st *stage) timeReason() string {
	end, _ := st.timeLimit()
	if d := st.options.Stop.After.Std(); d > 0 && st.state.Director.Begun().Add(d) <= end {
		return director.StoppedByTime
	}
	return director.StoppedByTicks
}

// until evaluates the stop condition over the world and the scene's counters.
func (st *stage) until() bool {
	if st.Condition == nil || st.state.Director.Wave == 0 {
		return false
	}
	ok, err := st.Condition.EvalBool(untilEnv{st})
	if err != nil && st.stopping.err == nil && !st.untilWarned {
		st.untilWarned = true
		st.log.Warn("the stop condition cannot be evaluated yet; it counts as false", "scene", st.ID, "err", err)
	}
	return ok && err == nil
}

type untilEnv struct{ *stage }

// Lookup gives the condition its roots.
func (e untilEnv) Lookup(root string) (any, bool) {
	switch root {
	case "world":
		return e.world.Load().Value(), true
	case "scene":
		t := &e.state.Tally
		return map[string]any{
			"id": e.ID, "time": e.state.Director.Now.String(), "elapsed_seconds": e.state.Elapsed().Seconds(),
			"waves": int64(e.state.Director.Wave), "deliberations": t.Deliberations, "events": t.EventsRouted,
		}, true
	}
	return nil, false
}

// serviceFailed restarts the world, the knowledge or the channel and asks it
// again, or gives the scene up.
func (st *stage) serviceFailed(service string, f *failure) error {
	st.failures[service]++
	n := st.failures[service]
	limit := int64(st.Simulation().Limits.MaxRestarts)
	fact := &director.ActorFailed{Actor: service, Error: f.Error, Stack: f.Stack, Failures: n, GivenUp: n > limit}
	if fact.GivenUp {
		st.metrics.ActorGivenUp(service)
	} else {
		st.metrics.ActorFailed(service)
	}
	if st.wave == nil {
		return protocol.Errorf(protocol.KindInternal, "%s failed between two waves: %s", service, f.Error)
	}
	st.wave.keep(setup.ActorScene, fact)
	if fact.GivenUp {
		return st.giveUp(fmt.Errorf("%s was given up after %d failures in a row: %s", service, n, f.Error))
	}
	st.retry, st.parts = service, nil
	return st.retryService()
}

// retryService restores a failed service from the journal and asks it again.
// Everything before the open wave must be durable first: what is not in the
// journal yet would be missing from the restored state.
func (st *stage) retryService() error {
	if st.retry == "" || st.kept < st.state.Director.Wave {
		return nil
	}
	ref := *st.owner(st.retry)
	st.retry = ""
	st.system.Restart(ref, st.sup)
	st.ask(ref, st.lastAsk.kind, st.lastAsk.requests)
	return nil
}

// giveUp leaves the open wave unfinished: it never happened, and the run can be
// resumed from the one before.
func (st *stage) giveUp(err error) error {
	st.stopping = stopping{reason: director.StoppedByFailure, kept: true, err: protocol.Errorf(protocol.KindInternal, "scene %s: %w", st.ID, err)}
	return st.finish()
}
