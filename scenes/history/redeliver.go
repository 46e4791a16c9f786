package history

import (
	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
)

// Redeliver appends one wave with the fact that letters are sent again to the journal of
// a stopped scene that can be resumed. The resumed scene publishes them in its first
// wave. The journal must be open for writing. Redeliver returns when the wave is
// durable.
func Redeliver(sc *setup.Scene, journal Writer, opt Options, letters []agenda.Letter) (persistence.Wave, error) {
	state, err := FoldTo(sc, journal, journal.Durable().Number, opt)
	if err != nil {
		return persistence.Wave{}, err
	}
	switch d := state.Agenda; {
	case !d.Started:
		return persistence.Wave{}, protocol.Errorf(protocol.KindConflict, "scene %s: it has not begun; nothing can be sent again", state.ID())
	case d.Ended != "":
		return persistence.Wave{}, protocol.Errorf(protocol.KindConflict, "scene %s: it has ended (%s) and hears nothing any more; fork the run at an earlier moment and send again there", state.ID(), d.Ended)
	}
	redelivered := state.Agenda.Redelivery(letters)
	closed := agenda.WaveClosed{Wave: state.Agenda.Wave + 1, World: state.World().Version()}
	return appendWave(journal, state.Agenda.Now, appended{setup.ActorScene, &redelivered}, appended{setup.ActorScene, &closed})
}

// appended is a fact, and its actor, that is appended while the scene is stopped.
type appended struct {
	actor string
	fact  protocol.Fact
}

// appendWave appends facts as one wave.
func appendWave(journal Writer, at protocol.Time, facts ...appended) (persistence.Wave, error) {
	codec := protocol.NewCodec()
	for _, f := range facts {
		raw, err := codec.Marshal(f.fact)
		if err == nil {
			_, err = journal.Append(at, f.actor, f.fact.FactKind(), raw)
		}
		if err != nil {
			return persistence.Wave{}, err
		}
	}
	type answer struct {
		wave persistence.Wave
		err  error
	}
	kept := make(chan answer, 1)
	if _, err := journal.CloseWave(func(w persistence.Wave, err error) { kept <- answer{w, err} }); err != nil {
		return persistence.Wave{}, err
	}
	a := <-kept
	return a.wave, a.err
}
