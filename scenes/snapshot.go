package scenes

import (
	"cmp"
	"slices"
	"strings"

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
	others  map[string][]byte // states of what is no agent
	agents  *seats.Gathered   // nil = no snapshot is gathered
	waiting int
}

// drop gives the snapshot up that is being gathered.
func (g *gathering) drop() {
	if g.agents != nil {
		g.agents.Close()
		g.agents = nil
	}
}

// gather asks every actor for its state.
func (st *stage) gather(wave uint64) {
	st.gathering.drop()
	g := gathering{wave: wave, others: map[string][]byte{}, waiting: len(st.services)}
	ask := &protocol.Envelope{Kind: protocol.KindSnapshot, Wave: wave}
	for _, ref := range st.services {
		ref.Tell(ask)
	}
	g.agents = st.seats.Gather(func(ref *actors.Ref) {
		g.waiting++
		ref.Tell(ask)
	})
	st.gathering = g
}

// stateGiven takes the state of an actor. When all states are there, a goroutine of
// its own writes them, so that the scene does not wait for the disk. The states are
// encoded, so later waves do not change them.
func (st *stage) stateGiven(env *protocol.Envelope) (machines.Input, error) {
	if env.Source == "" { // a state of a passive agent cannot be read
		failed, err := carried[error](env)
		if err == nil && protocol.KindOf(failed) == protocol.KindTransient {
			return &machines.DiskFailed{Err: &DiskFailure{Scene: st.ID, Cause: failed, Sleepers: true}}, nil
		}
		return nil, cmp.Or(err, failed)
	}
	o, is := st.Ordinal(env.Source)
	if env.Type == seats.MayLeave {
		st.seats.Offer(o, env.Wave, env.Body.Raw)
		return nil, nil
	}
	g := &st.gathering
	if g.agents == nil || env.Wave != g.wave {
		return nil, nil // the snapshot was dropped
	}
	switch {
	case is:
		g.agents.Add(o, env.Body.Raw)
	case env.Body.Raw != nil: // else the service keeps nothing in this scene
		g.others[env.Source] = env.Body.Raw
	}
	if g.waiting--; g.waiting > 0 {
		return nil, nil
	}
	raw, err := st.machine.EncodeScene()
	if err != nil {
		return nil, err
	}
	wave, others, agents := g.wave, g.others, g.agents
	others[machines.Agenda] = raw
	*g = gathering{}
	agents.Seal()
	st.saving.Go(func() {
		if err := st.save(wave, others, agents); err != nil {
			st.log.Warn("no snapshot; recovery takes the one before", "scene", st.ID, "err", err)
		}
		agents.Close()
		st.self.Tell(&protocol.Envelope{Kind: protocol.KindSnapshot, Wave: wave})
	})
	return &machines.StatesGiven{}, nil
}

// save writes a snapshot, by name: equal scenes have equal snapshots.
func (s *scene) save(wave uint64, others map[string][]byte, agents *seats.Gathered) error {
	list, names := agents.Agents(), protocol.SortedKeys(others)
	slices.SortFunc(list, func(a, b uint32) int { return strings.Compare(s.Name(a), s.Name(b)) })
	var failed error
	err := s.journal.SaveSnapshot(wave, func(yield func(string, []byte) bool) {
		for len(list)+len(names) > 0 {
			name, state := "", []byte(nil)
			if len(list) == 0 || len(names) > 0 && names[0] < s.Name(list[0]) {
				name, state, names = names[0], others[names[0]], names[1:]
			} else {
				name = s.Name(list[0])
				if state, failed = s.stateOf(agents, list[0]); failed != nil {
					name = "" // which is refused
				}
				list = list[1:]
			}
			if !yield(name, state) || failed != nil {
				return
			}
		}
	})
	return cmp.Or(failed, err)
}

// stateOf is the state of an agent for a snapshot; as declared is what its actor would have.
func (s *scene) stateOf(agents *seats.Gathered, o uint32) ([]byte, error) {
	state, err := agents.State(o)
	if state == nil && err == nil {
		return agent.Snapshot(s.Codec, &s.Machine(o).State)
	}
	return state, err
}

// restore folds the newest snapshot and the facts after it.
func (s *scene) restore(folding func(done, total uint64)) (*machines.State, error) {
	state, facts, err := history.Fold(s.Scene, s.journal, history.Options{Log: s.log, Folding: folding, Rest: s.seats})
	s.metrics.Replayed(int(facts))
	return state, err
}
