package machines

import (
	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/script/gates"
	"tavernsim/engine/space"
	"tavernsim/engine/worldstate"
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
	last    bool   // the scene ends with it
	readied string // realtime: the service that had something to decide when the wave began
	turns   int64
	events  int64 // published

	mail        []mail          // for other scenes, sent at the end of the wave
	interrupted map[uint32]bool // virtual: agents whose latency an event interrupts
}

// together is how many agents are woken with one effect, up to a place of the order: neighbours that
// have not failed. What an agent may spend is of its own.
func (w *wave) together(end int) (n int) {
	if w.Spending != nil {
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
	if err := w.chargeRest(); err != nil {
		return err
	}
	return w.keepOwn(&agenda.WaveClosed{Wave: w.number, Turns: w.turns, Events: w.events, World: w.View.World().Version()})
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

// decideTurns keeps what the order of turns decides at the end of the wave, when the wave's turns and events are
// known, and publishes the events about it one tick later. An agent that has a turn then is woken one tick later,
// like every agent that heard something.
func (w *wave) decideTurns() error {
	if w.Turns == nil || w.Agenda.Ended != "" {
		return nil
	}
	in := w.turnInput()
	var told []protocol.Sequenced
	for f := w.Turns.Decide(in); f != nil; f = w.Turns.Decide(in) {
		if err := w.keepOwn(f); err != nil {
			return err
		}
		if payload := gates.Told(f, w.scene.Name); payload != nil {
			told = append(told, protocol.Sequenced{To: bus.Service, Data: systemEvent(f.FactKind(), payload)})
		}
	}
	if len(told) > 0 {
		due := w.time.Add(max(in.Step, 1)) // the end of the wave drops what is due by then
		if err := w.keepOwn(&agenda.EffectsDeferred{Agent: uint32(w.scene.OwnOrdinal()), Due: due, Effects: told}); err != nil {
			return err
		}
	}
	shown := *w.View
	shown.Turns = w.Turns.View(w.scene.Name)
	w.show(&shown, w.time)
	return nil
}
