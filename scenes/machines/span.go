package machines

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/cast"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/span"
	"tavernsim/scenes/machines/tally"
)

// mergeSpan takes ended turns into the wave. It keeps their facts and adds their requests to the
// lists of the services.
func (w *wave) mergeSpan(x *span.Span) error {
	at := x.Facts.At
	w.effect(Effect{Act: ActKeepSpan, Wave: w.number, At: at, Span: x})
	w.Tally.Facts += int64(x.Facts.Count - len(x.Turns)) // the ends and the others count when they are applied
	for i := range x.Turns {
		w.Tally.Facts -= int64(len(x.Turns[i].Others))
		if err := w.mergeTurn(&x.Turns[i], at); err != nil {
			return err
		}
	}
	for _, k := range x.Kinds {
		if k.Name == agentfact.FactSaid {
			w.Tally.Said += k.N
		}
	}
	for _, c := range x.Calls {
		w.Tally.Called(c.Name, c.Status, c.N)
	}
	return nil
}

func (w *wave) mergeTurn(t *span.Turn, at protocol.Time) error {
	w.flight.End(t.Agent)
	defer w.turnMerged(t.Agent)
	actor := w.scene.Name(t.Agent)
	if err := w.addressed(actor, t.Requests); err != nil {
		return err
	}
	for _, f := range t.Others {
		if err := w.Apply(protocol.Record{Time: at, Actor: actor, Kind: f.Kind, Data: f.Data}, f.Fact); err != nil {
			return err
		}
		for _, id := range agentfact.Publishers(f.Fact) {
			w.tell(&w.undelivered, id, f)
		}
	}
	if err := w.Apply(protocol.Record{Time: at, Actor: actor, Kind: agentfact.FactTurnEnded}, &t.End); err != nil {
		return err
	}
	for _, f := range t.Came {
		if x, refused := f.(*agenda.EffectsRefused); refused {
			w.keep(x)
		} else {
			w.asked = append(w.asked, asked{came: f})
		}
	}
	return w.turnAsked(t)
}

// turnAsked passes on what a turn has asked for, or holds it back for its simulated latency. What the turn of the
// last wave asks for is not held back: nothing follows that wave.
func (w *wave) turnAsked(t *span.Turn) error {
	w.countTurn(t.Agent)
	requests := w.fitting(t.Agent, t.Requests)
	if t.End.Elapsed <= 0 || len(requests) == 0 || w.last { // on the realtime clock nothing elapses
		w.sequence(requests)
		return nil
	}
	held := make([]protocol.Sequenced, len(requests)) // longer than the span
	for i, r := range requests {
		held[i] = protocol.Sequenced{To: r.To, Data: slices.Clone(r.Data)}
	}
	return w.keepOwn(&agenda.EffectsDeferred{Agent: t.Agent, Due: w.time.Add(t.End.Elapsed), Effects: held})
}

// addressed refuses a turn with a request that no service takes.
func (w *wave) addressed(actor string, requests []protocol.Sequenced) error {
	for _, r := range requests {
		if r.To != cast.Stage && w.asking.of(r.To) < 0 {
			return w.errorf("a request of %s to %q: no row of machines.Services has this name", actor, r.To)
		}
	}
	return nil
}

// countTurn counts a turn for the fact that closes the wave.
func (w *wave) countTurn(o uint32) {
	if tally.Deliberates(w.scene, o) {
		w.turns++
	}
}
