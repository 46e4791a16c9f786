package persistence

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

const (
	snapshotExt = ".snap"
	partialExt  = ".partial"
)

// SaveSnapshot writes the states of a scene as they were at the end of a
// durable wave, then drops the facts that are older than Options.Keep, and
// removes all but the newest Options.KeepSnapshots of the scene's snapshots and
// those that Options.Keep needs. It may run while facts are appended; a second one of the
// same journal waits. A snapshot that could not be written whole leaves nothing
// behind and does not end the journal. An actor without a name is refused: so states says that there is
// one that it cannot give.
func (j *Journal) SaveSnapshot(wave uint64, states iter.Seq2[string, []byte]) error {
	j.saving.Lock()
	defer j.saving.Unlock()
	start := time.Now()
	size, err := j.saveSnapshot(wave, states)
	j.store.opts.Observer.SnapshotSaved(j.scene, size, time.Since(start), err)
	if err != nil {
		kind := protocol.KindOf(err)
		if kind == protocol.KindInternal {
			kind = ioKind(err)
		}
		return protocol.Errorf(kind, "persistence: snapshot of scene %q at wave %d: %w", j.scene, wave, err)
	}
	return nil
}

func (j *Journal) saveSnapshot(wave uint64, states iter.Seq2[string, []byte]) (int64, error) {
	if j.store.opts.ReadOnly {
		return 0, j.Err()
	}
	if err := j.store.Err(); err != nil {
		return 0, err
	}
	w, err := j.Wave(wave)
	if err != nil {
		return 0, err
	}
	fsys, dir := j.store.db.FS(), j.store.snapshotsOf(j.scene)
	if err := pebbledb.MakeDir(fsys, dir); err != nil {
		return 0, err
	}
	name := fsys.PathJoin(dir, snapshotName(wave))
	m := format.Manifest{Scene: j.scene, Wave: w.Number, Seq: w.Last, Digest: format.Digest(w.Digest)}
	size, err := writeSnapshot(fsys, name+partialExt, m, states)
	if err == nil {
		err = fsys.Rename(name+partialExt, name)
	}
	if err != nil {
		_ = fsys.Remove(name + partialExt)
		return size, err
	}
	if err := pebbledb.SyncDir(fsys, dir); err != nil {
		return size, err
	}
	if err := j.compact(w); err != nil {
		return size, err
	}
	return size, j.prune()
}

func writeSnapshot(fsys pebbledb.FS, name string, m format.Manifest, states iter.Seq2[string, []byte]) (size int64, err error) {
	f, err := fsys.Create(name, "simd-snapshot")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sw, err := format.NewSnapshotWriter(f, m)
	if err != nil {
		return 0, err
	}
	for actor, state := range states {
		if err := sw.Add(actor, state); err != nil {
			return sw.Size(), err
		}
	}
	if err := sw.Close(); err != nil {
		return sw.Size(), err
	}
	return sw.Size(), f.Sync()
}

// snapshotsOf names the directory of a scene's snapshots: its id where that can
// be a file's name everywhere, else as much of it as can and a hash.
func (s *Store) snapshotsOf(scene string) string {
	safe := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}
	name := strings.Map(safe, scene)
	if name != scene || len(name) > 100 {
		var sum [8]byte
		binary.BigEndian.PutUint64(sum[:], xxh3.HashString(scene))
		name = name[:min(len(name), 100)] + "." + hex.EncodeToString(sum[:])
	}
	return s.db.FS().PathJoin(s.dir, snapshotDir, name)
}

func snapshotName(wave uint64) string { return fmt.Sprintf("%020d%s", wave, snapshotExt) }

// snapshotWaves lists the waves of which there are snapshot files, newest first.
func (s *Store) snapshotWaves(scene string) ([]uint64, error) {
	files, err := s.db.FS().List(s.snapshotsOf(scene))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, protocol.Errorf(ioKind(err), "persistence: list snapshots of scene %q: %w", scene, err)
	}
	var waves []uint64
	for _, name := range files {
		digits, ok := strings.CutSuffix(name, snapshotExt)
		wave, err := strconv.ParseUint(digits, 10, 64)
		if ok && err == nil && name == snapshotName(wave) {
			waves = append(waves, wave)
		}
	}
	slices.Sort(waves)
	slices.Reverse(waves)
	return waves, nil
}

// tidySnapshots removes what a kill left half written.
func (s *Store) tidySnapshots(scene string) error {
	files, err := s.db.FS().List(s.snapshotsOf(scene))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var partial []string
	for _, name := range files {
		if strings.HasSuffix(name, partialExt) {
			partial = append(partial, name)
		}
	}
	return errors.Join(err, s.removeSnapshots(scene, partial))
}

func (s *Store) removeSnapshots(scene string, names []string) error {
	fsys, dir := s.db.FS(), s.snapshotsOf(scene)
	for _, name := range names {
		if err := fsys.Remove(fsys.PathJoin(dir, name)); err != nil {
			return protocol.Errorf(ioKind(err), "persistence: remove snapshot %s of scene %q: %w", name, scene, err)
		}
	}
	return nil
}

// snapshotsAfter names the files of the snapshots of waves after one.
func (s *Store) snapshotsAfter(scene string, wave uint64) ([]string, error) {
	waves, err := s.snapshotWaves(scene)
	var names []string
	for _, w := range waves {
		if w > wave {
			names = append(names, snapshotName(w))
		}
	}
	return names, err
}

// Snapshot is a snapshot of which every byte has been verified.
type Snapshot struct {
	Wave    Wave
	Entries uint64
	Skipped []error // why newer ones were passed over, newest first

	// Read calls yield for every state, in the order in which they were saved. A
	// state's bytes are good for ever.
	Read func(yield func(actor string, state []byte) error) error
}

// LatestSnapshot finds the newest good snapshot: whole, and of this journal. An
// error of KindNotFound says that there is none; with what was passed over.
func (j *Journal) LatestSnapshot() (*Snapshot, error) { return j.SnapshotAt(j.Durable().Number) }

// SnapshotAt finds the newest good snapshot of a wave up to the given one.
func (j *Journal) SnapshotAt(wave uint64) (*Snapshot, error) {
	waves, err := j.snapshotWaves()
	if err != nil {
		return nil, err
	}
	var skipped []error
	for _, w := range waves {
		if w > wave {
			continue
		}
		s, err := j.openSnapshot(w)
		if err == nil {
			s.Skipped = skipped
			return s, nil
		}
		skipped = append(skipped, err)
	}
	err = errors.Join(skipped...)
	if err == nil {
		err = errors.New("none was saved")
	}
	return nil, protocol.Errorf(protocol.KindNotFound, "persistence: snapshot of scene %q up to wave %d: %w", j.scene, wave, err)
}

func (j *Journal) openSnapshot(wave uint64) (*Snapshot, error) {
	fsys := j.store.db.FS()
	name := fsys.PathJoin(j.store.snapshotsOf(j.scene), snapshotName(wave))
	w, err := j.Wave(wave)
	if err != nil {
		return nil, err
	}
	m, totals, err := readSnapshot(fsys, name, nil)
	if err != nil {
		return nil, err
	}
	want := format.Manifest{Scene: j.scene, Wave: w.Number, Seq: w.Last, Digest: format.Digest(w.Digest)}
	if m != want {
		return nil, protocol.Errorf(protocol.KindConflict, "snapshot %s is of scene %q, wave %d, seq %d, digest %v; the journal has scene %q, wave %d, seq %d, digest %v",
			name, m.Scene, m.Wave, m.Seq, Digest(m.Digest), want.Scene, want.Wave, want.Seq, w.Digest)
	}
	return &Snapshot{Wave: w, Entries: totals.Entries, Read: func(yield func(string, []byte) error) error {
		_, _, err := readSnapshot(fsys, name, yield)
		return err
	}}, nil
}

func readSnapshot(fsys pebbledb.FS, name string, yield func(string, []byte) error) (format.Manifest, format.Totals, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return format.Manifest{}, format.Totals{}, protocol.Errorf(ioKind(err), "persistence: snapshot: %w", err)
	}
	defer f.Close()
	var stopped error
	each := yield
	if yield != nil {
		each = func(actor string, state []byte) error {
			stopped = yield(actor, state)
			return stopped
		}
	}
	m, totals, err := format.ReadSnapshot(io.Reader(f), each)
	switch {
	case stopped != nil:
		err = stopped
	case err != nil:
		err = protocol.Errorf(protocol.KindOf(err), "persistence: snapshot %s: %w", name, err)
	}
	return m, totals, err
}
