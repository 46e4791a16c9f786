package scenes

import (
	"iter"

	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
)

// gathering collects the states of a scene's actors.
type gathering struct {
	wave    uint64
	states  map[string][]byte // nil = no snapshot is gathered
	waiting int
}

// gather asks every actor for its state.
func (st *stage) gather(wave uint64) {
	st.gathering = gathering{wave: wave, states: map[string][]byte{}, waiting: len(st.services)}
	ask := &protocol.Envelope{Kind: protocol.KindSnapshot, Wave: wave}
	for _, ref := range st.services {
		ref.Tell(ask)
	}
	for o := range st.refs {
		if ref := st.refs[o].Load(); ref != nil {
			st.gathering.waiting++
			ref.Tell(ask)
		}
	}
}

// stateGiven takes the state of an actor. When all states are there, a goroutine of
// its own writes them, so that the scene does not wait for the disk. The states are
// encoded, so later waves do not change them.
func (st *stage) stateGiven(env *protocol.Envelope) (machines.Input, error) {
	g := &st.gathering
	if g.states == nil || env.Wave != g.wave {
		return nil, nil // the snapshot was dropped
	}
	if env.Body.Raw != nil { // else the service keeps nothing in this scene
		g.states[env.Source] = env.Body.Raw
	}
	if g.waiting--; g.waiting > 0 {
		return nil, nil
	}
	raw, err := st.machine.EncodeScene()
	if err != nil {
		return nil, err
	}
	wave, states := g.wave, g.states
	states[machines.Agenda] = raw
	g.states = nil
	st.saving.Go(func() {
		if err := st.journal.SaveSnapshot(wave, ordered(states)); err != nil {
			st.log.Warn("no snapshot; recovery takes the one before", "scene", st.ID, "err", err)
		}
		st.self.Tell(&protocol.Envelope{Kind: protocol.KindSnapshot, Wave: wave})
	})
	return &machines.StatesGiven{}, nil
}

// ordered yields states by name: equal scenes have equal snapshots.
func ordered(states map[string][]byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, name := range protocol.SortedKeys(states) {
			if !yield(name, states[name]) {
				return
			}
		}
	}
}

// restore folds the newest snapshot and the facts after it.
func (s *scene) restore(folding func(done, total uint64)) (*machines.State, error) {
	state, facts, err := history.Fold(s.Scene, s.journal, history.Options{Log: s.log, Folding: folding})
	s.metrics.Replayed(int(facts))
	return state, err
}
