package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
)

const (
	crashScene = "tavern"
	crashDir   = "run"
)

// openJournal opens the store and the one journal of a crash test.
func openJournal(t *testing.T, fsys vfs.FS, o persistence.Options) (*persistence.Store, persistencetest.Journal) {
	t.Helper()
	o.FS = fsys
	s, err := persistence.Open(crashDir, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	j, err := Of(s).Journal(crashScene)
	if err != nil {
		t.Fatalf("journal: %v", errors.Join(err, s.Close()))
	}
	return s, j
}

// survives checks what a crash left: whole waves of the right history, at least
// those up to acked, and a journal that goes on to the same end as one that was
// never disturbed.
func survives(t *testing.T, fsys vfs.FS, w Workload, acked, to uint64) (recovered uint64) {
	t.Helper()
	s, j := openJournal(t, fsys, persistence.Options{BatchFacts: 5, MemTableSize: 1 << 20})
	defer func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	recovered = j.Durable().Number
	if recovered < acked {
		t.Fatalf("recovered %d waves; %d were acknowledged", recovered, acked)
	}
	if err := Check(j, w.Model(crashScene, to)); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(j, j.Durable(), to, nil); err != nil {
		t.Fatal(err)
	}
	last, err := j.Sync(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := w.Model(crashScene, to).Last(); last != want {
		t.Fatalf("the continued journal ends with %+v; the undisturbed one with %+v", last, want)
	}
	return recovered
}

// logFile is the one write-ahead log that is being written.
func logFile(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	files, err := fsys.List(crashDir + "/db")
	if err != nil {
		t.Fatal(err)
	}
	newest := ""
	for _, f := range files {
		if strings.HasSuffix(f, ".log") {
			newest = max(newest, f)
		}
	}
	return crashDir + "/db/" + newest
}

func size(t *testing.T, fsys vfs.FS, name string) int64 {
	t.Helper()
	info, err := fsys.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// copyFS copies a file system in memory, giving every file to change first.
func copyFS(t *testing.T, from *vfs.MemFS, change func(name string, data []byte) []byte) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	var walk func(dir string)
	walk = func(dir string) {
		if err := to.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		names, err := from.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			name := dir + "/" + n
			info, err := from.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if info.IsDir() {
				walk(name)
				continue
			}
			copyFile(t, from, to, name, info.Size(), change)
		}
	}
	walk(crashDir)
	return to
}

func copyFile(t *testing.T, from, to vfs.FS, name string, size int64, change func(string, []byte) []byte) {
	t.Helper()
	data := make([]byte, size)
	in, err := from.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.ReadAt(data, 0); err != nil && size > 0 {
		t.Fatal(err)
	}
	out, err := to.Create(name, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.Write(change(name, data)); err != nil {
		t.Fatal(err)
	}
}

// Promise 1. TestCutAtEveryByte cuts the log in the batches of the last wave, and beyond the cut lets be nothing, zeros, or
// what a torn write leaves. The wave is there whole or not at all; no other is touched. SIMD_TEST_LONG=1 cuts at every byte,
// and else these at every seventh, eleventh and thirteenth, from the last one on.
func TestCutAtEveryByte(t *testing.T) {
	alone(t)
	w := Workload{Seed: 21, MaxWave: 12, Size: 20}
	fsys := vfs.NewMem()
	s, j := openJournal(t, fsys, persistence.Options{BatchFacts: 5})
	waves := uint64(6)
	write := func(to uint64) {
		if err := w.Write(j, j.Durable(), to, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	write(waves - 1)
	log := logFile(t, fsys)
	before := size(t, fsys, log)
	write(waves)
	after := size(t, fsys, log)
	defer s.Close()

	torn := map[string]func(data []byte, cut int64) []byte{
		"cut":    func(data []byte, cut int64) []byte { return data[:cut] },
		"zeroed": func(data []byte, cut int64) []byte { clear(data[cut:]); return data },
		"torn": func(data []byte, cut int64) []byte {
			for i := cut; i < int64(len(data)); i++ {
				data[i] ^= byte(i*7 + 1)
			}
			return data
		},
	}
	for kind, step := range map[string]int64{"cut": 7, "zeroed": 11, "torn": 13} {
		t.Run(kind, func(t *testing.T) {
			whole, cuts := 0, 0
			if long() {
				step = 1
			}
			for cut := after; cut >= before; cut -= step {
				crashed := copyFS(t, fsys, func(name string, data []byte) []byte {
					if name == log {
						return torn[kind](data, cut)
					}
					return data
				})
				got := survives(t, crashed, w, waves-1, waves+1)
				if cuts++; got == waves {
					whole++
				}
				if cut == after && got != waves {
					t.Fatal("an uncut log lost its last wave")
				}
			}
			t.Logf("%d cuts of %d bytes; the last wave was whole after %d", cuts, after-before, whole)
			if whole > cuts/10+1 {
				t.Fatalf("the last wave was whole after %d cuts: they missed it", whole)
			}
		})
	}
}

// Promise 2. TestPowerLoss takes the file system as a loss of power would leave it, before
// random changes of a run at level power: with any part of what was not synced.
func TestPowerLoss(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if env := os.Getenv("SIMD_TEST_SEED"); env != "" {
		fmt.Sscan(env, &seed)
	}
	percents := []int{0, 30, 70, 100}
	switch {
	case testing.Short():
		percents = percents[2:3]
	case !long():
		percents = []int{0, 70, 100}
	}
	for _, percent := range percents {
		t.Run(fmt.Sprintf("unsynced=%d%%", percent), func(t *testing.T) {
			t.Logf("repeat with SIMD_TEST_SEED=%d", seed)
			powerLoss(t, seed, percent)
		})
	}
}

// lostPower is what a loss of power left, and what was acknowledged before.
type lostPower struct {
	fs    *vfs.MemFS
	acked uint64
}

func powerLoss(t *testing.T, seed uint64, percent int) {
	const waves, every = 200, 20
	most := 6
	switch {
	case long():
		most = 100
	case testing.Short():
		most = 4
	}
	w := Workload{Seed: seed, MaxWave: 60, Size: 200}
	var mu sync.Mutex // guards what follows: the log and the tables are written side by side
	var acked uint64
	var losses []lostPower
	early := 0    // losses before anything was acknowledged
	var made bool // a store that was never opened has promised nothing
	rng := rand.New(rand.NewPCG(seed, uint64(percent)))
	base := vfs.NewCrashableMem()
	fsys := errorfs.Wrap(base, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if made && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && len(losses)-early < most && rng.IntN(every) == 0 {
			clone := base.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
			losses = append(losses, lostPower{clone, acked})
			if acked == 0 {
				early++
			}
		}
		return nil
	}))
	s, j := openJournal(t, fsys, persistence.Options{Durability: persistence.Power, BatchFacts: 16, MemTableSize: 256 << 10})
	mu.Lock()
	made = true
	mu.Unlock()
	err := w.Write(j, persistence.Wave{}, waves, func(w persistence.Wave, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			acked = w.Number
		}
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	middle := 0
	for _, l := range losses {
		got := survives(t, l.fs, w, l.acked, waves)
		if got > 0 && got < waves {
			middle++
		}
	}
	t.Logf("%d losses of power, %d of them in the middle of the run", len(losses), middle)
	if middle < 3 {
		t.Fatal("too few losses of power hit the run")
	}
}

// Promise 6. TestFailingDisk fails the n-th write, sync, create or rename, for every n
// until none fails any more, once and for ever after, and with a full disk.
// Whatever fails: the process goes on, what was acknowledged is there, and the
// journal says no until it is opened again. SIMD_TEST_LONG=1 fails every one of
// some 400, and else one of thirty or forty fails, in the short form a third of these.
func TestFailingDisk(t *testing.T) {
	w := Workload{Seed: 23, MaxWave: 60, Size: 2000}
	const waves = 40
	for _, mode := range []struct {
		name  string
		err   error
		every bool
		step  int32
	}{
		{"once", errors.New("injected"), false, 29},
		{"for-ever", errors.New("injected"), true, 37},
		{"disk-full", syscall.ENOSPC, true, 41},
	} {
		t.Run(mode.name, func(t *testing.T) {
			if !errors.Is(mode.err, syscall.ENOSPC) && testing.Short() {
				t.Skip("a full disk fails for ever, once or more often")
			}
			if long() {
				mode.step = 1
			} else if testing.Short() {
				mode.step *= 3
			}
			failures := 0
			for n := int32(0); ; n += mode.step {
				if !failAt(t, w, waves, n, mode.every, mode.err) {
					break
				}
				failures++
			}
			t.Logf("%d places failed", failures)
			if failures < 2 { // a busy machine writes more at once, and so less often
				t.Fatalf("only %d failures were injected", failures)
			}
		})
	}
}

// failAt runs the workload with a disk that fails at its n-th change.
func failAt(t *testing.T, w Workload, waves uint64, n int32, every bool, cause error) bool {
	t.Helper()
	var armed atomic.Bool
	var count, hit atomic.Int32
	base := vfs.NewMem()
	fsys := errorfs.Wrap(base, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !armed.Load() || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		at := count.Add(1) - 1
		if at == n || every && at > n {
			hit.Add(1)
			return cause
		}
		return nil
	}))
	s, j := openJournal(t, fsys, persistence.Options{BatchFacts: 16, MemTableSize: 256 << 10})
	armed.Store(true)
	var acked atomic.Uint64
	err := w.Write(j, persistence.Wave{}, waves, func(w persistence.Wave, err error) {
		if err == nil {
			acked.Store(w.Number)
		}
	})
	if err == nil {
		_, err = j.Sync(context.Background())
	}
	armed.Store(false)
	failed := hit.Load() > 0
	// A failure of a background write may come after the last answer.
	if err != nil && !failed {
		t.Fatalf("change %d: %v without a failure", n, err)
	}
	if err != nil {
		if !errors.Is(err, cause) {
			t.Fatalf("change %d: the error does not hold its cause: %v", n, err)
		}
		if _, again := j.Append(1, "a", "k", nil); again == nil {
			t.Fatalf("change %d: the journal went on after %v", n, err)
		}
	}
	_ = s.Close() // reports the failure once more
	survives(t, base, w, acked.Load(), waves+2)
	return failed
}
