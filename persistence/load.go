package persistence

import (
	"errors"

	"tavernsim/persistence/format"
	"tavernsim/protocol"
)

// load reads where a scene's journal stands and removes what lies behind.
func (s *Store) load(scene string, direct bool) (*Journal, error) {
	head, err := s.loadHead(scene)
	if err != nil {
		return nil, err
	}
	last, dangling, err := s.lastWave(scene, head)
	if err != nil {
		return nil, err
	}
	if err := s.checkLost(scene, last); err != nil {
		return nil, err
	}
	if !s.opts.ReadOnly {
		if err := s.tidy(scene, last, dangling); err != nil {
			return nil, err
		}
	}
	return newJournal(s, scene, head, last, direct), nil
}

// tidy removes what a kill left behind the last closed wave.
func (s *Store) tidy(scene string, last Wave, dangling bool) error {
	if dangling {
		if err := s.cut(scene, last.Last); err != nil {
			return err
		}
	}
	return s.tidySnapshots(scene)
}

// checkLost refuses a journal that ends before a wave of which there is a
// snapshot: snapshots are saved of durable waves only, so acknowledged ones are
// missing. It happens to a journal of level process when the power was lost.
func (s *Store) checkLost(scene string, last Wave) error {
	waves, err := s.snapshotWaves(scene)
	if err != nil || len(waves) == 0 || waves[0] <= last.Number {
		return err
	}
	key := format.AppendKey(nil, scene, format.FamilyBlock, last.Last+1)
	return keyDamage(scene, key, nil, last, protocol.Errorf(protocol.KindCorrupt,
		"the journal ends with wave %d and there is a snapshot of wave %d: the waves between were lost; cut the journal after wave %d to go on from there", last.Number, waves[0], last.Number))
}

func (s *Store) loadHead(scene string) (format.Head, error) {
	key := format.HeadKey(scene)
	value, found, err := s.db.Get(key, nil)
	if err != nil {
		return format.Head{}, err
	}
	if found {
		head, err := format.ReadHead(value)
		if err != nil {
			err = keyDamage(scene, key, nil, Wave{}, err)
		}
		return head, err
	}
	head := format.NewHead(scene)
	if s.opts.ReadOnly {
		return head, protocol.Errorf(protocol.KindNotFound, "persistence: open journal of scene %q in %s: there is none", scene, s.dir)
	}
	b := s.db.NewBatch()
	b.Set(key, format.AppendHead(nil, head))
	return head, b.Commit()
}

// lastWave finds the last closed wave, walking back from the end. dangling says
// that there are blocks behind it.
func (s *Store) lastWave(scene string, head format.Head) (last Wave, dangling bool, err error) {
	it, err := s.db.NewIter(format.Range(scene, format.FamilyBlock))
	if err != nil {
		return Wave{}, false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.Last(); ok; ok = it.Prev() {
		value, err := it.Value()
		if err != nil {
			return Wave{}, false, keyDamage(scene, it.Key(), nil, Wave{}, err)
		}
		blk, err := openBlock(it.Key(), value)
		if err != nil {
			return Wave{}, false, keyDamage(scene, it.Key(), &blk.Header, s.goodBefore(scene, head, it.Key()), err)
		}
		if blk.Closing {
			return s.withTimes(scene, &blk.Header), dangling, nil
		}
		dangling = true
	}
	return beginning(head), dangling, nil
}

// goodBefore finds the last closed wave before a damaged block, for the report.
func (s *Store) goodBefore(scene string, head format.Head, key []byte) Wave {
	lower, _ := format.Range(scene, format.FamilyBlock)
	it, err := s.db.NewIter(lower, append([]byte(nil), key...))
	if err != nil {
		return beginning(head)
	}
	defer it.Close()
	for ok := it.Last(); ok; ok = it.Prev() {
		value, err := it.Value()
		if err != nil {
			break
		}
		if blk, err := openBlock(it.Key(), value); err == nil && blk.Closing {
			return waveOf(&blk.Header)
		}
	}
	return beginning(head)
}

// openBlock verifies a block and that it lies under its own key.
func openBlock(key, value []byte) (format.Block, error) {
	k, err := format.ParseKey(key)
	if err != nil {
		return format.Block{}, err
	}
	blk, err := format.OpenBlock(value)
	if err == nil && blk.First != k.Seq {
		err = protocol.Errorf(protocol.KindCorrupt, "block of seq %d under the key of seq %d", blk.First, k.Seq)
	}
	return blk, err
}

// withTimes completes a wave by the times that the index knows; a wave without
// them is no worse for anything but a listing.
func (s *Store) withTimes(scene string, h *format.Header) Wave {
	w := waveOf(h)
	it, err := s.db.NewIter(format.AppendKey(nil, scene, format.FamilyIndex, h.WaveFirst), format.AppendKey(nil, scene, format.FamilyIndex, h.Last()+1))
	if err != nil {
		return w
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.Value()
		if err != nil {
			return w
		}
		e, err := format.ReadEntry(value, 0)
		if err != nil {
			return w
		}
		w.addTimes(e.MinTime, e.MaxTime)
	}
	return w
}

// addTimes widens the span of a wave; 0 and 0 is a span of nothing yet.
func (w *Wave) addTimes(low, high protocol.Time) {
	if w.MinTime == 0 && w.MaxTime == 0 {
		w.MinTime, w.MaxTime = low, high
		return
	}
	w.MinTime, w.MaxTime = min(w.MinTime, low), max(w.MaxTime, high)
}

// cut removes every block, index entry and note after seq.
func (s *Store) cut(scene string, seq uint64) error {
	b := s.db.NewBatch()
	for _, f := range format.BySeq() {
		_, upper := format.Range(scene, f)
		b.DeleteRange(format.AppendKey(nil, scene, f, seq+1), upper)
	}
	return b.Commit()
}
