package scenes

import (
	"cmp"
	"iter"

	"tavernsim/actors"
	"tavernsim/engine/agent"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/seats"
)

// gathering collects the states of a scene's actors.
type gathering struct {
	wave    uint64
	states  map[string][]byte // nil = no snapshot is gathered
	waiting int
	passive iter.Seq2[uint32, string] // by ordinal: the states of agents without an actor
}

// gather asks every actor for its state.
func (st *stage) gather(wave uint64) {
	st.gathering = gathering{wave: wave, states: map[string][]byte{}, waiting: len(st.services)}
	ask := &protocol.Envelope{Kind: protocol.KindSnapshot, Wave: wave}
	for _, ref := range st.services {
		ref.Tell(ask)
	}
	st.gathering.passive = st.seats.Gather(func(ref *actors.Ref) {
		st.gathering.waiting++
		ref.Tell(ask)
	})
}

// stateGiven takes the state of an actor. When all states are there, a goroutine of
// its own writes them, so that the scene does not wait for the disk. The states are
// encoded, so later waves do not change them.
func (st *stage) stateGiven(env *protocol.Envelope) (machines.Input, error) {
	if env.Source == "" { // an state of a passive agent cannot be read
		failed, err := carried[error](env)
		return nil, cmp.Or(err, failed)
	}
	if env.Type == seats.MayLeave {
		o, _ := st.Ordinal(env.Source)
		st.seats.Offer(o, env.Wave, env.Body.Raw)
		return nil, nil
	}
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
	wave, states, passive := g.wave, g.states, g.passive
	states[machines.Agenda] = raw
	g.states, g.passive = nil, nil
	st.saving.Go(func() {
		err := st.withPassive(states, passive)
		if err == nil {
			err = st.journal.SaveSnapshot(wave, ordered(states))
		}
		if err != nil {
			st.log.Warn("no snapshot; recovery takes the one before", "scene", st.ID, "err", err)
		}
		st.self.Tell(&protocol.Envelope{Kind: protocol.KindSnapshot, Wave: wave})
	})
	return &machines.StatesGiven{}, nil
}

// withPassive adds the states of passive agents. As declared is what their actors would have.
func (s *scene) withPassive(states map[string][]byte, passive iter.Seq2[uint32, string]) error {
	for o, state := range passive {
		raw := []byte(state)
		if state == "" {
			var err error
			if raw, err = agent.Snapshot(s.Codec, &s.Machine(o).State); err != nil {
				return err
			}
		}
		states[s.Name(o)] = raw
	}
	return nil
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
