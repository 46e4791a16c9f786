package scenes

import (
	"slices"
	"time"

	"tavernsim/engine/director"
	"tavernsim/protocol"
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
	if st.presses() && len(st.hurried) == 0 {
		return st.sleepUntilNext(now)
	}
	if !st.anyArrived() && !st.state.Director.DeferredDue(now) && !st.state.Director.ReleaseDue(now) {
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
	arrived, urgent := st.takeArrived()
	w := st.openWave(now)
	w.urgent = urgent
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
func (st *stage) takeArrived() (taken []arrival, urgent bool) {
	if len(st.hurried) > 0 && !st.flight.sated() || len(st.arrived) == 0 {
		taken = takeSome(&st.hurried, maxArrived)
		st.flight.streak += len(taken)
		return taken, len(taken) > 0
	}
	switch {
	case st.Clock == director.Virtual:
		taken = takeSome(&st.arrived, len(st.arrived))
	case len(st.hurried) > 0:
		taken = takeSome(&st.arrived, maxArrived/urgentShare)
	default:
		taken = takeSome(&st.arrived, maxArrived)
	}
	st.flight.streak = max(0, min(st.flight.streak, urgentStreak)-urgentShare*len(taken))
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
func (st *stage) wakeDue(now protocol.Time) {
	d := st.state.Director
	late := false
	busy := func(o uint32) bool {
		if !st.flight.has(o) {
			return false
		}
		late = d.Urgency(o) == protocol.Critical && st.hurry(o, now) || late
		return true
	}
	for {
		o, ok := d.TakeNext(now, !st.flight.room(), busy)
		if !ok {
			break
		}
		urgency := d.Urgency(o)
		if st.flight.begin(o, urgency == protocol.Critical, now); urgency == protocol.Critical {
			st.lapseIn(urgentPatience)
		}
		st.measureWake(o, d.Wave+1)
		st.refs[o].Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Time: now, Priority: urgency}, Kind: protocol.KindWake, Scene: st.ID, Wave: d.Wave + 1})
	}
	if late {
		st.hurryArrived()
	}
}

// hurry lets others stand aside for an agent that deliberates, and has heard
// something critical. It reports whether that has ended already.
func (st *stage) hurry(o uint32, now protocol.Time) (ended bool) {
	if ended = st.flight.hurry(o, now); !ended {
		st.lapseIn(urgentPatience)
	}
	return ended
}

// hurryArrived lets the turns go before others whose agents have heard something
// critical since: these are woken for it when they are merged.
func (st *stage) hurryArrived() {
	arrived := st.arrived
	st.arrived = nil
	for _, a := range arrived {
		if st.state.Director.Urgency(a.agent) == protocol.Critical {
			st.hurried = append(st.hurried, a)
		} else {
			st.arrived = append(st.arrived, a)
		}
	}
}

// waitsForModel notes that a deliberation needs its worker no more.
func (st *stage) waitsForModel(env *protocol.Envelope) error {
	if o, ok := st.Ordinal(env.Source); ok {
		st.flight.wait(o)
	}
	return st.next()
}

// anyArrived reports whether there are turns that have ended and are not merged.
func (st *stage) anyArrived() bool { return len(st.arrived)+len(st.hurried) > 0 }

// sleepUntilNext sets the scene's timer: the next agent that is due, or the
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

// wakeIn sets the timer for what the scene does next.
func (st *stage) wakeIn(wait time.Duration) { st.tickIn(&st.timer, wait) }

// lapseIn sets the timer for the end of patience with what is urgent.
func (st *stage) lapseIn(wait time.Duration) { st.tickIn(&st.lapse, wait) }

func (st *stage) tickIn(timer **time.Timer, wait time.Duration) {
	if *timer != nil {
		(*timer).Reset(wait)
		return
	}
	self := st.self
	*timer = time.AfterFunc(wait, func() { self.Tell(&protocol.Envelope{Kind: protocol.KindTick}) })
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
// critical, or publishes it, goes before all that did not; a failure stays behind
// the turn that the agent ended before.
func (st *stage) arrive(a arrival) {
	st.flight.arrive(a.agent)
	urgent := a.urgent || st.state.Director.Urgency(a.agent) == protocol.Critical
	if a.failure != nil {
		urgent = slices.ContainsFunc(st.hurried, func(o arrival) bool { return o.agent == a.agent })
	}
	if urgent {
		st.hurried = append(st.hurried, a)
	} else {
		st.arrived = append(st.arrived, a)
	}
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
	st.arrive(a)
	if a.failure != nil && st.phase == phaseSnapshot {
		return st.dropSnapshot(st.Name(a.agent))
	}
	return st.next()
}
