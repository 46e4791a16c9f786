package history

import (
	"log/slog"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
)

// Options of reading a history.
type Options struct {
	// NoSnapshots folds from the first fact that is kept: snapshots are passed
	// over, unless the first facts were dropped. Then it begins with the one of
	// that place.
	NoSnapshots bool
	// Folding hears now and then how many of how many facts were read; may be nil.
	Folding func(done, total uint64)
	Log     *slog.Logger // hears of snapshots that cannot be used; may be nil
}

// Fold is the state that a journal leads to, and how many facts were read for
// it: those after the newest good snapshot.
func Fold(sc *setup.Scene, journal Journal, opt Options) (*machines.State, uint64, error) {
	f := fold{scene: sc, journal: journal, Options: opt, through: journal.Durable()}
	state, err := f.run()
	return state, f.facts, err
}

// FoldTo is the state of a scene at the end of a wave. Wave 0 is the scene before
// its first fact. Nothing is asked and nothing written; the journal may be open
// for reading only. The state is the caller's own, but for values that never
// change.
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
	state, err := machines.New(f.scene)
	if err != nil {
		return nil, err
	}
	after, err := f.base(state.Load)
	if err != nil || after.Last >= f.through.Last {
		return state, err
	}
	return state, f.walk(after, state.Apply)
}

// walk hands over the facts behind a wave, one by one.
func (f *fold) walk(after persistence.Wave, apply func(protocol.Record) error) error {
	from, to := after.Last+1, f.through.Last
	return f.journal.Scan(persistence.Query{From: from, To: to}, func(r protocol.Record) error {
		f.facts++
		if f.Folding != nil && f.facts%foldingEvery == 0 {
			f.Folding(r.Seq-from+1, to-from+1)
		}
		return apply(r)
	})
}

// foldingEvery is how many facts pass between two calls of Options.Folding.
const foldingEvery = 1 << 14

func (f *fold) warn(text string, err error) {
	if f.Log != nil {
		f.Log.Warn(text, "scene", f.scene.ID, "err", err)
	}
}

// base passes the states of the snapshot to begin with on and returns the wave
// that they are of: that of the journal's beginning where there is none.
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

// Base is the wave with whose state a walk over all that is kept up to a wave
// begins: that before the first kept one, or a later one, where the snapshot of
// that is damaged.
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
