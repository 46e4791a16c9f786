package pebbledb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"tavernsim/protocol"
)

// Level is how durable a commit is when Wait answers.
type Level string

const (
	Memory  Level = "memory"  // kept in this process's memory alone; the directory is not touched
	Process Level = "process" // survives a kill of the process
	Power   Level = "power"   // survives a loss of power, if the disk tells the truth
)

// FS is the file system that a database lives on.
type FS = vfs.FS

// Options of Open.
type Options struct {
	Level        Level
	ReadOnly     bool
	FS           FS           // nil = the operating system's
	MemTableSize int          // bytes collected before a table is written
	Log          *slog.Logger // what Pebble says; nil = nothing

	// Check looks at a database that is there before anything in its directory
	// is changed; an error ends Open. nil = no check.
	//
	// Pebble takes a damaged manifest for a short one, opens what is left, which
	// can be nothing, and removes the files that it does not know any more.
	Check func(*DB) error

	// ToDamage, with ReadOnly, opens a database whose write-ahead log is damaged
	// as if the log ended there: see [DB.LogDamage]. Nothing is changed.
	ToDamage bool
}

// memTables is how many tables' worth of writes may wait for the disk before a
// commit waits: with MemTableSize it bounds memory.
const memTables = 4

// DB is an open database.
type DB struct {
	db    any // a *pebble.DB: see of
	guard *guardFS
	lock  *pebble.Lock         // nil: for reading only
	cache interface{ Unref() } // a *pebble.Cache
	dir   string
	level Level

	unclean string
	owner   string // for who only reads: has the directory at the moment
	damage  *LogDamage
	stalls  stalls

	mu     sync.Mutex // guards what follows
	idle   sync.Cond  // users is 0
	users  int        // batches, iterators and reads under way
	closed bool
}

// of gives Pebble's own database. Types and methods here do not name it: a package compiles every method of each generic
// type in the fields of the types that it names, Pebble has hundreds, and stores are named everywhere.
func of(db *DB) *pebble.DB { return db.db.(*pebble.DB) }

// enter counts a use of the database, which ends with leave; refused once Close
// was called.
func (db *DB) enter() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return protocol.Errorf(protocol.KindCancelled, "journal store: %s is closed", db.dir)
	}
	db.users++
	return nil
}

func (db *DB) leave() {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.users--; db.users == 0 {
		db.idle.Broadcast()
	}
}

// Open opens the database in dir and makes it where there is none.
func Open(dir string, o Options) (*DB, error) {
	base := o.FS
	switch {
	case o.Level == Memory:
		base = vfs.NewMem()
	case base == nil:
		base = vfs.Default
	}
	db := &DB{guard: newGuard(base, o.Level == Process), dir: dir, level: o.Level}
	db.idle.L = &db.mu
	if err := db.take(base, o.ReadOnly); err != nil {
		return nil, err
	}
	db.cache = pebble.NewCache(cacheSize)
	open := db.open
	if o.ReadOnly && o.ToDamage {
		open = db.openToDamage
	}
	if err := open(o); err != nil {
		return nil, errors.Join(err, db.release())
	}
	if frozen, ok := base.(*Frozen); ok {
		frozen.forgetLogs()
	}
	return db, nil
}

// take makes the directory and locks it; who only reads does neither.
func (db *DB) take(base FS, readOnly bool) (err error) {
	if !readOnly {
		if err := MakeDir(base, db.dir); err != nil {
			return openError(db.dir, err)
		}
		db.lock, db.unclean, err = lockDir(base, db.dir)
		return err
	}
	owner, own := readOwner(base, base.PathJoin(db.dir, ownerFile))
	if isRunning(base, db.dir, owner, own) {
		db.owner = owner
	} else {
		db.unclean = owner
	}
	return nil
}

// open looks at the database and then opens it.
func (db *DB) open(o Options) (err error) {
	if err := db.check(o); err != nil {
		return err
	}
	db.db, err = openPebble(db.dir, options(db, o))
	if failed := db.guard.failed(); failed != nil { // what Pebble says then follows from it
		if err == nil {
			_ = of(db).Close()
		}
		return failed
	}
	if err != nil {
		return openError(db.dir, err)
	}
	if o.ReadOnly && o.Check != nil {
		if err := o.Check(db); err != nil {
			return errors.Join(err, of(db).Close())
		}
	}
	return nil
}

// check opens a database that is there for reading and lets Check look at it,
// before it is opened to be written.
func (db *DB) check(o Options) error {
	if o.Level == Memory {
		return nil
	}
	desc, err := pebble.Peek(db.dir, db.guard)
	if err != nil {
		return openError(db.dir, err)
	}
	if !desc.Exists {
		return db.noTables()
	}
	if o.Check == nil || o.ReadOnly {
		return nil
	}
	o.ReadOnly = true
	if db.db, err = openPebble(db.dir, options(db, o)); err != nil {
		return openError(db.dir, err)
	}
	err = o.Check(db)
	return errors.Join(err, of(db).Close())
}

// noTables refuses a directory whose database has lost its name but not its
// tables.
func (db *DB) noTables() error {
	tables, err := db.tables()
	if err == nil && tables > 0 {
		err = protocol.Errorf(protocol.KindCorrupt, "%d tables and no manifest", tables)
	}
	if err != nil {
		return openError(db.dir, err)
	}
	return nil
}

func (db *DB) tables() (n int, err error) {
	files, err := db.guard.List(db.dir)
	for _, name := range files {
		if strings.HasSuffix(name, ".sst") {
			n++
		}
	}
	return n, err
}

// Empty reports whether there is nothing in the database and never was: no key,
// and no table in the directory.
func (db *DB) Empty() (bool, error) {
	tables, err := db.tables()
	if err != nil || tables > 0 {
		return false, err
	}
	it, err := db.NewIter(nil, nil)
	if err != nil {
		return false, err
	}
	found := it.First()
	return !found, it.Close()
}

// cacheSize is small: journals are read in order, once.
const cacheSize = 8 << 20

func options(db *DB, o Options) *pebble.Options {
	opts := &pebble.Options{
		FS:                          db.guard,
		Lock:                        db.lock,
		Cache:                       db.cache.(*pebble.Cache),
		ReadOnly:                    o.ReadOnly,
		DisableWAL:                  o.Level == Memory,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                uint64(o.MemTableSize),
		MemTableStopWritesThreshold: memTables,
		MaxOpenFiles:                256,
		Logger:                      pebbleLog{log: o.Log, guard: db.guard},
	}
	opts.EventListener = &pebble.EventListener{
		BackgroundError: func(err error) { pebbleLog{log: o.Log}.Errorf("background: %v", err) },
		WriteStallBegin: func(pebble.WriteStallBeginInfo) { db.stalls.begin(time.Now()) },
		WriteStallEnd:   func() { db.stalls.end(time.Now()) },
	}
	// Values are compressed before they come here. Tables are as large as what
	// is flushed: keys grow, so tables of one scene do not overlap and move down
	// the levels without being written again.
	for i := range opts.Levels {
		opts.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
		opts.TargetFileSizes[i] = int64(o.MemTableSize)
	}
	return opts
}

// openPebble keeps a panic of Pebble over a damaged file from ending the
// process.
func openPebble(dir string, opts *pebble.Options) (db *pebble.DB, err error) {
	compacts := newAfterOpen()
	opts.Experimental.CompactionScheduler = compacts
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, protocol.Errorf(protocol.KindCorrupt, "panic: %v", r)
		}
		if db != nil && !opts.ReadOnly {
			compacts.start()
		}
	}()
	return pebble.Open(dir, opts)
}

func openError(dir string, err error) error {
	kind := protocol.KindTransient
	switch {
	case pebble.IsCorruptionError(err), protocol.KindOf(err) == protocol.KindCorrupt:
		kind = protocol.KindCorrupt
	case errors.Is(err, pebble.ErrDBDoesNotExist), errors.Is(err, os.ErrNotExist):
		kind = protocol.KindNotFound
	case errors.Is(err, os.ErrPermission):
		kind = protocol.KindDenied
	case isFull(err):
		kind = protocol.KindLimit
	}
	return protocol.Errorf(kind, "journal store: open %s: %w", dir, plain{err})
}

// Unclean names the owner that left without Close, as far as known; "" when the
// last one closed.
func (db *DB) Unclean() string { return db.unclean }

// Owner names the process that writes the database at the moment, for who only
// reads it; "" when there is none.
func (db *DB) Owner() string { return db.owner }

// LogDamage is where the database was taken to end, or nil: all of it is open.
func (db *DB) LogDamage() *LogDamage { return db.damage }

// Err is the failure that ended writing, or nil.
func (db *DB) Err() error { return db.guard.failed() }

// FS is the file system that the database lives on.
func (db *DB) FS() FS { return db.guard.FS }

// Close waits for batches and iterators under way and ends everything. It must
// not be called between the moves of an iterator by its owner. The second Close
// does nothing.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	for db.users > 0 {
		db.idle.Wait()
	}
	db.mu.Unlock()
	live := of(db).Metrics().WAL.Files
	err := of(db).Close()
	if err == nil && db.guard.failed() == nil && db.lock != nil {
		db.removeLogs(int(live))
	}
	if db.guard.failed() != nil {
		err = nil // it was answered to whoever waited; what follows from it is no news
	}
	if err != nil {
		err = protocol.Errorf(protocol.KindTransient, "journal store: close %s: %w", db.dir, err)
	}
	return errors.Join(err, db.release())
}

// removeLogs removes all logs but the newest: Pebble keeps old ones, to write into
// them again, until the next Open.
func (db *DB) removeLogs(live int) {
	logs, _ := wal.Scan(wal.Dir{FS: db.guard, Dirname: db.dir}) // oldest first
	for _, l := range logs[:max(0, len(logs)-live)] {
		_, name := l.SegmentLocation(0)
		_ = db.guard.Remove(name)
	}
}

func (db *DB) release() error {
	db.cache.Unref()
	if db.lock == nil {
		return nil
	}
	_ = db.guard.FS.Remove(db.guard.PathJoin(db.dir, ownerFile))
	if err := db.lock.Close(); err != nil {
		return protocol.Errorf(protocol.KindTransient, "journal store: unlock %s: %w", db.dir, err)
	}
	return nil
}

// Get appends the value of a key to buf; found is false where there is none.
func (db *DB) Get(key, buf []byte) (value []byte, found bool, err error) {
	if err := db.enter(); err != nil {
		return buf, false, err
	}
	defer db.leave()
	v, closer, err := of(db).Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return buf, false, nil
	}
	if err != nil {
		return buf, false, readError(err)
	}
	buf = append(buf, v...)
	return buf, true, closer.Close()
}

func readError(err error) error {
	if err == nil {
		return nil
	}
	kind := protocol.KindTransient
	if pebble.IsCorruptionError(err) {
		kind = protocol.KindCorrupt
	}
	return protocol.Errorf(kind, "journal store: read: %w", plain{err})
}

// plain is an error of Pebble without the marks that its library puts on lines
// of their own.
type plain struct{ cause error }

func (p plain) Error() string { line, _, _ := strings.Cut(p.cause.Error(), "\n"); return line }
func (p plain) Unwrap() error { return p.cause }

// pebbleLog passes on what Pebble says.
type pebbleLog struct {
	log   *slog.Logger
	guard *guardFS
}

func (l pebbleLog) say(level slog.Level, format string, args ...any) {
	if l.log != nil && l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, fmt.Sprintf(format, args...), "component", "pebble")
	}
}

func (l pebbleLog) Infof(format string, args ...any)  { l.say(slog.LevelDebug, format, args...) }
func (l pebbleLog) Errorf(format string, args ...any) { l.say(slog.LevelWarn, format, args...) }

// Fatalf is where Pebble would end the process. It returns the error as well,
// so to end writing is enough.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.say(slog.LevelError, format, args...)
	l.guard.note("pebble", "", fmt.Errorf(format, args...))
}
