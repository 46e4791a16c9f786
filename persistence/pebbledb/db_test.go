package pebbledb

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"tavernsim/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t *testing.T, o Options) *DB {
	t.Helper()
	if o.MemTableSize == 0 {
		o.MemTableSize = 1 << 20
	}
	db, err := Open("db", o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func set(db *DB, key, value string, durable bool) error {
	b := db.NewBatch()
	b.Set([]byte(key), []byte(value))
	b.Start(durable)
	return b.Wait()
}

func keys(t *testing.T, db *DB) string {
	t.Helper()
	it, err := db.NewIter(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for ok := it.First(); ok; ok = it.Next() {
		found = append(found, string(it.Key()))
	}
	if err := errors.Join(it.Close(), it.Close()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func TestKeepsAndFinds(t *testing.T) {
	fsys := vfs.NewMem()
	db := mustOpen(t, Options{Level: Power, FS: fsys})
	for _, k := range []string{"c", "a", "b"} {
		if err := set(db, k, "value of "+k, k == "b"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, Options{Level: Power, FS: fsys})
	defer db.Close()
	if have := keys(t, db); have != "a b c" {
		t.Fatalf("keys %q", have)
	}
	v, found, err := db.Get([]byte("b"), []byte(">"))
	if err != nil || !found || string(v) != ">value of b" {
		t.Fatalf("%q %v %v", v, found, err)
	}
	if _, found, err := db.Get([]byte("x"), nil); found || err != nil {
		t.Fatalf("a key that is not there: %v %v", found, err)
	}
}

// Promise 1: level Memory has no file.
func TestMemoryTouchesNoFile(t *testing.T) {
	fsys := vfs.NewMem()
	db := mustOpen(t, Options{Level: Memory, FS: fsys})
	if err := set(db, "a", "b", true); err != nil || keys(t, db) != "a" {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if files, _ := fsys.List("/"); len(files) > 0 {
		t.Fatalf("files %v", files)
	}
}

// Promises 1 and 2: what Wait has answered is there after a kill of the process, and at
// level Power after a loss of all that was not synced; of batches in flight, none is there
// without those that were started before it.
func TestWhatIsKept(t *testing.T) {
	for _, c := range []struct {
		level    Level
		unsynced int // percent that the disk keeps
	}{{Process, 100}, {Power, 100}, {Power, 50}, {Power, 0}} {
		fsys, all, want := vfs.NewCrashableMem(), []string{}, ""
		db := mustOpen(t, Options{Level: c.level, FS: fsys})
		var flying []*Batch
		for i := range 60 {
			key := fmt.Sprintf("k%02d", i)
			b := db.NewBatch()
			b.Set([]byte(key), []byte(strings.Repeat("x", 3000)))
			b.Start(true)
			if all, flying = append(all, key), append(flying, b); i == 29 {
				for _, b := range flying {
					if err := b.Wait(); err != nil {
						t.Fatal(err)
					}
				}
				flying, want = nil, strings.Join(all, " ")
			}
		}
		left := fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.unsynced, RNG: rand.New(rand.NewPCG(1, 1))})
		for _, b := range flying {
			if err := b.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = mustOpen(t, Options{Level: c.level, FS: left})
		if have := keys(t, db); !strings.HasPrefix(have, want) || !strings.HasPrefix(strings.Join(all, " "), have) {
			t.Errorf("level %s, %d %% of what was not synced: %s are left; %s were answered", c.level, c.unsynced, have, want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Promise 1. TestLevelsSync counts the syncs of logs: none at Process, some at Power, and
// tables at both.
func TestLevelsSync(t *testing.T) {
	for _, level := range []Level{Process, Power} {
		var logs, tables atomic.Int32
		fsys := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo {
				if isLog(op.Path) {
					logs.Add(1)
				} else {
					tables.Add(1)
				}
			}
			return nil
		}))
		db := mustOpen(t, Options{Level: level, FS: fsys, MemTableSize: 256 << 10})
		for i := range 200 {
			if err := set(db, fmt.Sprint(i), strings.Repeat("x", 10_000), true); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if (logs.Load() > 0) != (level == Power) || tables.Load() == 0 {
			t.Errorf("level %s: %d syncs of logs, %d of other files", level, logs.Load(), tables.Load())
		}
	}
}

// Promise 4: a second owner is refused, and the lock ends with the first.
func TestOneOwner(t *testing.T) {
	fsys := vfs.NewMem()
	db := mustOpen(t, Options{FS: fsys})
	_, err := Open("db", Options{FS: fsys, MemTableSize: 1 << 20})
	if protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "process ") {
		t.Fatalf("second open: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, Options{FS: fsys})
	defer db.Close()
	if db.Unclean() != "" {
		t.Fatalf("unclean %q", db.Unclean())
	}
}

// Promise 4: the lock file of a process that was killed is no obstacle.
func TestUncleanOwnerIsNamed(t *testing.T) {
	fsys := vfs.NewCrashableMem()
	db := mustOpen(t, Options{FS: fsys})
	clone := fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, Options{FS: clone})
	defer db.Close()
	if !strings.Contains(db.Unclean(), "process ") {
		t.Fatalf("unclean %q", db.Unclean())
	}
}

// Promise 3. TestFirstFailureEndsWriting fails one write of the log: from then on every
// commit is answered with that failure, and the disk does not change any more.
func TestFirstFailureEndsWriting(t *testing.T) {
	var fail atomic.Bool
	base := vfs.NewMem()
	fsys := errorfs.Wrap(base, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite && isLog(op.Path) && fail.Swap(false) {
			return syscall.ENOSPC
		}
		return nil
	}))
	var said bytes.Buffer
	db := mustOpen(t, Options{Level: Power, FS: fsys, MemTableSize: 256 << 10, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err := set(db, "a", "kept", true); err != nil {
		t.Fatal(err)
	}
	fail.Store(true)
	first := set(db, "b", "lost", true)
	if protocol.KindOf(first) != protocol.KindLimit || !errors.Is(first, syscall.ENOSPC) {
		t.Fatalf("commit on a full disk: %v", first)
	}
	before := base.String()
	for i := range 100 { // far more than a memtable: nothing may wait for ever either
		if err := set(db, fmt.Sprint("c", i), strings.Repeat("x", 50_000), true); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("a later commit: %v", err)
		}
	}
	if have := keys(t, db); !strings.HasPrefix(have, "a") {
		t.Fatalf("reading ended too: %q", have)
	}
	if after := base.String(); after != before {
		t.Fatalf("files before:\n%s\nafter:\n%s", before, after)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, Options{Level: Power, FS: base})
	defer db.Close()
	if have := keys(t, db); have != "a" {
		t.Fatalf("kept %q; want a", have)
	}
}

func TestClosedRefuses(t *testing.T) {
	db := mustOpen(t, Options{FS: vfs.NewMem()})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, iter := db.NewIter(nil, nil)
	_, _, get := db.Get([]byte("a"), nil)
	for _, err := range []error{set(db, "a", "b", true), iter, get} {
		if protocol.KindOf(err) != protocol.KindCancelled {
			t.Errorf("error %v; want cancelled", err)
		}
	}
	if m := db.Metrics(); m.DiskUsage != 0 {
		t.Errorf("metrics %+v", m)
	}
}

func TestCheckComesBeforeChange(t *testing.T) {
	fsys := vfs.NewMem()
	db := mustOpen(t, Options{FS: fsys})
	if err := errors.Join(set(db, "a", "b", true), db.Close()); err != nil {
		t.Fatal(err)
	}
	before := fsys.String()
	refused := errors.New("not mine")
	_, err := Open("db", Options{FS: fsys, MemTableSize: 1 << 20, Check: func(db *DB) error {
		if have := keys(t, db); have != "a" {
			t.Errorf("the check sees %q", have)
		}
		return refused
	}})
	if !errors.Is(err, refused) {
		t.Fatalf("open: %v", err)
	}
	if after := fsys.String(); after != before {
		t.Fatalf("files before:\n%s\nafter:\n%s", before, after)
	}
}

// A full disk is no damage, and keeps nobody from reading.
func TestOpenOnAFullDisk(t *testing.T) {
	base := vfs.NewMem()
	db := mustOpen(t, Options{Level: Process, FS: base})
	if err := errors.Join(set(db, "a", "1", true), db.Close()); err != nil {
		t.Fatal(err)
	}
	full := errorfs.Wrap(base, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	if _, err := Open("db", Options{Level: Process, FS: full, MemTableSize: 1 << 20}); protocol.KindOf(err) != protocol.KindLimit {
		t.Errorf("for writing: %v of kind %s", err, protocol.KindOf(err))
	}
	db = mustOpen(t, Options{Level: Process, FS: full, ReadOnly: true})
	defer db.Close()
	if got := keys(t, db); got != "a" {
		t.Errorf("keys %q", got)
	}
}

// A disk that fails while a database is opened neither ends the process nor keeps Open from returning, at
// whichever write: the next Open has everything. The database was left by kills, so its log is replayed,
// and its tables are many enough to be compacted.
func TestOpenOnAFailingDisk(t *testing.T) {
	left := vfs.NewCrashableMem()
	var want []string
	for kill := range 8 {
		db := mustOpen(t, Options{Level: Power, FS: left})
		for i := range 4 {
			key := fmt.Sprint(i, "-", kill)
			if err := set(db, key, strings.Repeat("x", 1000), true); err != nil {
				t.Fatal(err)
			}
			want = append(want, key)
		}
		killed := left.CrashClone(vfs.CrashCloneCfg{})
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		left = killed
	}
	slices.Sort(want)
	failed := 0
	for opened := false; !opened; failed++ {
		disk := left.CrashClone(vfs.CrashCloneCfg{})
		var writes atomic.Int64
		failing := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileWrite && !strings.Contains(op.Path, ownerFile) && writes.Add(1) > int64(failed) {
				return syscall.ENOSPC
			}
			return nil
		}))
		db, err := Open("db", Options{Level: Power, FS: failing, MemTableSize: 1 << 20})
		if opened = err == nil; !opened && protocol.KindOf(err) != protocol.KindLimit {
			t.Errorf("write %d: %v of kind %s", failed, err, protocol.KindOf(err))
		}
		if opened {
			_ = db.Close() // what it writes then fails
		}
		db = mustOpen(t, Options{Level: Power, FS: disk})
		if got := keys(t, db); got != strings.Join(want, " ") {
			t.Errorf("write %d: keys %q, want %q", failed, got, want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if failed < 5 {
		t.Errorf("Open writes %d times", failed)
	}
}

// A database that was killed so often that its tables must be compacted before it takes a write takes one.
func TestOpenAfterManyKills(t *testing.T) {
	left := vfs.NewCrashableMem()
	for kill := range 30 {
		db := mustOpen(t, Options{Level: Power, FS: left})
		if err := set(db, "same", strings.Repeat("x", 1000+kill), true); err != nil {
			t.Fatal(err)
		}
		killed := left.CrashClone(vfs.CrashCloneCfg{})
		db.Flush()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		left = killed
	}
}
