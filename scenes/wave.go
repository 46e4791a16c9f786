package scenes

import (
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/setup"
)

// wave is one step of the scene: agents that deliberate against the same world,
// and what their decisions lead to.
type wave struct {
	number   uint64
	time     protocol.Time
	order    []uint32
	workflow string // of the scene's own turn; "" = the agents' core workflows
	deferred []director.Deferred
	began    time.Time
	lapped   time.Duration // since began: the end of the last phase

	sent    int       // of order: woken so far
	merged  int       // of order: merged so far
	answers []arrival // by place in order; empty until answered

	world     machines.Requests
	knowledge machines.Requests
	events    machines.Requests
	observe   []observation
	facts     []kept // of the scene itself, kept when the wave closes
	urgent    bool   // realtime: it holds the turns of those who go before others
	expires   bool   // the world is asked although nobody asks it for anything
	turns     int64
	published int64

	undelivered []observation   // for publishers, after all others
	interrupted map[uint32]bool // virtual: agents whose latency an event ended
}

// arrival is how a turn ended.
type arrival struct {
	agent   uint32
	decided *protocol.Decided
	failure *failure
	urgent  bool // realtime: it goes before others
}

// failure is an actor's, on its way through the scene's mailbox.
type failure struct {
	Actor string
	Error string
	Stack []string
}

// observation is what an agent is told about something it asked for.
type observation struct {
	agent uint32
	kind  string
	data  protocol.Raw
}

type kept struct {
	actor string
	fact  protocol.Fact
}

func newWave(st *stage, at protocol.Time) *wave {
	return &wave{number: st.state.Director.Wave + 1, time: at, began: time.Now()}
}

// keep notes a fact of the scene for the end of the wave.
func (w *wave) keep(actor string, f protocol.Fact) { w.facts = append(w.facts, kept{actor, f}) }

// pump wakes agents in the order of the wave, never more at once than the scene
// may have in flight: a wave of a million agents needs the memory of a few
// thousand.
func (st *stage) pump() error {
	w := st.wave
	if w.answers == nil {
		w.answers = make([]arrival, len(w.order))
		for i, o := range w.order {
			st.places[o] = uint32(i)
		}
		if err := st.mergeDeferred(); err != nil {
			return err
		}
	}
	limit := st.Simulation().Limits.MaxDeliberating
	var wake *protocol.Envelope
	for {
		for w.sent < len(w.order) && w.sent-w.merged < limit {
			if !w.answers[w.sent].there() { // else it failed before it was woken
				if wake == nil {
					wake = st.wakeEnvelope()
				}
				st.measureWake(w.order[w.sent], w.number)
				st.refs[w.order[w.sent]].Tell(wake)
			}
			w.sent++
		}
		before := w.merged
		if err := st.mergeAnswers(); err != nil {
			return err
		}
		if w.merged == len(w.order) {
			return st.closeWave()
		}
		if w.merged == before || w.sent == len(w.order) {
			return nil
		}
	}
}

// mergeAnswers merges the turns that have ended, as far as the order allows.
func (st *stage) mergeAnswers() error {
	w := st.wave
	for w.merged < w.sent && w.answers[w.merged].there() {
		if err := st.merge(w.answers[w.merged]); err != nil {
			return err
		}
		w.answers[w.merged] = arrival{}
		w.merged++
	}
	return nil
}

// wakeEnvelope is shared by every agent of the wave.
func (st *stage) wakeEnvelope() *protocol.Envelope {
	return &protocol.Envelope{EventHeader: protocol.EventHeader{Type: st.wave.workflow, Time: st.wave.time}, Kind: protocol.KindWake, Scene: st.ID, Wave: st.wave.number}
}

// turnArrived takes the end of a turn, or the failure of an actor.
func (st *stage) turnArrived(env *protocol.Envelope) error {
	a, service, err := st.arrivalOf(env)
	if err != nil {
		return err
	}
	if service != "" {
		return st.serviceFailed(service, a.failure)
	}
	if st.Clock == director.Realtime {
		return st.turnArrivedRealtime(a)
	}
	w := st.wave
	if w == nil || st.phase != phaseTurns {
		return st.strayFailure(a)
	}
	if !w.answer(a, int(st.places[a.agent])) {
		return st.strayFailure(a)
	}
	return st.pump()
}

// answer puts an ended turn, or a failure, in its place. A failure may come
// before the agent was woken: its mailbox is shut and would keep the wake.
func (w *wave) answer(a arrival, place int) bool {
	if place >= len(w.order) || w.order[place] != a.agent || place < w.merged {
		return false
	}
	if a.failure == nil && place >= w.sent {
		return false
	}
	w.answers[place] = a
	return true
}

func (a *arrival) there() bool { return a.decided != nil || a.failure != nil }

func (st *stage) arrivalOf(env *protocol.Envelope) (a arrival, service string, err error) {
	if env.Kind == protocol.KindFailed {
		a.failure = &failure{}
		if err := st.Codec.Unmarshal(env.Body.Raw, a.failure); err != nil {
			return a, "", err
		}
		o, ok := st.Ordinal(a.failure.Actor)
		if !ok {
			return a, a.failure.Actor, nil
		}
		a.agent = o
		return a, "", nil
	}
	d, err := protocol.ReadDecided(env.Body.Raw)
	if a.agent, a.decided, a.urgent = d.Agent, &d, env.Priority == protocol.Critical; a.urgent {
		st.alarms.Add(-1)
	}
	return a, "", err
}

// strayFailure: an agent failed while it was handed something, not while it
// deliberated. It is recorded with the next wave.
func (st *stage) strayFailure(a arrival) error {
	if a.failure == nil {
		return protocol.Errorf(protocol.KindInternal, "scene %s: %s ended a turn that nobody began", st.ID, st.Name(a.agent))
	}
	st.arrived = append(st.arrived, a)
	if st.phase == phaseSnapshot {
		return st.dropSnapshot(st.Name(a.agent))
	}
	return nil
}

// mergeDeferred lets the effects whose simulated latency has passed go first.
func (st *stage) mergeDeferred() error {
	for _, d := range st.wave.deferred {
		st.sequence(d.Effects)
	}
	for _, a := range st.arrived {
		if st.Clock == director.Virtual && st.wave.answer(a, int(st.places[a.agent])) {
			continue
		}
		if err := st.merge(a); err != nil {
			return err
		}
	}
	st.arrived = nil
	return nil
}

// merge takes one ended turn into the wave: its facts go to the journal, its
// effects wait for those of the others.
func (st *stage) merge(a arrival) error {
	st.flight.end(a.agent)
	if a.failure != nil {
		return st.mergeFailure(a)
	}
	w := st.wave
	actor := st.Name(a.agent)
	var end *agent.TurnEnded
	for _, f := range a.decided.Facts {
		fact, err := st.keepFact(a.decided.At, actor, f.Kind, f.Data)
		if err != nil {
			return err
		}
		if e, ok := fact.(*agent.TurnEnded); ok {
			end = e
		}
		st.undelivered(fact, f)
	}
	if end == nil {
		return protocol.Errorf(protocol.KindInternal, "scene %s: the turn of %s has no end", st.ID, actor)
	}
	if int(a.agent) != st.OwnOrdinal() {
		w.turns++
	}
	st.outside.Log.Ended(actor, end.Turn, w.number)
	st.measureTurn(a.agent, end)
	return st.applyTurn(a, end)
}

// applyTurn lets the agenda know, and sends the effects on their way, at once
// or when the simulated latency has passed.
func (st *stage) applyTurn(a arrival, end *agent.TurnEnded) error {
	st.state.ApplyTurn(a.agent, end, a.decided.At)
	if end.Elapsed <= 0 || st.Clock == director.Realtime {
		st.sequence(a.decided.Effects)
		return nil
	}
	if len(a.decided.Effects) == 0 {
		return nil
	}
	deferred := &director.EffectsDeferred{Agent: a.agent, Due: st.wave.time.Add(end.Elapsed), Effects: a.decided.Effects}
	st.state.Director.Defer(director.Deferred{Due: deferred.Due, Agent: a.agent, Effects: deferred.Effects})
	return st.keepTyped(setup.ActorScene, deferred)
}

func (st *stage) sequence(effects []protocol.Sequenced) {
	for _, e := range effects {
		switch e.To {
		case protocol.ToWorld:
			st.wave.world.Add(e.Data)
		case protocol.ToKnowledge:
			st.wave.knowledge.Add(e.Data)
		case protocol.ToEvents:
			st.wave.events.Add(e.Data)
		}
	}
}

// mergeFailure records that an agent's actor failed, and decides what becomes
// of it.
func (st *stage) mergeFailure(a arrival) error {
	if st.state.Director.GaveUp(a.agent) {
		// Not even its state can be restored. It stays as it is, and without it
		// there is no snapshot; the journal alone can restore the run.
		st.unrestorable = true
		return nil
	}
	f := st.state.Director.Failure(a.agent, a.failure.Error, a.failure.Stack, st.wave.time)
	st.state.Director.AgentFailed(f, st.wave.time)
	if err := st.keepTyped(setup.ActorScene, &f); err != nil {
		return err
	}
	st.measureFailure(a.agent, f.WakeAt == 0)
	if f.WakeAt == 0 {
		st.outside.Log.GivenUp(st.Name(a.agent), st.wave.number)
	}
	// One that is given up is restored as well: it hears events, and is asked
	// for its state at a snapshot.
	if st.broken == nil {
		st.broken = map[uint32]uint64{}
	}
	st.broken[a.agent] = st.wave.number
	if int(a.agent) != st.OwnOrdinal() {
		st.wave.turns++
	}
	st.announce(&f)
	return nil
}

// announce publishes what the scene itself says of a fact.
func (st *stage) announce(f protocol.Fact) {
	if request, ok := machines.Announced(st.Scene, f, st.channel.hearsWorld.Load()); ok {
		st.wave.events.Add(request)
	}
}

// closeWave has the services decide, one after the other, then keeps the wave.
func (st *stage) closeWave() error {
	w := st.wave
	st.measurePhase()
	switch {
	case w.world.Count > 0 || w.expires:
		st.phase, w.expires = phaseWorld, false
		st.ask(st.owners.world, protocol.KindCommit, w.world.Take())
		return nil
	case w.knowledge.Count > 0:
		st.phase = phaseKnowledge
		st.ask(st.owners.knowledge, protocol.KindCommit, w.knowledge.Take())
		return nil
	case w.events.Count > 0 || st.state.Director.ReleaseDue(w.time):
		st.phase = phaseEvents
		st.ask(st.owners.events, protocol.KindPublish, w.events.Take())
		return nil
	}
	return st.keepWave()
}

// ask sends requests to a service in one envelope; it answers with KindDecided.
func (st *stage) ask(to *actors.Ref, kind protocol.Kind, requests protocol.Raw) {
	st.lastAsk.kind, st.lastAsk.requests = kind, requests
	to.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Time: st.wave.time}, Kind: kind, Scene: st.ID, Wave: st.wave.number, Body: protocol.NewBody(requests)})
}

// serviceDecided takes the facts of the world, the knowledge or the channel.
func (st *stage) serviceDecided(env *protocol.Envelope) error {
	d, err := protocol.ReadDecided(env.Body.Raw)
	if err != nil {
		return err
	}
	// Nothing is kept before the last part is there: a service that fails in
	// between decides anew, and the parts before never happened.
	st.parts = append(st.parts, d.Facts...)
	if d.More {
		return nil
	}
	facts := st.parts
	st.parts = nil
	delete(st.failures, env.Source)
	st.lastAsk.requests = nil
	if env.Source == setup.ActorEvents {
		st.state.Director.Releases(protocol.Time(st.channel.due.Load()))
	}
	for _, f := range facts {
		fact, err := st.keepFact(st.wave.time, env.Source, f.Kind, f.Data)
		if err != nil {
			return err
		}
		if err := st.heed(fact, f); err != nil {
			return err
		}
	}
	return st.closeWave()
}

// heed lets the agenda and the agents know what a service decided.
func (st *stage) heed(fact protocol.Fact, f protocol.KindData) error {
	switch x := fact.(type) {
	case *bus.Routed:
		st.state.ApplyRouted(x, st.wave.number)
		if x.Released == 0 {
			st.wave.published++
		}
		st.interrupt(x)
		return st.block(x)
	case *bus.Refused:
		st.wave.published++
	}
	st.announce(fact)
	by, wakes, ok := machines.Concerns(fact)
	if !ok {
		return nil
	}
	o, ok := st.Ordinal(by)
	if !ok {
		return nil
	}
	st.wave.observe = append(st.wave.observe, observation{o, f.Kind, f.Data})
	if wakes {
		st.state.Director.Told(o, st.wave.number, st.wave.time)
	}
	return nil
}

// keepWave writes the scene's own facts, ends the wave in the journal and goes
// on without waiting for the disk: what happens next stays inside the process.
func (st *stage) keepWave() error {
	w := st.wave
	for _, f := range st.dead.Take() {
		w.keep(setup.ActorScene, f)
	}
	closed := &director.WaveClosed{Wave: w.number, Turns: w.turns, Events: w.published, World: st.world.Load().Version()}
	w.keep(setup.ActorScene, closed)
	for _, k := range w.facts {
		if err := st.keepTyped(k.actor, k.fact); err != nil {
			return err
		}
		if x, ok := k.fact.(*director.Interrupted); ok {
			st.state.Director.Interrupted(*x, w.time)
			st.tellInterrupted(x)
		}
	}
	st.state.Director.CloseWave(*closed, w.time)
	if _, err := st.journal.CloseWaveLater(st.whenKept(w.number)); err != nil {
		return st.journalFailed(err)
	}
	st.tellAgents(w)
	st.metrics.Phase(metrics.PhaseKeep, w.lap())
	st.metrics.WaveClosed(w.lapped, w.time)
	if st.Blocks {
		st.metrics.PublishersWait(st.state.Director.Waiting())
	}
	st.progress.wave(st)
	st.series.sample(st.world.Load(), w.time.Sub(st.state.Director.Begun()).Seconds())
	st.wave, st.phase = nil, phaseIdle
	return st.next()
}

// keepFact appends an encoded fact to the journal and counts it. The fact is
// nil for kinds that need no decoding, and a *machines.CallSeen for a call.
func (st *stage) keepFact(at protocol.Time, actor, kind string, data protocol.Raw) (fact protocol.Fact, err error) {
	switch {
	case kind == agent.FactCallMade:
		fact, err = &st.call, st.call.Read(data)
	case !machines.NeedsNoDecoding(kind):
		fact, err = machines.ReadFact(st.Codec, kind, data)
	}
	if err != nil {
		return nil, err
	}
	if _, err := st.journal.Append(at, actor, kind, data); err != nil {
		return nil, err
	}
	st.measure(actor, kind, fact)
	return fact, st.state.Tally.Count(st.Scene, actor, kind, data, fact)
}

// keepTyped is keepFact for a fact of the scene itself.
func (st *stage) keepTyped(actor string, f protocol.Fact) error {
	raw, err := st.Codec.Marshal(f)
	if err != nil {
		return err
	}
	if _, err := st.journal.Append(st.wave.time, actor, f.FactKind(), raw); err != nil {
		return err
	}
	st.measure(actor, f.FactKind(), f)
	return st.state.Tally.Count(st.Scene, actor, f.FactKind(), raw, f)
}
