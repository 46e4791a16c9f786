package scenes

import (
	"slices"
	"time"

	"tavernsim/engine/agent"
	"tavernsim/engine/director"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
)

// On the realtime clock agents deliberate whenever they are due, and a wave is
// what arrived while the one before was being closed: the same steps, in the
// order in which it happened.

// nextRealtime wakes who is due and closes a wave over what has arrived.
func (st *stage) nextRealtime() error {
	now := st.now()
	if at := st.expiring(); at != 0 && at <= now {
		return st.expire(now)
	}
	st.wakeDue(now)
	if len(st.arrived) == 0 && !st.state.Director.DeferredDue(now) && !st.state.Director.ReleaseDue(now) {
		return st.sleepUntilNext(now)
	}
	return st.closeArrived(now)
}

// maxArrived bounds the turns of a realtime wave: what is urgent waits for no more than
// that many before it is routed.
const maxArrived = 64

// closeArrived closes a wave over the turns that have ended, and the failures
// that came between two deliberations.
func (st *stage) closeArrived(now protocol.Time) error {
	arrived := st.takeArrived()
	st.openWave(now)
	for _, d := range st.state.Director.TakeDeferred(now) {
		st.sequence(d.Effects)
	}
	for _, a := range arrived {
		if err := st.merge(a); err != nil {
			return err
		}
	}
	return st.closeWave()
}

// takeArrived takes the turns of the next wave. On the realtime clock those that
// are urgent have one of their own: nobody waits for what others publish.
func (st *stage) takeArrived() []arrival {
	n := len(st.arrived)
	if st.Clock == director.Realtime {
		n = min(n, maxArrived)
		if i := slices.IndexFunc(st.arrived, func(a arrival) bool { return !a.urgent }); i > 0 {
			n = min(n, i)
		}
	}
	taken := st.arrived[:n:n]
	if st.arrived = st.arrived[n:]; len(st.arrived) == 0 {
		st.arrived = nil
	}
	return taken
}

// wakeDue wakes who is due and for whom there is room; who heard something
// critical needs none.
func (st *stage) wakeDue(now protocol.Time) {
	// Who deliberates is woken again when it is done, and who has perceived in a
	// turn that is not merged what it would be woken for, is not.
	busy := func(o uint32) bool { return st.flight.has(o) || st.perceived(o) }
	d := st.state.Director
	for {
		o, ok := d.TakeNext(now, !st.flight.room(len(st.arrived), now), busy)
		if !ok {
			return
		}
		urgency := d.Urgency(o)
		st.flight.begin(o, urgency == protocol.Critical, now)
		st.measureWake(o, d.Wave+1)
		st.refs[o].Tell(&protocol.Envelope{Kind: protocol.KindWake, Scene: st.ID, Time: now, Wave: d.Wave + 1, Priority: urgency})
	}
}

// waitsForModel notes that a deliberation needs its worker no more.
func (st *stage) waitsForModel(env *protocol.Envelope) error {
	if o, ok := st.Ordinal(env.Source); ok {
		st.flight.wait(o)
	}
	return st.next()
}

// perceived reports whether an agent's last turn waits to be merged and was shown
// all that the agent heard. It comes back to the agenda when that is merged.
func (st *stage) perceived(o uint32) bool {
	d := st.ended[o]
	if d == nil {
		return false
	}
	last := d.Facts[len(d.Facts)-1]
	f, err := machines.ReadFact(st.Codec, last.Kind, last.Data)
	end, ok := f.(*agent.TurnEnded)
	return err == nil && ok && st.state.Director.Perceived(o, machines.TurnOf(end, d.At))
}

// sleepUntilNext sets the scene's one timer: the next agent that is due, or the
// end of the scene.
func (st *stage) sleepUntilNext(now protocol.Time) error {
	at, ok := st.state.Director.NextTime()
	if ok && at <= now { // there is no room for who is due; when there is, somebody tells
		at = now.Add(urgentPatience)
	}
	if x, first := st.expiresFirst(at, ok || len(st.flight.agents) > 0); first && (!ok || x < at) {
		at, ok = x, true
	}
	if end, limited := st.timeLimit(); limited && (!ok || end < at) {
		at, ok = end, true
	}
	if !ok {
		if len(st.flight.agents) == 0 {
			st.stop(director.StoppedByQuiet)
			return st.proceedToStop()
		}
		return nil
	}
	st.wakeIn(max(at.Sub(now), time.Millisecond))
	return nil
}

// wakeIn sets the scene's one timer.
func (st *stage) wakeIn(wait time.Duration) {
	if st.timer != nil {
		st.timer.Reset(wait)
		return
	}
	self := st.self
	st.timer = time.AfterFunc(wait, func() { self.Tell(&protocol.Envelope{Kind: protocol.KindTick}) })
}

// How long a scene wakes nobody because it waits until who deliberates is done: a
// model may take minutes.
const (
	snapshotPatience = 5 * time.Second
	endPatience      = 10 * time.Second
)

// waitsForRest reports whether the scene waits until who deliberates is done. A
// pause waits as long as it takes. A snapshot waits for a while; then it is due
// again after as many facts as ever, and until then the journal is read from the
// one before. An end waits for a while, too, and then ends without them.
func (st *stage) waitsForRest() bool {
	if !st.comesToRest() || len(st.flight.agents) == 0 || st.abandons() {
		st.resting = 0
		return false
	}
	patience := snapshotPatience
	switch {
	case st.stopping.final:
		patience = endPatience
	case !st.onlySnapshot():
		return true
	}
	now := st.now()
	if st.resting == 0 {
		st.resting = now
		st.wakeIn(patience)
	}
	if now.Sub(st.resting) < patience {
		return true
	}
	st.resting, st.snapshot.last = 0, st.mark()
	st.stopping.alone = st.stopping.final
	return false
}

// arrive puts a turn behind those that have ended. One that handled something
// critical, or publishes it, goes before all that did not.
func (st *stage) arrive(a arrival) {
	if a.urgent = a.urgent || st.state.Director.Urgency(a.agent) == protocol.Critical; !a.urgent {
		st.arrived = append(st.arrived, a)
		return
	}
	i := slices.IndexFunc(st.arrived, func(o arrival) bool { return !o.urgent })
	if i < 0 {
		i = len(st.arrived)
	}
	st.arrived = slices.Insert(st.arrived, i, a)
}

// turnArrivedRealtime notes the end of a turn for the next wave.
func (st *stage) turnArrivedRealtime(a arrival) error {
	if w := st.wave; w != nil && st.phase == phaseTurns && len(w.order) > w.merged && w.order[w.merged] == a.agent {
		if err := st.merge(a); err != nil { // the scene's own workflow: the wave is its
			return err
		}
		w.merged++
		return st.pump()
	}
	st.flight.end(a.agent)
	if a.decided != nil && len(a.decided.Facts) > 0 {
		st.ended[a.agent] = a.decided
	}
	st.arrive(a)
	if a.failure != nil && st.phase == phaseSnapshot {
		return st.dropSnapshot(st.Name(a.agent))
	}
	return st.next()
}
