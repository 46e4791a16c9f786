package persistence

import (
	"errors"
	"sync"
	"sync/atomic"

	"tavernsim/persistence/format"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
)

// dbDir is the database's place inside the store's directory; snapshots have
// theirs beside it.
const (
	dbDir       = "db"
	snapshotDir = "snapshots"
)

// Store is an open directory of journals.
type Store struct {
	db   *pebbledb.DB
	dir  string
	opts Options

	dropped atomic.Bool      // facts were dropped that the database's log still holds
	frozen  *pebbledb.Frozen // nil unless ReadOnly

	mu       sync.Mutex // guards what follows
	journals map[string]*Journal
	closed   bool
}

// Metrics is what the database says about itself.
type Metrics = pebbledb.Metrics

// LogDamage is a damage of the database's write-ahead log.
type LogDamage = pebbledb.LogDamage

// Open opens the store in dir and makes it where there is none.
func Open(dir string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Store{dir: dir, opts: o, journals: map[string]*Journal{}}
	if err := s.freeze(); err != nil {
		return nil, err
	}
	db, err := pebbledb.Open(dir+"/"+dbDir, pebbledb.Options{
		Level: o.Durability, ReadOnly: o.ReadOnly, ToDamage: o.ToDamage, FS: s.opts.FS, MemTableSize: o.MemTableSize, Log: o.Log,
		Check: func(db *pebbledb.DB) error { _, err := marked(db); return err },
	})
	if err != nil {
		return nil, errors.Join(err, s.thaw()) // it names the directory
	}
	s.db = db
	if err := s.mark(); err != nil {
		return nil, errors.Join(err, db.Close(), s.thaw())
	}
	return s, nil
}

// freeze has a store that is only read see its directory as it is now, whichever
// process writes there.
func (s *Store) freeze() (err error) {
	if !s.opts.ReadOnly || s.opts.Durability == Memory {
		return nil
	}
	if s.frozen, err = pebbledb.Freeze(s.opts.FS, s.dir, dbDir); err == nil {
		s.opts.FS = s.frozen
	}
	return err
}

func (s *Store) thaw() error {
	if s.frozen == nil {
		return nil
	}
	return s.frozen.Close()
}

// marked reports whether a database says that it is a store. It refuses one of
// something else, of a newer version, and one that holds something and has lost
// its mark: what else it lost, nobody knows.
func marked(db *pebbledb.DB) (bool, error) {
	value, found, err := db.Get(format.StoreKey(), nil)
	if err == nil && found {
		err = format.CheckStore(value)
	}
	if err != nil || found {
		return found, err
	}
	empty, err := db.Empty()
	if err == nil && !empty {
		err = protocol.Errorf(protocol.KindCorrupt, "store entry: it is missing and the directory is not new: a damaged manifest or another program's database: nothing was changed; work on a copy")
	}
	return false, err
}

// mark marks a new database.
func (s *Store) mark() error {
	found, err := marked(s.db)
	if err != nil || found || s.opts.ReadOnly {
		return err
	}
	b := s.db.NewBatch()
	b.Set(format.StoreKey(), format.StoreValue())
	return b.Commit()
}

// Durability is the level of the store's journals.
func (s *Store) Durability() Durability { return s.opts.Durability }

// Unclean names the process that had the store before and did not close it, as
// far as known: it was killed, or the power went. "" when it was closed.
func (s *Store) Unclean() string { return s.db.Unclean() }

// Owner names the process that writes the store at the moment, for who opened it
// to read; "" when there is none.
func (s *Store) Owner() string { return s.db.Owner() }

// LogDamage is where the write-ahead log was taken to end, or nil: it is whole.
func (s *Store) LogDamage() *LogDamage { return s.db.LogDamage() }

// Err is the failed write that ended writing, or nil.
func (s *Store) Err() error { return s.db.Err() }

// Metrics reads the database's counters.
func (s *Store) Metrics() Metrics { return s.db.Metrics() }

// Scenes lists the scenes that have a journal, in byte order within equal
// lengths of id, shorter ids first.
func (s *Store) Scenes() ([]string, error) {
	it, err := s.db.NewIter([]byte{1}, nil)
	if err != nil {
		return nil, err
	}
	var scenes []string
	for ok := it.First(); ok; {
		k, err := format.ParseKey(it.Key())
		if err != nil {
			return nil, errors.Join(keyDamage("", it.Key(), nil, Wave{}, err), it.Close())
		}
		scenes = append(scenes, k.Scene)
		ok = it.SeekGE(format.AfterScene(k.Scene))
	}
	return scenes, it.Close()
}

// Journal opens the journal of a scene, and makes it where there is none. What
// lies behind its last closed wave is removed. A scene has one open journal.
func (s *Store) Journal(scene string) (*Journal, error) { return s.journal(scene, false) }

// Direct is Journal for one who has nothing to do until a wave is durable: CloseWave stores
// the wave, waits for it and answers before it returns, and no goroutine is needed. At level
// power, where others should go on while a disk syncs, it is Journal.
func (s *Store) Direct(scene string) (*Journal, error) {
	return s.journal(scene, s.opts.Durability != Power)
}

func (s *Store) journal(scene string, direct bool) (*Journal, error) {
	if err := format.CheckScene(scene); err != nil {
		return nil, protocol.Errorf(protocol.KindOf(err), "persistence: open journal: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, protocol.Errorf(protocol.KindCancelled, "persistence: open journal of scene %q: the store is closed", scene)
	}
	if s.journals[scene] != nil {
		return nil, protocol.Errorf(protocol.KindConflict, "persistence: open journal of scene %q: it is open already: a journal has one writer", scene)
	}
	j, err := s.load(scene, direct)
	if err != nil {
		return nil, err
	}
	s.journals[scene] = j
	return j, nil
}

func (s *Store) forget(scene string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.journals, scene)
}

// Close closes the journals and then the store. The second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	var open []*Journal
	for _, scene := range protocol.SortedKeys(s.journals) {
		open = append(open, s.journals[scene])
	}
	s.mu.Unlock()
	var err error
	for _, j := range open {
		err = errors.Join(err, j.Close())
	}
	if s.dropped.Load() && s.opts.Durability != Memory {
		s.db.Flush()
	}
	return errors.Join(err, s.db.Close(), s.thaw())
}

// Claim keeps everybody from opening the store in dir until free is called, for
// one who removes it. A conflict says that somebody has it.
func Claim(dir string) (free func() error, err error) { return pebbledb.Claim(dir + "/" + dbDir) }

// IsWrittenBeside reports whether another process has the store in dir, as far as the
// system tells without taking the lock.
func IsWrittenBeside(dir string) bool { return pebbledb.IsWrittenBeside(dir + "/" + dbDir) }

// InUse reports whether a process has the store in dir.
func InUse(dir string) bool { return pebbledb.InUse(dir + "/" + dbDir) }
