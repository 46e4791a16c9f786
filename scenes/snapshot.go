package scenes

import (
	"iter"

	"tavernsim/actors"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/snapshots"
)

// snapshotting gathers the states of a scene's actors between two waves. They
// are written beside the waves that follow, one snapshot at a time.
type snapshotting struct {
	last    snapshots.Mark // when the last snapshot was taken, or given up, or the run began
	kept    uint64         // bytes of durable facts, as far as the stage heard
	wave    uint64
	states  map[string][]byte
	waiting int
	writing bool // the next one waits for its end
}

// snapshotDue reports whether enough has happened since the last snapshot, and
// that is written.
func (st *stage) snapshotDue() bool {
	return !st.unrestorable && !st.snapshot.writing && st.options.Snapshots.Due(st.snapshot.last, st.mark())
}

// mark is where the scene stands. It changes with envelopes only, so that what
// is due stays due while one is handled.
func (st *stage) mark() snapshots.Mark {
	return snapshots.Mark{Facts: st.state.Tally.Facts, Time: st.state.Director.Now, Bytes: st.snapshot.kept}
}

// snapshotWorthwhile: the last act of a stop, unless there is nothing new or
// the scene has ended and is never resumed.
func (st *stage) snapshotWorthwhile() bool {
	return st.journal.Err() == nil && len(st.flight.agents) == 0 && !st.unrestorable && !st.stopping.final && st.state.Tally.Facts > st.snapshot.last.Facts && !st.snapshotStopped()
}

func (st *stage) snapshotStopped() bool { return st.snapshot.wave == st.state.Director.Wave }

// takeSnapshot asks every actor for its state. Nothing else happens meanwhile,
// so the states belong to one moment: the end of the last wave.
func (st *stage) takeSnapshot() error {
	if st.kept < st.state.Director.Wave && st.journal.Err() == nil {
		st.phase = phaseKeeping // a snapshot is of a wave that is durable
		return nil
	}
	st.phase = phaseSnapshot
	st.snapshot = snapshotting{
		last: st.mark(), kept: st.snapshot.kept, wave: st.state.Director.Wave, states: map[string][]byte{}, waiting: len(st.refs) + 3,
	}
	ask := &protocol.Envelope{Kind: protocol.KindSnapshot, Wave: st.snapshot.wave}
	for _, service := range []*actors.Ref{st.owners.world, st.owners.knowledge, st.owners.events} {
		service.Tell(ask)
	}
	for _, ref := range st.refs {
		ref.Tell(ask)
	}
	return nil
}

func (st *stage) stateArrived(env *protocol.Envelope) error {
	if st.phase != phaseSnapshot || env.Wave != st.snapshot.wave {
		return nil // of a snapshot that was dropped
	}
	st.snapshot.states[env.Source] = env.Body.Raw
	if st.snapshot.waiting--; st.snapshot.waiting > 0 {
		return nil
	}
	raw, err := st.state.EncodeScene()
	if err != nil {
		return err
	}
	st.snapshot.states[machines.Agenda] = raw
	st.writeSnapshot()
	st.phase = phaseIdle
	return st.next()
}

// writeSnapshot writes the states on a goroutine of its own: a large scene does
// not stand still for the disk. The states are encoded, so nothing that happens
// meanwhile changes them; they are the memory that it costs.
func (st *stage) writeSnapshot() {
	wave, states := st.snapshot.wave, st.snapshot.states
	st.snapshot.states, st.snapshot.writing = nil, true
	st.saving.Go(func() {
		err := st.journal.SaveSnapshot(wave, ordered(states))
		if err != nil {
			st.log.Warn("no snapshot; recovery takes the one before", "scene", st.ID, "err", err)
		}
		st.self.Tell(&protocol.Envelope{Kind: protocol.KindSnapshot, Wave: wave})
	})
}

// snapshotWritten: the writing has ended, well or not.
func (st *stage) snapshotWritten() error {
	st.snapshot.writing = false
	if st.phase != phaseWriting {
		return nil
	}
	st.phase = phaseIdle
	return st.next()
}

// waitsForWriting: a scene that stops leaves no half written snapshot.
func (st *stage) waitsForWriting() bool {
	if st.snapshot.writing {
		st.phase = phaseWriting
	}
	return st.snapshot.writing
}

// dropSnapshot: an actor failed before it gave its state, and will not give it.
func (st *stage) dropSnapshot(actor string) error {
	st.log.Warn("no snapshot: an actor failed meanwhile; the journal alone can restore the run", "scene", st.ID, "actor", actor)
	st.snapshot.states = nil
	st.phase = phaseIdle
	return st.next()
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

// restore folds the journal: the newest snapshot and what came after.
func (s *scene) restore(folding func(done, total uint64)) (*machines.State, error) {
	state, facts, err := history.Fold(s.Scene, s.journal, history.Options{Log: s.log, Folding: folding})
	s.metrics.Replayed(int(facts))
	return state, err
}
