package machines

import (
	"cmp"
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/order"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/world"
	"tavernsim/protocol"
)

// wave is one step of the scene: the turns of agents that deliberate against the same
// view, and the facts that follow from them.
type wave struct {
	record
	changes  changes
	order    []uint32
	workflow string // of the scene's own turn; "" = the agents' core workflows

	sent    int       // of order: woken so far
	merged  int       // of order: merged so far
	answers []arrival // by place in order; empty until answered

	urgent  bool   // realtime: its turns are urgent
	expires bool   // values of the world expire
	readied string // realtime: the service that had something to decide when the wave began
	turns   int64
	events  int64 // published

	mail        []mail          // for other scenes, sent at the end of the wave
	interrupted map[uint32]bool // virtual: agents whose latency an event interrupts
}

// record is what the open wave leaves: facts, requests to services and observations of agents.
type record struct {
	*shared
	number uint64
	time   protocol.Time

	bytes       int             // of the requests that turns made
	facts       []protocol.Fact // of the stage, for the end of the wave
	asked       []asked         // what directors ask of the stage
	told        []Effect        // observations of agents, sent after the wave is closed
	undelivered []Effect        // observations of publishers, sent after those
}

// keep adds a fact of the stage for the end of the wave.
func (w *record) keep(f protocol.Fact) { w.facts = append(w.facts, f) }

func (s *Stage) openWave(at protocol.Time) *wave {
	s.wave = &wave{record: record{shared: &s.shared, number: s.Agenda.Wave + 1, time: at}, readied: s.ready}
	s.wave.changes.record = &s.wave.record
	if s.ready != "" { // what comes from now on is for the next wave
		s.ready = ""
		s.show(s.View, at)
	}
	s.phase, s.ticked = phaseTurns, false
	if s.Agenda.Wave > 0 { // scene.started must be the first fact
		s.wave.facts, s.crashes = s.crashes, nil
	}
	return s.wave
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
		if w.merged == before || w.sent == len(w.order) {
			s.grant(s.moment())
			return nil
		}
	}
}

// together is how many agents are woken with one effect, up to a place of the order: neighbours that
// have not failed. What an agent may spend is of its own.
func (w *wave) together(end int) (n int) {
	if w.Spending != nil || w.realtime() {
		return 1
	}
	for n = 1; w.sent+n < end && !w.answers[w.sent+n].there(); n++ {
	}
	return n
}

// mergeAnswers merges the turns that have ended, as far as the order allows.
func (w *wave) mergeAnswers() error {
	for w.merged < w.sent && w.answers[w.merged].there() {
		a := w.answers[w.merged]
		if err := w.merge(a); err != nil {
			return err
		}
		w.answers[w.merged] = arrival{}
		w.merged += a.places()
	}
	return nil
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

// answer puts an ended turn, or a failure, in its place of the order. A failure may
// arrive before the agent was woken; its closed mailbox would only hold the wake.
func (w *wave) answer(a arrival, place int) bool {
	if place >= len(w.order) || w.order[place] != a.agent || place < w.merged {
		return false
	}
	if a.span != nil && (place+len(a.span.Turns) > w.sent || !a.span.Begins(w.order[place:])) {
		return false
	}
	w.answers[place] = a
	return true
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

// actorFailed handles the failure of an agent's or a service's actor.
func (s *Stage) actorFailed(in *ActorFailed) error {
	if o, ok := s.scene.Ordinal(in.Actor); ok {
		return s.turnArrived(arrival{agent: o, failure: in})
	}
	return s.serviceFailed(in)
}

// joinDeferred puts deferred effects whose simulated latency has passed before the
// requests of the wave. The agenda drops them when the wave closes.
func (w *record) joinDeferred() {
	for _, d := range w.Agenda.DeferredBy(w.time) {
		w.sequence(w.fitting(d.Agent, d.Effects))
	}
}

// merge takes ended turns, or a failure, into the wave.
func (w *wave) merge(a arrival) error {
	if a.span != nil {
		return w.mergeSpan(a.span)
	}
	w.flight.End(a.agent)
	if err := w.mergeFailure(a); err != nil {
		return err
	}
	return w.turnCut(a.agent, w.Agenda.GaveUp(a.agent))
}

// sequence adds requests to the lists of their services.
func (w *record) sequence(requests []protocol.Sequenced) {
	for _, r := range requests {
		r = w.script.sealed(r)
		switch i := w.asking.of(r.To); {
		case i >= 0:
			w.asking.requests[i].Add(r.Data)
			if w.phase != phaseTurns || w.config.Stepwise {
				continue
			}
			if e, sent := w.asking.sendEarly(i, Effect{Wave: w.number, At: w.time}); sent {
				w.effect(e)
			}
		case r.To == cast.Stage:
			w.asked = append(w.asked, asked{request: slices.Clone(r.Data)}) // the span may be used again before
		default:
			panic("machines: a request to " + r.To + ", and Services has no row of that name")
		}
	}
}

// mergeFailure records that an agent's actor failed, and restarts the agent or gives
// it up.
func (w *wave) mergeFailure(a arrival) error {
	if w.Agenda.GaveUp(a.agent) {
		// The agent cannot be restored either. There are no snapshots without its
		// state; only a fold from an older one restores the run.
		w.flight.unrestorable = true
		return nil
	}
	f := w.Agenda.Failure(a.agent, a.failure.Error, a.failure.Stack, w.time)
	if err := w.keepOwn(&f); err != nil {
		return err
	}
	w.flight.restore(a.agent, w.number)
	w.countTurn(a.agent)
	w.announce(&f)
	return nil
}

// announce publishes the scene's own event about a fact.
func (w *record) announce(f protocol.Fact) {
	if request, ok := Announced(w.scene, f, w.View.hearsWorld()); ok {
		w.sequence([]protocol.Sequenced{{To: bus.Service, Data: request}})
	}
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
		if left := s.Spending.ToolsLeft(); left != nil {
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
			refused = cmp.Or(refused, x.Message)
		}
	}
	if err := w.changes.worldAgreed(refused); err != nil {
		return err
	}
	return s.closeWave()
}

// heed decides the consequences of a service's fact for the agents that it concerns.
func (w *wave) heed(fact protocol.Fact, f protocol.KindData) error {
	switch x := fact.(type) {
	case *bus.Routed:
		if x.Released == 0 {
			w.events++
		}
		if w.script.hears(x) {
			w.changes.heard = append(w.changes.heard, x)
		}
		w.interrupt(x)
		return w.block(x)
	case *bus.Refused:
		w.events++
	case *space.Moved:
		w.crossings(x.Crossed)
	case *space.Put:
		w.crossings(x.Crossed)
	case knowledge.Fact:
		w.tells(x, f)
	}
	w.announce(fact)
	if by, _, ok := Concerns(fact); ok {
		w.tell(&w.told, by, f)
	}
	return nil
}

// tell lists a fact that an agent observes after the wave is closed.
func (w *record) tell(list *[]Effect, instance string, f protocol.KindData) {
	if o, ok := w.scene.Ordinal(instance); ok {
		*list = append(*list, Effect{Act: ActTell, Agent: o, Kind: f.Kind, Data: f.Data, Wave: w.number, At: w.time})
	}
}

// tellLast tells an agent of the fact that was kept last, as an observation of a kind.
func (w *record) tellLast(instance, kind string) {
	w.tell(&w.told, instance, protocol.KindData{Kind: kind, Data: w.effects[len(w.effects)-1].Data})
}

// interrupt lists the receivers whose simulated latency an event interrupts, each once
// in a wave. Their facts are kept when the wave closes.
func (w *wave) interrupt(x *bus.Routed) {
	if !w.scene.Interrupts {
		return
	}
	for o := range x.Receivers.All() {
		f, ok := w.Agenda.Interruption(o, PriorityFor(x, w.scene, o), x.ID, w.time)
		if !ok || w.interrupted[o] || !w.Turns.MayInterrupt(o, PriorityFor(x, w.scene, o)) {
			continue
		}
		if w.interrupted == nil {
			w.interrupted = map[uint32]bool{}
		}
		w.interrupted[o] = true
		w.keep(&f)
	}
}

// block makes the publisher of an event wait for the receivers whose lanes were full.
// Its fact follows that of the event. The scene itself never waits.
func (w *wave) block(x *bus.Routed) error {
	if !w.scene.Blocks {
		return nil
	}
	publisher, ok := w.scene.Ordinal(x.Source)
	if !ok || int(publisher) == w.scene.OwnOrdinal() {
		return nil
	}
	f := &agenda.Blocked{Agent: publisher, Event: x.ID}
	for o := range x.Receivers.All() {
		if w.Agenda.Blocks(publisher, o, PriorityFor(x, w.scene, o)) {
			f.Receivers = append(f.Receivers, o)
		}
	}
	if len(f.Receivers) == 0 {
		return nil
	}
	return w.keepOwn(f)
}

// end keeps the stage's own facts of the wave, the last of which closes it.
func (w *wave) end() error {
	if err := w.changes.look(); err != nil {
		return err
	}
	for _, f := range w.letters {
		w.keep(f)
	}
	w.letters = nil
	for _, f := range w.facts {
		if err := w.keepOwn(f); err != nil {
			return err
		}
		switch x := f.(type) {
		case *agenda.Interrupted:
			w.told = append(w.told, Effect{Act: ActTell, Agent: x.Agent, Kind: agenda.FactInterrupted, Wave: w.number, At: w.time})
		case *agenda.EffectsRefused:
			w.tellLast(x.By, agenda.FactNoRoom)
		}
	}
	if err := w.decideTurns(); err != nil {
		return err
	}
	if err := w.post(); err != nil {
		return err
	}
	return w.keepOwn(&agenda.WaveClosed{Wave: w.number, Turns: w.turns, Events: w.events, World: w.View.World().Version()})
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
