package scenes

import (
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/project"
)

// Fold reads a journal from its first fact into the state it led to. Snapshots
// are passed over, unless the first facts were dropped: then it begins with the
// one of that place.
func Fold(p *project.Project, def *project.Scene, journal *persistence.Journal, opt Options) (*State, error) {
	opt.NoSnapshots = true
	return FoldTo(p, def, journal, opt, journal.Durable().Number)
}

// FoldTo is the state of a scene at the end of a wave: the newest good snapshot
// up to there and the facts after it. Wave 0 is the scene before its first fact.
// Nothing is asked and nothing written; the journal may be open for reading
// only. The state is the caller's own, but for values that never change.
func FoldTo(p *project.Project, def *project.Scene, journal *persistence.Journal, opt Options, wave uint64) (*State, error) {
	through, err := journal.Wave(wave)
	if err != nil {
		return nil, err
	}
	sc, err := build(p, def, journal, opt)
	if err != nil {
		return nil, err
	}
	f := fold{scene: sc, through: through}
	return f.run()
}

// fold is one walk from a snapshot, or the scene's beginning, to a wave.
type fold struct {
	*scene
	through persistence.Wave
	facts   uint64 // folded so far, without those of the snapshot
}

func (f *fold) run() (*State, error) {
	state, err := newState(f.scene)
	if err != nil {
		return nil, err
	}
	after, err := f.base(state.load)
	if err != nil || after.Last >= f.through.Last {
		return state, err
	}
	from, to := after.Last+1, f.through.Last
	return state, f.journal.Scan(persistence.Query{From: from, To: to}, func(r protocol.Record) error {
		f.facts++
		if f.options.Folding != nil && f.facts%foldingEvery == 0 {
			f.options.Folding(r.Seq-from+1, to-from+1)
		}
		return state.Apply(r)
	})
}

// foldingEvery is how many facts pass between two calls of Options.Folding.
const foldingEvery = 1 << 14

// base passes the states of the snapshot to begin with on and returns the wave
// that they are of: that of the journal's beginning where there is none.
func (f *fold) base(yield func(name string, raw []byte) error) (persistence.Wave, error) {
	begin := f.journal.Begin()
	if f.options.NoSnapshots && begin.Number == 0 {
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
		f.log.Warn("a snapshot cannot be used; the one before it is", "scene", f.id, "err", skipped)
	}
	return snap.Wave, snap.Read(yield)
}

// baseSnapshot finds the snapshot to begin with.
func (f *fold) baseSnapshot(begin uint64) (*persistence.Snapshot, error) {
	if f.options.NoSnapshots {
		if snap, err := f.journal.SnapshotAt(begin); err == nil {
			return snap, nil
		}
	}
	snap, err := f.journal.SnapshotAt(f.through.Number)
	if begin > 0 && protocol.KindOf(err) == protocol.KindNotFound {
		err = protocol.Errorf(protocol.KindNotFound, "scene %s: facts up to wave %d were dropped, and there is no good snapshot of wave %d or one before it: %w", f.id, begin, f.through.Number, err)
	}
	return snap, err
}

// ID is the scene's.
func (s *State) ID() string { return s.scene.id }

// Name is the instance id of an agent by its ordinal; the last one, behind Size
// agents, is the scene's own.
func (s *State) Name(ordinal uint32) string { return s.scene.name(ordinal) }

// Ordinal finds an agent by its instance id.
func (s *State) Ordinal(instance string) (ordinal uint32, ok bool) { return s.scene.ordinal(instance) }

// Profile is the profile id of an agent.
func (s *State) Profile(ordinal uint32) string { return s.scene.definition(ordinal).Profile }
