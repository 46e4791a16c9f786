package history

import (
	"cmp"
	"log/slog"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Options of reading a history.
type Options struct {
	// NoSnapshots folds from the first kept fact without snapshots. If earlier facts
	// were dropped, the fold begins with the snapshot of that place.
	NoSnapshots bool
	// Folding gets the progress in facts from time to time; may be nil.
	Folding func(done, total uint64)
	Log     *slog.Logger // gets warnings about unusable snapshots; may be nil
	// Only is the part of the state that is folded, see [Part]; "" = all.
	Only string
	// Rest keeps the agents that no fact concerns; nil = all machines are made.
	Rest machines.Rest
	// Awake is how many machines there are at once with a Rest; 0 = 32,768.
	Awake int
}

// Fold folds a journal to its end, from the newest good snapshot. It returns the state
// and the number of facts that it read.
func Fold(sc *setup.Scene, journal Journal, opt Options) (*machines.State, uint64, error) {
	f := fold{scene: sc, journal: journal, Options: opt, through: journal.Durable()}
	state, err := f.run()
	return state, f.facts, err
}

// FoldTo folds a journal to the end of a wave; wave 0 is the scene before its first
// fact. The journal may be open for reading only. The caller owns the state; it shares
// only immutable values.
func FoldTo(sc *setup.Scene, journal Journal, wave uint64, opt Options) (*machines.State, error) {
	through, err := journal.Wave(wave)
	if err != nil {
		return nil, err
	}
	f := fold{scene: sc, journal: journal, Options: opt, through: through}
	return f.run()
}

// fold is one walk from a snapshot, or the scene's beginning, to a wave.
type fold struct {
	Options
	scene   *setup.Scene
	journal Journal
	through persistence.Wave
	facts   uint64 // folded so far, without those of the snapshot
}

func (f *fold) run() (*machines.State, error) {
	state, err := machines.NewAt(f.scene, f.Rest, cmp.Or(f.Awake, 1<<15))
	if err != nil {
		return nil, err
	}
	after, err := f.base(state.Load)
	if err != nil || after.Last >= f.through.Last {
		return state, err
	}
	if f.Only == "" {
		return state, f.walk(after, nil, state.Apply)
	}
	kinds, apply := Part(f.scene, state, f.Only)
	return state, f.walk(after, kinds, apply)
}

// walk calls apply for every fact after a wave, or for those of some kinds.
func (f *fold) walk(after persistence.Wave, kinds []string, apply func(protocol.Record) error) error {
	from, to := after.Last+1, f.through.Last
	return f.journal.Scan(persistence.Query{From: from, To: to, Kinds: kinds}, func(r protocol.Record) error {
		f.facts++
		if f.Folding != nil && f.facts%foldingEvery == 0 {
			f.Folding(r.Seq-from+1, to-from+1)
		}
		return apply(r)
	})
}

// foldingEvery is the number of facts between two calls of Options.Folding.
const foldingEvery = 1 << 14

func (f *fold) warn(text string, err error) {
	if f.Log != nil {
		f.Log.Warn(text, "scene", f.scene.ID, "err", err)
	}
}

// base yields the states of the first snapshot and returns its wave. Without a snapshot
// it returns the wave of the journal's beginning.
func (f *fold) base(yield func(name string, raw []byte) error) (persistence.Wave, error) {
	begin := f.journal.Begin()
	if f.NoSnapshots && begin.Number == 0 {
		return begin, nil
	}
	snap, err := f.baseSnapshot(begin.Number)
	if protocol.KindOf(err) == protocol.KindNotFound && begin.Number == 0 {
		return begin, nil
	}
	if err != nil {
		return begin, err
	}
	for _, skipped := range snap.Skipped {
		f.warn("a snapshot cannot be used; the one before it is", skipped)
	}
	return snap.Wave, snap.Read(yield)
}

// Base is the wave with whose state a fold of the kept history up to a wave begins: the
// one before the first kept wave, or a later one if the snapshot there is damaged.
func Base(journal Journal, through uint64) (uint64, error) {
	begin := journal.Begin().Number
	if begin == 0 {
		return 0, nil
	}
	if _, err := journal.SnapshotAt(begin); err == nil {
		return begin, nil
	}
	snap, err := journal.SnapshotAt(through)
	if err != nil {
		return 0, err
	}
	return snap.Wave.Number, nil
}

// baseSnapshot finds the snapshot to begin with.
func (f *fold) baseSnapshot(begin uint64) (*persistence.Snapshot, error) {
	if f.NoSnapshots {
		if snap, err := f.journal.SnapshotAt(begin); err == nil {
			return snap, nil
		}
	}
	snap, err := f.journal.SnapshotAt(f.through.Number)
	if begin > 0 && protocol.KindOf(err) == protocol.KindNotFound {
		err = protocol.Errorf(protocol.KindNotFound, "scene %s: facts up to wave %d were dropped, and there is no good snapshot of wave %d or one before it: %w", f.scene.ID, begin, f.through.Number, err)
	}
	return snap, err
}
