package persistence

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

// Copy makes a copy of the store in from as it is at the moment; another process
// may write there meanwhile. Tables and snapshots never change once they are
// written, so the copy shares them (hard links) where the file system can;
// everything else is copied. to must not exist.
func Copy(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return protocol.Errorf(protocol.KindConflict, "persistence: copy %s to %s: it exists already", from, to)
	}
	frozen, err := pebbledb.Freeze(nil, from, dbDir)
	if err != nil {
		return err
	}
	err = frozen.Walk(func(path string) error {
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return copyEntry(frozen, path, filepath.Join(to, name))
	})
	if err = errors.Join(err, frozen.Close()); err != nil {
		return protocol.Errorf(ioKind(err), "persistence: copy %s to %s: %w", from, to, err)
	}
	return nil
}

func copyEntry(frozen pebbledb.FS, from, to string) error {
	name := filepath.Base(from)
	if name == "OWNER" || strings.HasSuffix(name, partialExt) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, snapshotExt) {
		if os.Link(from, to) == nil {
			return nil
		}
	}
	return copyFile(frozen, from, to)
}

func copyFile(frozen pebbledb.FS, from, to string) (err error) {
	in, err := frozen.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err = io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}

// SnapshotCheck is a snapshot file and what is wrong with it.
type SnapshotCheck struct {
	Wave uint64
	Err  error // nil = every byte is good, and it is of this journal
}

// CheckSnapshots reads every snapshot of the journal's scene, newest first.
func (j *Journal) CheckSnapshots() ([]SnapshotCheck, error) {
	waves, err := j.snapshotWaves()
	checks := make([]SnapshotCheck, len(waves))
	for i, wave := range waves {
		_, err := j.openSnapshot(wave)
		checks[i] = SnapshotCheck{Wave: wave, Err: err}
	}
	return checks, err
}

// RemoveSnapshot removes one snapshot, as a damaged one is.
func (j *Journal) RemoveSnapshot(wave uint64) error {
	if j.store.opts.ReadOnly {
		return j.Err()
	}
	return j.store.removeSnapshots(j.scene, []string{snapshotName(wave)})
}

// Salvage writes the journal of a scene up to the given wave into another store,
// which has none of it: block by block, each of them verified, with a new index,
// and the snapshots up to there as they are. It reads no byte after that wave,
// so it works where a damage keeps the journal from opening.
func (s *Store) Salvage(scene string, wave uint64, to *Store) (err error) {
	head, err := s.loadHead(scene)
	if err != nil {
		return err
	}
	b := to.db.NewBatch()
	b.Set(format.HeadKey(scene), format.AppendHead(nil, head))
	if err := b.Commit(); err != nil || head.Wave == wave {
		return err
	}
	last, err := s.endOf(scene, wave)
	if err != nil {
		return err
	}
	if err := s.salvageBlocks(scene, last, to); err != nil {
		return err
	}
	return s.salvageSnapshots(scene, wave, to)
}

func (s *Store) salvageBlocks(scene string, last uint64, to *Store) (err error) {
	lower, _ := format.Range(scene, format.FamilyBlock)
	it, err := s.db.NewIter(lower, format.AppendKey(nil, scene, format.FamilyBlock, last+1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.Value()
		if err != nil {
			return keyDamage(scene, it.Key(), nil, Wave{}, err)
		}
		b := to.db.NewBatch()
		b.Set(it.Key(), value)
		if err := to.addEntry(b, scene, it.Key(), value); err != nil {
			return errors.Join(keyDamage(scene, it.Key(), nil, Wave{}, err), b.Wait())
		}
		if err := b.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) salvageSnapshots(scene string, wave uint64, to *Store) error {
	waves, err := s.snapshotWaves(scene)
	if err != nil || len(waves) == 0 {
		return err
	}
	from, into := s.snapshotsOf(scene), to.snapshotsOf(scene)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return protocol.Errorf(ioKind(err), "persistence: salvage snapshots of scene %q: %w", scene, err)
	}
	for _, w := range waves {
		if name := snapshotName(w); w <= wave {
			if err := copyFile(s.db.FS(), filepath.Join(from, name), filepath.Join(into, name)); err != nil {
				return protocol.Errorf(ioKind(err), "persistence: salvage a snapshot of scene %q: %w", scene, err)
			}
		}
	}
	return nil
}
