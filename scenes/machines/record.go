package machines

import (
	"slices"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/engine/cast"
	"tavernsim/engine/script/turns"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

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

// keepOf adds the effect that keeps an encoded fact, and folds the fact. It returns nil
// for kinds that the stage does not decode.
func (w *record) keepOf(actor string, f protocol.KindData) (fact protocol.Fact, err error) {
	e := Effect{Act: ActKeep, Wave: w.number, At: w.time, Actor: actor, Kind: f.Kind, Data: f.Data, Fact: f.Fact}
	if f.Fact == nil && !w.codec.FactType(f.Kind).Bytes {
		if e.Fact, err = w.codec.ReadFact(f.Kind, f.Data); err != nil {
			return nil, err
		}
	}
	w.effects = append(w.effects, e)
	return e.Fact, w.Apply(protocol.Record{Time: w.time, Actor: actor, Kind: f.Kind, Data: f.Data}, e.Fact)
}

// keepOwn keeps a fact of the stage itself.
func (w *record) keepOwn(f protocol.Fact) error {
	raw, err := w.codec.Marshal(f)
	if err == nil {
		_, err = w.keepOf(setup.ActorScene, protocol.KindData{Kind: f.FactKind(), Data: raw, Fact: f})
	}
	return err
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

// sequence adds requests to the lists of their services.
func (w *record) sequence(requests []protocol.Sequenced) {
	for _, r := range requests {
		r = w.script.sealed(r)
		switch i := w.asking.of(r.To); {
		case i >= 0:
			w.asking.requests[i].Add(r.Data)
			if w.phase == phaseTurns && !w.config.Stepwise {
				if e, sent := w.asking.sendEarly(i, Effect{Wave: w.number, At: w.time}); sent {
					w.effect(e)
				}
			}
		case r.To == cast.Stage:
			w.asked = append(w.asked, asked{request: slices.Clone(r.Data)}) // the span may be used again before
		default:
			panic("machines: a request to " + r.To + ", and Services has no row of that name")
		}
	}
}

// announce publishes the scene's own event about a fact.
func (w *record) announce(f protocol.Fact) {
	if request, ok := Announced(w.scene, f, w.View.hearsWorld()); ok {
		w.sequence([]protocol.Sequenced{{To: bus.Service, Data: request}})
	}
}

// joinDeferred puts deferred effects whose simulated latency has passed before the
// requests of the wave. The agenda drops them when the wave closes.
func (w *record) joinDeferred() {
	for _, d := range w.Agenda.DeferredBy(w.time) {
		w.sequence(w.fitting(d.Agent, d.Effects))
	}
}

// fitting returns the requests of a turn if they fit into max_wave_bytes. If not, it
// refuses all of them, with a fact at the end of the wave.
func (w *record) fitting(o uint32, requests []protocol.Sequenced) []protocol.Sequenced {
	size, fits := Fits(w.scene, w.bytes, o, requests)
	if !fits {
		w.keep(&agenda.EffectsRefused{By: w.scene.Name(o), Requests: int64(len(requests)), Bytes: int64(size), Limit: int64(w.scene.Simulation().Limits.MaxWaveBytes)})
		return nil
	}
	w.bytes += size
	return requests
}

// Fits reports whether a wave whose turns have asked for so many bytes has room for the requests of one more, and how
// many bytes these take. The scene's own always fit.
func Fits(sc *setup.Scene, taken int, o uint32, requests []protocol.Sequenced) (size int, fits bool) {
	for i := range requests {
		size += len(requests[i].Data)
	}
	return size, taken+size <= sc.Simulation().Limits.MaxWaveBytes || int(o) == sc.OwnOrdinal()
}

// turnInput is what the order decides by in the open wave.
func (w *record) turnInput() *turns.Input {
	return &turns.Input{
		Now: w.time, Step: w.Turns.Step(), Name: w.scene.Name, Rests: func(o uint32) bool { return w.Agenda.Standing(o).Resting },
		World: func() any { return w.View.World().Value() },
		Agent: func(o uint32) any { return w.scene.AgentValue(o) },
		Warn:  func(err error) { w.warnOnce("turns", err) },
	}
}
