package machines

import (
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/order"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// openWave begins a wave at a time.
func (s *Stage) openWave(at protocol.Time) *wave {
	s.wave = &wave{record: record{shared: &s.shared, number: s.Agenda.Wave + 1, time: at}, readied: s.ready}
	s.wave.changes.record = &s.wave.record
	s.ready = "" // what comes from now on is for the next wave
	s.phase, s.ticked = phaseTurns, false
	if s.Agenda.Wave > 0 { // scene.started must be the first fact
		s.wave.facts, s.crashes = s.crashes, nil
	}
	return s.wave
}

// expire opens a wave without turns, in which values of the world expire. Deferred
// effects that are due join it.
func (s *Stage) expire(at protocol.Time) error {
	w := s.openWave(at)
	w.expires = true
	w.joinDeferred()
	return s.pump()
}

// closeArrived closes a wave over the turns that have ended, and the failures
// that came between two deliberations.
func (s *Stage) closeArrived(now protocol.Time) error {
	arrived, urgent := s.flight.take(s.realtime())
	w := s.openWave(now)
	w.urgent = urgent
	w.joinDeferred()
	for _, a := range arrived {
		if err := w.merge(a); err != nil {
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
		return s.carryOut(in.Given, p)
	}
	w.joinDeferred()
	return s.pump()
}

// pump wakes agents in the order of the wave, at most max_deliberating at once, so
// that a wave of a million agents needs the memory of a few thousand.
func (s *Stage) pump() error {
	w := s.wave
	if w.answers == nil {
		w.answers = make([]arrival, len(w.order))
		for i, o := range w.order {
			s.places[o] = uint32(i)
		}
		s.Spending.Open(w.time, w.order, func(o uint32) (models, tools budget.Amount) { return s.scene.AgentDefinition(o).Limits.Worst() })
	}
	limit := s.scene.Simulation().Limits.MaxDeliberating
	for {
		for end := min(len(w.order), w.merged+limit); w.sent < end; {
			if w.answers[w.sent].there() { // the agent failed before it was woken
				w.sent++
				continue
			}
			n := w.together(end)
			o := w.order[w.sent]
			e := Effect{Act: ActWake, Agent: o, Wave: w.number, At: w.time, Kind: w.workflow, Budget: s.Spending.Woken(o, w.sent, w.number, w.time)}
			if n > 1 {
				e.Agents = w.order[w.sent : w.sent+n]
			}
			s.effect(e)
			w.sent += n
		}
		before := w.merged
		if err := w.mergeAnswers(); err != nil {
			return err
		}
		if w.merged == len(w.order) {
			return s.closeWave()
		}
		if w.merged == before {
			s.grant(s.moment())
			return nil
		}
	}
}

// turnArrived takes the end of a turn, or the failure of an agent's actor.
func (s *Stage) turnArrived(a arrival) error {
	if s.abandoned(a) {
		return nil
	}
	s.Spending.Over(a.agent) // with budgets spans are of one turn
	if s.realtime() {
		return s.turnArrivedRealtime(a)
	}
	w := s.wave
	if w == nil || s.phase != phaseTurns || !w.answer(a, int(s.places[a.agent])) {
		return s.strayFailure(a)
	}
	return s.pump()
}

// strayFailure records, in a wave of its own, an agent that failed while it did not
// deliberate.
func (s *Stage) strayFailure(a arrival) error {
	if a.failure == nil {
		return s.errorf("%s ended a turn that was not begun", s.scene.Name(a.agent))
	}
	if s.phase == phasePack && s.wave.changes.leaving.of(a.agent) >= 0 { // which of the two happened first is no fact: the wave begins again from the journal
		return s.errorf("%s failed before it gave the state with which it leaves: %s", s.scene.Name(a.agent), a.failure.Error)
	}
	s.flight.queue(a, false)
	if s.phase == phaseSnapshot {
		return s.dropSnapshot(a.failure.Actor)
	}
	return nil
}

// closeWave changes what directors ask for, sends the requests to one service after the
// other, then keeps the wave.
func (s *Stage) closeWave() error {
	w := s.wave
	if err := w.changes.directed(); err != nil {
		return err
	}
	if asked, err := w.changes.pack(); asked || err != nil {
		return err
	}
	i := s.asking.next(w.due)
	if i < 0 {
		return s.keepWave()
	}
	s.phase = phaseService
	switch r := &s.asking.requests[i]; s.asking.services[i].Name {
	case tooltask.Service:
		if left := s.Spending.OfferTasks(); left != nil {
			r.Add(left)
		}
	case bus.Service:
		if members := s.View.channel().Grouped; r.Count > 0 && len(members) > 0 {
			tasks := s.questions()
			r.AddFirst(s.scene.Load(members, s.Agenda, tasks.Taken(), w.time).AppendMsg(nil))
		}
	}
	ask, failure := s.asking.send(i, Effect{Wave: w.number, At: w.time})
	if failure != nil {
		return s.serviceFailed(failure)
	}
	s.effect(ask)
	return nil
}

// serviceAnswered takes the facts of a service.
func (s *Stage) serviceAnswered(in *ServiceAnswered) error {
	w, actor := s.wave, s.asking.actor()
	facts, all := s.asking.answered(in)
	if !all {
		return nil
	}
	s.show(in.View, w.time)
	refused := ""
	for _, f := range facts {
		fact, err := w.keepOf(actor, f)
		if err != nil {
			return err
		}
		if err := w.heed(fact, f); err != nil {
			return err
		}
		if x, ok := fact.(*world.Refused); ok && x.By == order.By && x.Code != world.CodeUndone {
			refused = x.Message // one is to blame; the others are undone
		}
	}
	if err := w.changes.worldAgreed(refused); err != nil {
		return err
	}
	if actor == ActorTasks {
		s.Spending.TasksCounted()
		s.grantNow()
	}
	return s.closeWave()
}

// keepWave closes the wave in the journal. The stage continues without waiting for the
// disk, because nothing leaves the process before the wave is durable.
func (s *Stage) keepWave() error {
	w := s.wave
	if err := w.end(); err != nil {
		return err
	}
	if s.script != nil {
		s.show(s.View, w.time)
	}
	note, err := s.note()
	if err != nil {
		return err
	}
	s.effect(Effect{Act: ActClose, Wave: w.number, At: w.time, Data: note})
	s.effects = append(append(s.effects, w.told...), w.undelivered...)
	s.wave, s.phase = nil, phaseIdle
	return s.next()
}

// Open reports whether a wave is open.
func (s *Stage) Open() bool { return s.wave != nil }

// WaveSize is how many agents the open wave has.
func (s *Stage) WaveSize() int {
	if s.wave == nil {
		return 0
	}
	return len(s.wave.order)
}
