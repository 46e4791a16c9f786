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
	"tavernsim/engine/script"
	"tavernsim/engine/space"
	"tavernsim/engine/tooltask"
	"tavernsim/engine/travel"
	"tavernsim/engine/world"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/span"
)

// wave is one step of the scene: the turns of agents that deliberate against the same
// view, and the facts that follow from them.
type wave struct {
	number   uint64
	time     protocol.Time
	order    []uint32
	workflow string // of the scene's own turn; "" = the agents' core workflows

	sent    int       // of order: woken so far
	merged  int       // of order: merged so far
	answers []arrival // by place in order; empty until answered

	bytes   int // of the requests that turns made
	facts   []protocol.Fact
	urgent  bool   // realtime: its turns are urgent
	expires bool   // values of the world expire
	ready   string // realtime: the service that had something to decide when the wave began
	turns   int64
	events  int64 // published

	leaving     []*travel.Departed // for other scenes
	states      []*Packed          // of them, when they were asked for; nil = it has not come
	asked       []asked            // what directors ask of the stage
	ordered     *order.Plan        // events of an order, published when the world has agreed; nil = none
	orderBy     *cast.Request      // its id and reason
	mail        []mail             // for other scenes, sent at the end of the wave
	given       []script.Given     // of that order and of directors, for the script
	heard       []*bus.Routed      // of types that the script hears of
	orderer     string             // its author
	told        []Effect           // observations of agents, sent after the wave is closed
	undelivered []Effect           // observations of publishers, sent after those
	interrupted map[uint32]bool    // virtual: agents whose latency an event interrupts
}

// arrival is turns that have ended, or a failure.
type arrival struct {
	agent   uint32 // the first
	span    *span.Span
	failure *ActorFailed
	urgent  bool // realtime: it goes before others
}

func (a *arrival) there() bool { return a.span != nil || a.failure != nil }

// places is how many places of the order it takes.
func (a *arrival) places() int {
	if a.span != nil {
		return len(a.span.Turns)
	}
	return 1
}

// keep adds a fact of the stage for the end of the wave.
func (w *wave) keep(f protocol.Fact) { w.facts = append(w.facts, f) }

func (s *Stage) openWave(at protocol.Time) *wave {
	s.wave = &wave{number: s.Agenda.Wave + 1, time: at, ready: s.ready}
	if s.ready != "" { // what comes from now on is for the next wave
		s.ready = ""
		s.show(s.View)
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
			n := s.together(end)
			o := w.order[w.sent]
			e := Effect{Act: ActWake, Agent: o, Wave: w.number, At: w.time, Kind: w.workflow, Budget: s.Spending.Woken(o, w.sent, w.number, w.time)}
			if n > 1 {
				e.Agents = w.order[w.sent : w.sent+n]
			}
			s.effect(e)
			w.sent += n
		}
		before := w.merged
		if err := s.mergeAnswers(); err != nil {
			return err
		}
		if w.merged == len(w.order) {
			return s.closeWave()
		}
		if w.merged == before || w.sent == len(w.order) {
			s.grant()
			return nil
		}
	}
}

// together is how many agents are woken with one effect, up to a place of the order: neighbours that
// have not failed. What an agent may spend is of its own.
func (s *Stage) together(end int) (n int) {
	w := s.wave
	if s.Spending != nil || s.realtime() {
		return 1
	}
	for n = 1; w.sent+n < end && !w.answers[w.sent+n].there(); n++ {
	}
	return n
}

// mergeAnswers merges the turns that have ended, as far as the order allows.
func (s *Stage) mergeAnswers() error {
	w := s.wave
	for w.merged < w.sent && w.answers[w.merged].there() {
		a := w.answers[w.merged]
		if err := s.merge(a); err != nil {
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
	if s.awaitsState(a.agent) {
		return s.errorf("%s failed before it gave the state with which it leaves: %s", s.scene.Name(a.agent), a.failure.Error)
	}
	s.arrived = append(s.arrived, a)
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
func (s *Stage) joinDeferred() {
	for _, d := range s.Agenda.DeferredBy(s.wave.time) {
		s.sequence(s.fitting(d.Agent, d.Effects))
	}
}

// merge takes ended turns, or a failure, into the wave.
func (s *Stage) merge(a arrival) error {
	if a.span != nil {
		return s.mergeSpan(a.span)
	}
	s.flight.End(a.agent)
	if err := s.mergeFailure(a); err != nil {
		return err
	}
	return s.turnCut(a.agent, s.Agenda.GaveUp(a.agent), a.failure.Took)
}

// sequence adds requests to the lists of their services.
func (s *Stage) sequence(requests []protocol.Sequenced) {
	for _, r := range requests {
		if s.script != nil {
			r = s.sealed(r)
		}
		switch i := slices.IndexFunc(s.services, func(k ServiceKind) bool { return k.Name == r.To }); {
		case i >= 0:
			s.requests[i].Add(r.Data)
			s.askEarly(i)
		case r.To == cast.Stage:
			s.wave.asked = append(s.wave.asked, asked{request: slices.Clone(r.Data)}) // the span may be used again before
		default:
			panic("machines: a request to " + r.To + ", and Services has no row of that name")
		}
	}
}

// mergeFailure records that an agent's actor failed, and restarts the agent or gives
// it up.
func (s *Stage) mergeFailure(a arrival) error {
	if s.Agenda.GaveUp(a.agent) {
		// The agent cannot be restored either. There are no snapshots without its
		// state; only a fold from an older one restores the run.
		s.unrestorable = true
		return nil
	}
	f := s.Agenda.Failure(a.agent, a.failure.Error, a.failure.Stack, s.wave.time)
	if err := s.keepOwn(&f); err != nil {
		return err
	}
	// An agent that is given up is restored as well, because it still gets events and
	// gives its state to snapshots.
	if s.broken == nil {
		s.broken = map[uint32]uint64{}
	}
	s.broken[a.agent] = s.wave.number
	s.countTurn(a.agent)
	s.announce(&f)
	return nil
}

// announce publishes the scene's own event about a fact.
func (s *Stage) announce(f protocol.Fact) {
	if request, ok := Announced(s.scene, f, s.View.hearsWorld()); ok {
		s.sequence([]protocol.Sequenced{{To: bus.Service, Data: request}})
	}
}

// closeWave changes what directors ask for, sends the requests to one service after the
// other, then keeps the wave.
func (s *Stage) closeWave() error {
	w := s.wave
	if err := s.directed(); err != nil {
		return err
	}
	if asked, err := s.pack(); asked || err != nil {
		return err
	}
	for i, k := range s.services {
		failed := s.broke != nil && s.broke.Actor == k.Actor
		if due := s.due(k.Name); due || s.requests[i].Count > 0 || failed || len(s.early) > 0 && s.early[0].Service == i {
			s.phase = phaseService
			if k.Name == tooltask.Service {
				if left := s.Spending.ToolsLeft(); left != nil {
					s.requests[i].Add(left)
				}
			}
			if members := s.View.channel().Grouped; k.Name == bus.Service && s.requests[i].Count > 0 && len(members) > 0 {
				tasks := s.questions()
				s.requests[i].AddFirst(s.scene.Load(members, s.Agenda, tasks.Taken(), w.time).AppendMsg(nil))
			}
			s.asked = Effect{Act: ActAsk, Service: i, Wave: w.number, At: w.time, Data: s.requests[i].Take(), Place: len(s.early)}
			if failed {
				in := s.broke
				s.broke = nil
				return s.serviceFailed(in)
			}
			s.effect(s.asked)
			return nil
		}
	}
	return s.keepWave()
}

// serviceAnswered takes the facts of a service. It keeps none before the last part
// has arrived, because a service that fails in between decides anew.
func (s *Stage) serviceAnswered(in *ServiceAnswered) error {
	s.parts = append(s.parts, in.Facts...)
	if in.More {
		return nil
	}
	facts, actor := s.parts, s.services[s.asked.Service].Actor
	s.parts = nil
	delete(s.failures, actor)
	s.asked.Data, s.early = nil, nil
	s.show(in.View)
	refused := ""
	for _, f := range facts {
		fact, err := s.keep(s.wave.time, actor, f)
		if err != nil {
			return err
		}
		if err := s.heed(fact, f); err != nil {
			return err
		}
		if x, ok := fact.(*world.Refused); ok && x.By == order.By && x.Code != world.CodeUndone {
			refused = cmp.Or(refused, x.Message)
		}
	}
	if err := s.worldAgreed(refused); err != nil {
		return err
	}
	return s.closeWave()
}

// heed decides the consequences of a service's fact for the agents that it concerns.
func (s *Stage) heed(fact protocol.Fact, f protocol.KindData) error {
	switch x := fact.(type) {
	case *bus.Routed:
		if x.Released == 0 {
			s.wave.events++
		}
		s.hears(x)
		s.interrupt(x)
		return s.block(x)
	case *bus.Refused:
		s.wave.events++
	case *space.Moved:
		s.crossings(x.Crossed)
	case *space.Put:
		s.crossings(x.Crossed)
	case knowledge.Fact:
		s.tells(x, f)
	}
	s.announce(fact)
	if by, _, ok := Concerns(fact); ok {
		s.tell(&s.wave.told, by, f)
	}
	return nil
}

// tell lists a fact that an agent observes after the wave is closed.
func (s *Stage) tell(list *[]Effect, instance string, f protocol.KindData) {
	if o, ok := s.scene.Ordinal(instance); ok {
		*list = append(*list, Effect{Act: ActTell, Agent: o, Kind: f.Kind, Data: f.Data, Wave: s.wave.number, At: s.wave.time})
	}
}

// interrupt lists the receivers whose simulated latency an event interrupts, each once
// in a wave. Their facts are kept when the wave closes.
func (s *Stage) interrupt(x *bus.Routed) {
	if !s.scene.Interrupts {
		return
	}
	for o := range x.Receivers.All() {
		f, ok := s.Agenda.Interruption(o, PriorityFor(x, s.scene, o), x.ID, s.wave.time)
		if !ok || s.wave.interrupted[o] || !s.Turns.MayInterrupt(o, PriorityFor(x, s.scene, o)) {
			continue
		}
		if s.wave.interrupted == nil {
			s.wave.interrupted = map[uint32]bool{}
		}
		s.wave.interrupted[o] = true
		s.wave.keep(&f)
	}
}

// block makes the publisher of an event wait for the receivers whose lanes were full.
// Its fact follows that of the event. The scene itself never waits.
func (s *Stage) block(x *bus.Routed) error {
	if !s.scene.Blocks {
		return nil
	}
	publisher, ok := s.scene.Ordinal(x.Source)
	if !ok || int(publisher) == s.scene.OwnOrdinal() {
		return nil
	}
	f := &agenda.Blocked{Agent: publisher, Event: x.ID}
	for o := range x.Receivers.All() {
		if s.Agenda.Blocks(publisher, o, PriorityFor(x, s.scene, o)) {
			f.Receivers = append(f.Receivers, o)
		}
	}
	if len(f.Receivers) == 0 {
		return nil
	}
	return s.keepOwn(f)
}

// keepWave keeps the stage's own facts and closes the wave in the journal. The stage
// continues without waiting for the disk, because nothing leaves the process before
// the wave is durable.
func (s *Stage) keepWave() error {
	w := s.wave
	if err := s.look(); err != nil {
		return err
	}
	for _, f := range s.letters {
		w.keep(f)
	}
	s.letters = nil
	for _, f := range w.facts {
		if err := s.keepOwn(f); err != nil {
			return err
		}
		switch x := f.(type) {
		case *agenda.Interrupted:
			w.told = append(w.told, Effect{Act: ActTell, Agent: x.Agent, Kind: agenda.FactInterrupted, Wave: w.number, At: w.time})
		case *agenda.EffectsRefused:
			s.tell(&w.told, x.By, protocol.KindData{Kind: agenda.FactNoRoom, Data: s.effects[len(s.effects)-1].Data})
		}
	}
	if err := s.decideTurns(); err != nil {
		return err
	}
	if err := s.post(); err != nil {
		return err
	}
	if err := s.chargeRest(); err != nil {
		return err
	}
	if err := s.keepOwn(&agenda.WaveClosed{Wave: w.number, Turns: w.turns, Events: w.events, World: s.View.World().Version()}); err != nil {
		return err
	}
	if s.script != nil {
		s.show(s.View)
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
