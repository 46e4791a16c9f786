package persistence

import (
	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// Drop removes the facts of the waves up to and including the given one, for
// ever. The journal then begins after it, with the digest of that wave; the
// chain goes on unbroken. Facts are dropped only up to a wave of which there is
// a good snapshot, or one before it: else nobody could know the state at which
// the rest begins.
func (j *Journal) Drop(wave uint64) error {
	w, err := j.droppable(wave)
	if err != nil {
		return err
	}
	if !j.snapshotFrom(wave) {
		return protocol.Errorf(protocol.KindConflict, "persistence: journal of scene %q: drop facts up to wave %d: no good snapshot of that wave or a later one: save one first", j.scene, wave)
	}
	return j.drop(w)
}

// Forget is Drop without a snapshot: for a journal whose facts mean nothing any
// more once they are old, so that no state begins after them.
func (j *Journal) Forget(wave uint64) error {
	w, err := j.droppable(wave)
	if err != nil {
		return err
	}
	return j.drop(w)
}

func (j *Journal) droppable(wave uint64) (Wave, error) {
	if j.store.opts.ReadOnly {
		return Wave{}, j.Err()
	}
	return j.Wave(wave)
}

func (j *Journal) drop(w Wave) error {
	head := format.Head{Wave: w.Number, Seq: w.Last, Total: w.Total, Digest: format.Digest(w.Digest)}
	b := j.store.db.NewBatch()
	b.Set(format.HeadKey(j.scene), format.AppendHead(nil, head))
	for _, f := range format.BySeq() {
		lower, _ := format.Range(j.scene, f)
		b.DeleteRange(lower, format.AppendKey(nil, j.scene, f, w.Last+1))
	}
	if err := b.Commit(); err != nil {
		return err
	}
	j.store.dropped.Store(true)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.head = head
	return nil
}

// snapshotFrom reports whether there is a good snapshot of the wave or a later
// one.
func (j *Journal) snapshotFrom(wave uint64) bool {
	s, err := j.LatestSnapshot()
	return err == nil && s.Wave.Number >= wave
}

// CutAfter removes every wave after the given one from the journal of a scene
// that is not open, and its snapshots of them. It is how a copy of a store
// becomes a fork of it, and how what is good before a damage is saved.
func (s *Store) CutAfter(scene string, wave uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mayChange("cut", scene); err != nil {
		return err
	}
	seq, err := s.endOf(scene, wave)
	if err != nil {
		return err
	}
	// Snapshots first: one of a wave that is gone would count as a loss.
	stale, err := s.snapshotsAfter(scene, wave)
	if err == nil {
		err = s.removeSnapshots(scene, stale)
	}
	if err != nil {
		return err
	}
	return s.cut(scene, seq)
}

// Remove removes the whole journal of a scene that is not open, and its
// snapshots.
func (s *Store) Remove(scene string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mayChange("remove", scene); err != nil {
		return err
	}
	if err := format.CheckScene(scene); err != nil {
		return err
	}
	stale, err := s.snapshotsAfter(scene, 0)
	if err == nil {
		err = s.removeSnapshots(scene, stale)
	}
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	b.DeleteRange(format.AppendPrefix(nil, scene, 0), format.AfterScene(scene))
	return b.Commit()
}

// mayChange refuses to change a journal that is open, or in a store that does not write.
func (s *Store) mayChange(how, scene string) error {
	switch {
	case s.opts.ReadOnly:
		return protocol.Errorf(protocol.KindDenied, "persistence: %s journal of scene %q: the store is open for reading only", how, scene)
	case s.closed || s.journals[scene] != nil:
		return protocol.Errorf(protocol.KindConflict, "persistence: %s journal of scene %q: it is open or the store is closed", how, scene)
	}
	return nil
}

// endOf finds the last seq of a wave by walking the blocks from the first: it
// must work where later ones are damaged.
func (s *Store) endOf(scene string, wave uint64) (seq uint64, err error) {
	head, err := s.loadHead(scene)
	if err != nil {
		return 0, err
	}
	if head.Wave == wave {
		return head.Seq, nil
	}
	it, err := s.db.NewIter(format.Range(scene, format.FamilyBlock))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	good := beginning(head)
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.Value()
		if err != nil {
			return 0, keyDamage(scene, it.Key(), nil, good, err)
		}
		blk, err := openBlock(it.Key(), value)
		if err != nil {
			return 0, keyDamage(scene, it.Key(), &blk.Header, good, err)
		}
		if !blk.Closing {
			continue
		}
		if good = waveOf(&blk.Header); good.Number == wave {
			return good.Last, nil
		}
	}
	return 0, protocol.Errorf(protocol.KindNotFound, "persistence: journal of scene %q: wave %d: there are waves %d to %d", scene, wave, head.Wave+1, good.Number)
}
