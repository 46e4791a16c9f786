package scenes

import (
	"time"

	"tavernsim/actors"
	"tavernsim/engine/director"
	"tavernsim/internal/metrics"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/setup"
)

// stage is the scene's own actor: it wakes agents, merges what they decided in
// a fixed order, has the world, the knowledge and the event channel decide
// about it, and hands the facts of each wave to the journal.
//
// A wave goes through phases; between them the stage waits for an envelope,
// never on a worker. The one exception is the journal: when the disk is too far
// behind, Append and CloseWave hold the scene up. That is the backpressure.
type stage struct {
	*scene
	state *machines.State // of the scene; the machines of agents and services live in their actors
	self  *actors.Ref

	phase  phase
	wave   *wave
	places []uint32 // of an ordinal: its place in the order of the open wave
	// realtime: turns that ended while a wave was being closed.
	arrived []arrival
	hurried []arrival // of those, what goes before the others
	flight  inFlight  // realtime: who deliberates
	timer   *time.Timer
	lapse   *time.Timer // realtime: for urgentPatience

	// Agents whose actor failed, and the wave whose facts they must be restored
	// from.
	broken map[uint32]uint64
	// unrestorable: there is an agent whose state could not be read again.
	unrestorable bool
	kept         uint64 // last durable wave

	stopping stopping
	resting  protocol.Time // realtime: since when it waits until who deliberates is done; 0 = it does not
	pausing  bool          // asked for, not begun
	resuming bool
	snapshot snapshotting
	report   func(Outcome)
	progress *Progress
	series   *series
	doing    *doing
	call     machines.CallSeen // of the fact at hand

	failures map[string]int64    // of services, in a row
	parts    []protocol.KindData // of the service at work: what it decided so far
	retry    string              // the service that is restored and asked again
	lastAsk  struct {            // what the service at work was asked
		kind     protocol.Kind
		requests protocol.Raw
	}
	untilWarned bool
	crashes     []*Crash // of the scene itself, to be kept with the next wave

	rests chan struct{} // gets one element each time the scene comes to rest
	over  chan struct{} // closed when it is done
}

// phase is what the stage waits for.
type phase uint8

const (
	phaseIdle      phase = iota // no wave is open
	phaseTurns                  // agents deliberate
	phaseWorld                  // the world decides
	phaseKnowledge              // the knowledge service decides
	phaseEvents                 // the event channel decides and delivers
	phaseKeeping                // the last wave before a stop becomes durable
	phaseSnapshot               // actors give their states
	phaseWriting                // the last snapshot is written before a stop
	phaseDone
)

// stopping says how far the end is under way.
type stopping struct {
	reason string
	final  bool // the scene ends, with a fact; otherwise it can be resumed
	begun  bool // the end workflow was started
	kept   bool // everything is durable
	alone  bool // realtime: without the deliberations that are still in flight
	err    error
}

// Receive implements actors.Behavior.
func (st *stage) Receive(env *protocol.Envelope) error {
	err := st.receive(env)
	st.weigh()
	if err != nil && st.journal.Err() != nil {
		return st.journalFailed(st.journal.Err())
	}
	return err
}

func (st *stage) receive(env *protocol.Envelope) error {
	switch env.Kind {
	case protocol.KindTurn, protocol.KindFailed:
		return st.turnArrived(env)
	case protocol.KindWaits:
		return st.waitsForModel(env)
	case protocol.KindDecided:
		return st.serviceDecided(env)
	case protocol.KindControl:
		return st.control(env)
	case protocol.KindTick:
		return st.next()
	case protocol.KindState:
		return st.stateArrived(env)
	case protocol.KindAnswer:
		return st.keptArrived(env)
	case protocol.KindSnapshot:
		return st.snapshotWritten()
	}
	return protocol.Errorf(protocol.KindInternal, "scene %s: unexpected %s", st.ID, env.Kind)
}

// begin opens the journal's story, or goes on where it stopped.
func (st *stage) begin() error {
	st.metrics.Became(metrics.SceneRunning)
	if st.state.Director.Started {
		st.resuming = st.state.Director.Paused // who starts a paused run again wants it to go on
		return st.next()
	}
	st.state.Director.Start(st.startTime())
	first := st.openWave(st.state.Director.Begun())
	if err := st.keepTyped(setup.ActorScene, st.Started(first.time)); err != nil {
		return err
	}
	if st.Def.Lifecycle.Start == "" {
		return st.closeWave()
	}
	return st.runLifecycle(st.Def.Lifecycle.Start)
}

func (st *stage) startTime() protocol.Time {
	if st.Clock == director.Realtime {
		return st.now()
	}
	return protocol.TimeOf(st.Simulation().StartTime)
}

// runLifecycle makes the scene's own workflow the only turn of the open wave.
func (st *stage) runLifecycle(workflow string) error {
	st.wave.order = []uint32{uint32(st.OwnOrdinal())}
	st.wave.workflow = workflow
	return st.pump()
}

// next opens the next wave when there is one, or ends the scene.
func (st *stage) next() error {
	if st.phase != phaseIdle {
		return nil
	}
	if st.broken != nil {
		st.restartBroken()
	}
	if st.anyArrived() && !st.stopping.kept && (st.Clock == director.Virtual || st.comesToRest()) {
		return st.closeArrived(st.moment())
	}
	if st.waitsForRest() {
		return nil
	}
	switch {
	case st.stopping.reason != "":
		return st.proceedToStop()
	case st.resuming:
		return st.proceedToResume()
	case st.state.Director.Paused:
		return st.rest()
	case st.pausing:
		return st.proceedToPause()
	case st.snapshotDue():
		return st.takeSnapshot()
	}
	if reason := st.stopReason(); reason != "" {
		st.stop(reason)
		return st.next()
	}
	if st.Clock == director.Realtime {
		return st.nextRealtime()
	}
	at, ok := st.state.Director.NextTime()
	x, expires := st.expiresFirst(at, ok)
	if expires {
		at, ok = x, true
	}
	if !ok {
		st.stop(director.StoppedByQuiet)
		return st.next()
	}
	if end, ok := st.timeLimit(); ok && at >= end {
		st.stop(st.timeReason())
		return st.next()
	}
	if expires {
		return st.expire(at)
	}
	w := st.openWave(at)
	w.deferred = st.state.Director.TakeDeferred(at)
	w.order = st.state.Director.Take(at)
	return st.pump()
}

// comesToRest: what comes next needs every deliberation ended and kept.
func (st *stage) comesToRest() bool {
	return (st.stopping.reason != "" && !st.stopping.kept) || st.pausing || st.snapshotDue()
}

// onlySnapshot: it comes to rest for nothing else.
func (st *stage) onlySnapshot() bool { return st.stopping.reason == "" && !st.pausing }

// abandons: an interrupted scene does not wait for the deliberations in flight.
// They have left no facts, so they begin again when it is resumed. One that ends
// waits for a while; what is not done then never happened.
func (st *stage) abandons() bool {
	return st.stopping.reason != "" && (!st.stopping.final || st.stopping.alone)
}

func (st *stage) openWave(at protocol.Time) *wave {
	st.wave = newWave(st, at)
	st.state.Director.Now = at
	st.phase = phaseTurns
	if st.state.Director.Wave > 0 { // scene.started comes before everything
		for i, c := range st.crashes {
			st.wave.keep(setup.ActorScene, &director.ActorFailed{Actor: setup.ActorScene, Error: c.Text, Stack: c.Stack, Failures: int64(i + 1)})
		}
		st.crashes = nil
	}
	return st.wave
}

// stop asks for the end of the scene; the first reason stands.
func (st *stage) stop(reason string) {
	if st.stopping.reason != "" {
		return
	}
	st.stopping.reason, st.resting = reason, 0 // an end has a patience of its own
	switch reason {
	case director.StoppedByInterrupt, director.StoppedByWallTime:
	default:
		st.stopping.final = true
	}
}

// proceedToStop runs the end workflow, keeps the last fact, waits for the disk.
func (st *stage) proceedToStop() error {
	switch {
	case st.stopping.kept:
		if st.waitsForWriting() {
			return nil
		}
		return st.finish()
	case !st.stopping.final:
		return st.settle()
	case !st.stopping.begun:
		st.stopping.begun = true
		if w := st.Def.Lifecycle.End; w != "" && st.stopping.err == nil {
			st.openWave(st.endTime())
			return st.runLifecycle(w)
		}
	}
	if st.state.Director.Ended == "" {
		w := st.openWave(st.endTime())
		st.state.Director.Ended = st.stopping.reason
		w.keep(setup.ActorScene, &director.Ended{Reason: st.stopping.reason})
		return st.closeWave()
	}
	return st.settle()
}

// endTime is the moment of the scene's last waves: the limit that was reached,
// or where time stands.
func (st *stage) endTime() protocol.Time {
	if st.Clock == director.Realtime {
		return st.now()
	}
	if end, ok := st.timeLimit(); ok && (st.stopping.reason == director.StoppedByTime || st.stopping.reason == director.StoppedByTicks) {
		return max(end, st.state.Director.Now)
	}
	return st.state.Director.Now
}

// settle waits until everything is durable, then keeps a snapshot.
func (st *stage) settle() error {
	if st.kept < st.state.Director.Wave && st.journal.Err() == nil {
		st.phase = phaseKeeping
		return nil
	}
	if st.waitsForWriting() {
		return nil
	}
	st.stopping.kept = true
	if st.snapshotWorthwhile() {
		return st.takeSnapshot()
	}
	return st.finish()
}

// keptArrived hears that a wave is durable, or why it is not.
func (st *stage) keptArrived(env *protocol.Envelope) error {
	a, err := readKept(env.Body.Raw)
	if err != nil {
		return err
	}
	if a.failure != nil {
		return st.journalFailed(a.failure)
	}
	st.kept = max(st.kept, a.wave)
	st.outside.Log.Kept(st.kept)
	durable := st.journal.Durable()
	st.snapshot.kept = durable.Total
	st.progress.keep(durable)
	if st.broken != nil {
		st.restartBroken()
	}
	if st.retry != "" {
		return st.retryService()
	}
	if st.phase == phaseKeeping && st.kept >= st.state.Director.Wave {
		st.phase = phaseIdle
		return st.next()
	}
	return nil
}

// journalFailed: nothing can be kept any more, so nothing more may happen. What
// was answered is safe; the run is resumed once the cause is gone.
func (st *stage) journalFailed(cause error) error {
	if st.phase == phaseDone {
		return nil
	}
	st.metrics.JournalFailed()
	st.stopping = stopping{reason: director.StoppedByInterrupt, kept: true, err: &DiskFailure{Scene: st.ID, Cause: cause}}
	return st.finish()
}

// lastState is what a scene that stopped is in.
func (st *stage) lastState() metrics.SceneState {
	switch {
	case st.stopping.err != nil:
		return metrics.SceneFailed
	case st.stopping.final:
		return metrics.SceneEnded
	}
	return metrics.SceneInterrupted
}

func (st *stage) finish() error {
	if st.phase == phaseDone {
		return nil
	}
	st.phase = phaseDone
	close(st.over)
	for _, t := range []*time.Timer{st.timer, st.lapse} {
		if t != nil {
			t.Stop()
		}
	}
	st.metrics.Became(st.lastState())
	st.report(Outcome{Reason: st.stopping.reason, Final: st.stopping.final, Err: st.stopping.err, Wave: st.journal.Durable(), State: st.state})
	return nil
}

// restartBroken gives failed actors a new life once everything up to their
// failure is durable: their state is read from the journal.
func (st *stage) restartBroken() {
	for o, wave := range st.broken {
		if wave <= st.kept {
			delete(st.broken, o)
			st.system.Restart(st.refs[o], st.sup)
		}
	}
	if len(st.broken) == 0 {
		st.broken = nil
	}
}

// closing answers of the journal come from its goroutine.
func (st *stage) whenKept(number uint64) func(persistence.Wave, error) {
	self := st.self
	return func(w persistence.Wave, err error) {
		self.Tell(&protocol.Envelope{Kind: protocol.KindAnswer, Body: protocol.NewBody(appendKept(number, err))})
	}
}
