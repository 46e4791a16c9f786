package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tavernsim/persistence"
)

// logged is a store of which nothing is in tables yet.
type logged struct {
	fs   *vfs.MemFS
	w    Workload
	logs []string
	ends []place // of waves, from 1
}

// place is a byte of the logs.
type place struct {
	log int
	at  int64
}

func (p place) before(q place) bool { return p.log < q.log || p.log == q.log && p.at <= q.at }

// writeLogged writes waves into logs; tables are not made before it is done, or
// with flush before the store is closed.
func writeLogged(t *testing.T, w Workload, waves uint64, flush bool) *logged {
	t.Helper()
	l := &logged{fs: vfs.NewMem(), w: w}
	hold := make(chan struct{})
	if flush {
		close(hold)
	}
	fsys := errorfs.Wrap(l.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			<-hold
		}
		return nil
	}))
	s, j := openJournal(t, fsys, persistence.Options{BatchFacts: 16, MemTableSize: 256 << 10})
	for n := uint64(1); n <= waves; n++ {
		err := w.Write(j, j.Durable(), n, nil)
		if err == nil {
			_, err = j.Sync(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		l.list(t)
		newest := len(l.logs) - 1
		l.ends = append(l.ends, place{newest, size(t, l.fs, l.logs[newest])})
	}
	disk := l.fs
	if !flush {
		disk = copyFS(t, l.fs, func(_ string, data []byte) []byte { return data })
		close(hold)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l.fs = disk
	l.list(t)
	return l
}

func (l *logged) list(t *testing.T) {
	t.Helper()
	files, err := l.fs.List(crashDir + "/db")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	l.logs = nil
	for _, f := range files {
		if strings.HasSuffix(f, ".log") {
			l.logs = append(l.logs, crashDir+"/db/"+f)
		}
	}
}

// whole counts the waves that end before a place.
func (l *logged) whole(p place) (n uint64) {
	for _, end := range l.ends {
		if end.before(p) {
			n++
		}
	}
	return n
}

// salvaged is how many waves are in the repaired copy of a damaged store, each
// fact and digest as it was written.
func (l *logged) salvaged(t *testing.T, disk vfs.FS) (waves uint64, damage *persistence.LogDamage) {
	t.Helper()
	from, err := persistence.Open(crashDir, persistence.Options{FS: disk, ReadOnly: true, ToDamage: true})
	if err != nil {
		t.Fatal(err)
	}
	to, err := persistence.Open("mended", persistence.Options{Durability: persistence.Memory})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(from.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
	}()
	scenes, err := from.Scenes()
	if err != nil || len(scenes) == 0 {
		return 0, from.LogDamage()
	}
	end := good(t, from)
	if err := from.Salvage(crashScene, end, to); err != nil {
		t.Fatal(err)
	}
	j, err := Of(to).Journal(crashScene)
	if err == nil {
		err = Check(j, l.w.Model(crashScene, end))
	}
	if err != nil || j.Durable().Number != end {
		t.Fatalf("wave %d of %d: %v", j.Durable().Number, end, err)
	}
	return end, from.LogDamage()
}

// good is the last wave of a journal that can be saved.
func good(t *testing.T, s *persistence.Store) uint64 {
	t.Helper()
	j, err := s.Journal(crashScene)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	report, err := j.Verify(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := persistence.DamageOf(report.Damage); ok {
		if s.LogDamage() != nil {
			t.Errorf("the log was cut, and %v", d)
		}
		return d.Good.Number
	}
	return j.Durable().Number
}

// alone skips a test in which nothing runs at once with -short, as the race
// detector is run.
func alone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("nothing runs at once here")
	}
}

// TestDamagedLog damages a log of several at some places, with SIMD_TEST_LONG=1 at hundreds: everything before the
// damage that was complete is in the repaired copy, and nothing behind it.
func TestDamagedLog(t *testing.T) {
	alone(t)
	l := writeLogged(t, Workload{Seed: 25, MaxWave: 60, Size: 300}, 75, false)
	if len(l.logs) < 3 {
		t.Fatalf("%d logs", len(l.logs))
	}
	for kind, change := range map[string]func([]byte, int64) []byte{
		"flipped": func(data []byte, at int64) []byte { data[at] ^= 0x10; return data },
		"zeroed":  func(data []byte, at int64) []byte { clear(data[at:min(at+9000, int64(len(data)))]); return data },
		"cut":     func(data []byte, at int64) []byte { return data[:at] },
	} {
		for n, log := range l.logs {
			t.Run(fmt.Sprintf("%s/%d", kind, n), func(t *testing.T) { l.damageAll(t, kind, n, size(t, l.fs, log), change) })
		}
	}
}

func (l *logged) damageAll(t *testing.T, kind string, log int, size int64, change func([]byte, int64) []byte) {
	step, newest := size/6, log == len(l.logs)-1
	if long() {
		step = size / 500
	}
	for at := step / 3; at < size; at += step {
		disk := copyFS(t, l.fs, func(name string, data []byte) []byte {
			if name == l.logs[log] {
				return change(data, at)
			}
			return data
		})
		got, damage := l.salvaged(t, disk)
		if want := l.whole(place{log, at}); got != want {
			t.Errorf("byte %d of %s: %d waves are saved, %d were whole before it; %v", at, l.logs[log], got, want, damage)
		}
		switch {
		case damage != nil:
			l.checkReport(t, disk, damage, place{log, at})
		case kind == "flipped" && (!newest || at < size-3*block):
			t.Errorf("no damage at byte %d of %s is told", at, l.logs[log])
		}
	}
}

// block is the size of a log's blocks. In the last ones of the newest log a
// damage looks like the torn end that a kill leaves.
const block = 32 << 10

// checkReport: the damage is where it is, and all bytes from there on are lost.
func (l *logged) checkReport(t *testing.T, disk vfs.FS, d *persistence.LogDamage, p place) {
	t.Helper()
	lost := -d.At
	for _, log := range l.logs[p.log:] {
		lost += size(t, disk, log)
	}
	if !strings.HasSuffix(l.logs[p.log], "/"+d.File) || d.At > p.at || d.Lost != lost || len(d.Left) != len(l.logs)-1-p.log {
		t.Errorf("damage at byte %d of %s: %+v, want %d bytes lost", p.at, l.logs[p.log], d, lost)
	}
	s, err := persistence.Open(crashDir, persistence.Options{FS: disk, ReadOnly: true})
	if err == nil {
		err = s.Close()
	}
	if err == nil && len(d.Left) > 0 {
		t.Error("the damaged store opens without being asked to")
	}
}

// TestDamagedHeaders changes every byte of the header of a batch, in one of three ways, with SIMD_TEST_LONG=1 in each. Where a log then
// looks as if it ended there, which is no damage to the database, the facts of
// later logs do not join up, and are not saved either.
func TestDamagedHeaders(t *testing.T) {
	alone(t)
	l := writeLogged(t, Workload{Seed: 27, MaxWave: 60, Size: 300}, 75, false)
	for n, log := range l.logs {
		for i, mask := range []byte{0x01, 0x10, 0xff} {
			at := l.inside(n)
			for b := at; b < at+24; b++ {
				if !long() && (int(b-at)+n)%3 != i {
					continue
				}
				disk := copyFS(t, l.fs, func(name string, data []byte) []byte {
					if name == log {
						data[b] ^= mask
					}
					return data
				})
				if got, damage := l.salvaged(t, disk); got != l.whole(place{n, at}) {
					t.Errorf("byte %d of %s ^ %x: %d waves are saved, %d were whole before it; %v", b, log, mask, got, l.whole(place{n, at}), damage)
				}
			}
		}
	}
}

// inside is the end of a wave in a log, behind which another begins.
func (l *logged) inside(log int) int64 {
	for _, end := range l.ends[1 : len(l.ends)-1] {
		if end.log == log {
			return end.at
		}
	}
	return 0
}

// oldIsInTables: there is a log before the newest, and nothing is lost without it.
func (l *logged) oldIsInTables(t *testing.T) bool {
	t.Helper()
	if len(l.logs) < 2 {
		return false
	}
	without := copyFS(t, l.fs, func(name string, data []byte) []byte {
		if slices.Contains(l.logs[:len(l.logs)-1], name) {
			return nil
		}
		return data
	})
	waves, _ := l.salvaged(t, without)
	return waves == 75
}

// TestDamagedLogBesideAnOldOne: a log whose facts are in tables is of no interest,
// whatever its bytes.
func TestDamagedLogBesideAnOldOne(t *testing.T) {
	alone(t)
	l := writeLogged(t, Workload{Seed: 28, MaxWave: 60, Size: 300}, 75, true)
	for try := 1; !l.oldIsInTables(t); try++ { // Pebble makes tables when it comes to it
		if try == 50 {
			t.Fatal("no old log is kept whose facts are in tables")
		}
		l = writeLogged(t, Workload{Seed: 28, MaxWave: 60, Size: 300}, 75, true)
	}
	newest := l.logs[len(l.logs)-1]
	at := size(t, l.fs, newest) / 4
	for _, both := range []bool{false, true} {
		disk := copyFS(t, l.fs, func(name string, data []byte) []byte {
			if strings.HasSuffix(name, ".log") && (both || name != newest) {
				data[min(at, int64(len(data)/2))] ^= 0x10
			}
			return data
		})
		waves, damage := l.salvaged(t, disk)
		if !both && (waves != 75 || damage != nil) {
			t.Errorf("only the old log is damaged: %d waves, %v", waves, damage)
		}
		if both && (waves == 0 || waves == 75 || damage == nil || !strings.HasSuffix(newest, damage.File) || len(damage.Left) > 0) {
			t.Errorf("both are damaged: %d waves, %+v", waves, damage)
		}
	}
}

// A log without damage ends where it ends, if need be torn, and a store that does not open for
// another reason does not open.
func TestNoDamageOfTheLog(t *testing.T) {
	l := writeLogged(t, Workload{Seed: 26, MaxWave: 12, Size: 20}, 5, false)
	if waves, damage := l.salvaged(t, l.fs); waves != 5 || damage != nil {
		t.Errorf("%d waves, %v", waves, damage)
	}
	for name, change := range map[string]func([]byte) []byte{
		"cut":    func(data []byte) []byte { return data[:len(data)-5] },
		"zeroed": func(data []byte) []byte { clear(data[len(data)-50:]); return append(data, make([]byte, 3*block)...) },
	} {
		torn := copyFS(t, l.fs, func(name string, data []byte) []byte {
			if name == l.logs[len(l.logs)-1] {
				return change(data)
			}
			return data
		})
		if waves, damage := l.salvaged(t, torn); waves != 4 || damage != nil {
			t.Errorf("%s, as a kill may leave it: %d waves, %v", name, waves, damage)
		}
	}
	lost := copyFS(t, l.fs, func(name string, data []byte) []byte {
		if strings.Contains(name, "/MANIFEST") {
			return data[:3]
		}
		return data
	})
	if s, err := persistence.Open(crashDir, persistence.Options{FS: lost, ReadOnly: true, ToDamage: true}); err == nil {
		t.Errorf("%v opened without a manifest", errors.Join(s.Close()))
	}
}
