package scenes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agent"
	"tavernsim/engine/bus"
	"tavernsim/engine/director"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/worldstate"
	"tavernsim/persistence"
	"tavernsim/protocol"
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
	since   protocol.Time // realtime: when it began to wait for a rest; 0 = it does not
	writing bool          // the next one waits for its end
}

// snapshotPatience bounds how long a realtime scene wakes nobody because a
// snapshot waits for the deliberations in flight: a model may take minutes.
const snapshotPatience = 5 * time.Second

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

// waitsForRest reports whether the scene waits until who deliberates is done. A
// snapshot waits for a while only; then it is due again after as many facts as
// ever, and until then the journal is read from the one before.
func (st *stage) waitsForRest() bool {
	if !st.comesToRest() || len(st.busy) == 0 || st.abandons() {
		st.snapshot.since = 0
		return false
	}
	if !st.onlySnapshot() {
		return true
	}
	now := st.now()
	if st.snapshot.since == 0 {
		st.snapshot.since = now
		st.wakeIn(snapshotPatience)
	}
	if now.Sub(st.snapshot.since) < snapshotPatience {
		return true
	}
	st.snapshot.since, st.snapshot.last = 0, st.mark()
	return false
}

// snapshotWorthwhile: the last act of a stop, unless there is nothing new or
// the scene has ended and is never resumed.
func (st *stage) snapshotWorthwhile() bool {
	return st.journal.Err() == nil && len(st.busy) == 0 && !st.unrestorable && !st.stopping.final && st.state.Tally.Facts > st.snapshot.last.Facts && !st.snapshotStopped()
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
	raw, err := st.encodeScene()
	if err != nil {
		return err
	}
	st.snapshot.states[actorScene+"/agenda"] = raw
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
			st.log.Warn("no snapshot; recovery takes the one before", "scene", st.id, "err", err)
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
	st.log.Warn("no snapshot: an actor failed meanwhile; the journal alone can restore the run", "scene", st.id, "actor", actor)
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

// sceneSnapshot is what the scene itself keeps.
type sceneSnapshot struct {
	Director protocol.Raw
	Tally    Tally
}

func (st *stage) encodeScene() (protocol.Raw, error) {
	d, err := st.state.Director.Snapshot(st.codec)
	if err != nil {
		return nil, err
	}
	return st.codec.Marshal(&sceneSnapshot{Director: d, Tally: st.state.Tally})
}

// restore folds the journal: the newest snapshot and what came after.
func (s *scene) restore() (*State, error) {
	f := fold{scene: s, through: s.journal.Durable()}
	state, err := f.run()
	s.metrics.Replayed(int(f.facts))
	return state, err
}

// readSnapshot passes the states of the newest snapshot on and returns the wave
// that they are of.
func (s *scene) readSnapshot(yield func(name string, raw []byte) error) (persistence.Wave, error) {
	f := fold{scene: s, through: s.journal.Durable()}
	return f.base(yield)
}

// load takes one actor's state from a snapshot.
func (s *State) load(name string, raw []byte) (err error) {
	sc := s.scene
	switch name {
	case actorWorld:
		var w worldstate.State
		w, err = worldstate.ReadSnapshot(raw)
		s.setWorld(w)
	case actorKnowledge:
		s.Knowledge, err = knowledge.Restore(sc.codec, sc.bases, raw)
	case actorEvents:
		s.Bus, err = bus.Restore(sc.bus, sc.subscribers, sc.codec, raw)
	case actorScene + "/agenda":
		err = s.loadScene(raw)
	default:
		o, ok := sc.ordinal(name)
		if !ok {
			return protocol.Errorf(protocol.KindCorrupt, "scene %s: the snapshot holds the state of %q, which is no agent of the scene", sc.id, name)
		}
		s.Agents[o].State, err = agent.Restore(sc.codec, raw)
	}
	return err
}

func (s *State) loadScene(raw []byte) error {
	var snap sceneSnapshot
	if err := s.scene.codec.Unmarshal(raw, &snap); err != nil {
		return err
	}
	d, err := director.Restore(s.scene.directorConfig(), s.scene.codec, snap.Director)
	s.Director, s.Tally = d, snap.Tally
	s.Tally.fill()
	return err
}

// restoreAgent gives one failed agent its state back: snapshot and tail, folded
// for it alone.
func (s *scene) restoreAgent(o uint32) (*agentShell, error) {
	m := s.machine(o)
	m.Spaces = s.spaces
	after, err := s.readSnapshot(func(name string, raw []byte) (err error) {
		if name == s.name(o) {
			m.State, err = agent.Restore(s.codec, raw)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	through := s.journal.Durable()
	only := func(other uint32) *agent.Machine {
		if other == o {
			return m
		}
		return nil
	}
	wave := after.Number + 1
	fold := agentFold{scene: s, machine: only}
	err = s.journal.Read(after.Last+1, func(r protocol.Record) error {
		if r.Kind == director.FactWaveClosed {
			wave++
		}
		if r.Seq > through.Last || !mayConcern(r, s.name(o)) {
			return nil
		}
		fact, err := readFact(s.codec, r.Kind, r.Data)
		if err != nil {
			return err
		}
		return fold.apply(wave, r, fact)
	})
	return &agentShell{scene: s, machine: m, through: through.Number}, err
}

// mayConcern skips the facts of other agents without decoding them.
func mayConcern(r protocol.Record, instance string) bool {
	return r.Actor == instance || r.Actor[0] == '$' || r.Kind == agent.FactDropped || r.Kind == agent.FactUnacknowledged
}

// EndOf is why the scene of a journal ended; "" = it can go on.
func EndOf(journal *persistence.Journal) (reason string, err error) {
	last := journal.Durable()
	if last.Number == 0 {
		return "", nil
	}
	err = journal.Read(last.First, func(r protocol.Record) error {
		if r.Kind == director.FactEnded {
			fact, err := director.ReadFact(protocol.NewCodec(), r.Kind, r.Data)
			if ended, ok := fact.(*director.Ended); ok {
				reason = ended.Reason
			}
			return err
		}
		return nil
	})
	return reason, err
}

// Hash is the SHA-256, in hex, over the state of every machine: what a snapshot
// of this moment would hold.
func (s *State) Hash() (string, error) {
	h := sha256.New()
	write := func(name string, raw []byte, err error) error {
		fmt.Fprintf(h, "%s %d\n", name, len(raw))
		h.Write(raw)
		return err
	}
	codec := s.scene.codec
	d, err := s.Director.Snapshot(codec)
	if err := write(actorScene, d, err); err != nil {
		return "", err
	}
	k, err := knowledge.Snapshot(codec, s.Knowledge)
	if err := write(actorKnowledge, k, err); err != nil {
		return "", err
	}
	b, err := s.Bus.Snapshot(codec)
	if err := write(actorEvents, b, err); err != nil {
		return "", err
	}
	w, err := s.WorldState.AppendSnapshot(nil)
	if err := write(actorWorld, w, err); err != nil {
		return "", err
	}
	for _, m := range s.Agents {
		a, err := agent.Snapshot(codec, &m.State)
		if err := write(m.ID.Instance, a, err); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
