package scenes_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tavernsim/persistence"
	"tavernsim/persistence/pebbledb"
	"tavernsim/persistence/persistencetest"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// undisturbed is a run of the town that nobody touches: its digests by wave, the
// beginning's first, and the state at its end.
type undisturbed struct {
	scene   *scenestest.Scene
	digests []string
	hash    string
}

func undisturbedTown(t *testing.T) undisturbed {
	t.Helper()
	u := undisturbed{scene: scenestest.New(t, scenestest.Town(t), "")}
	u.scene.Run(t, scenestest.Settings{})
	u.digests = digestsOf(t, u.scene)
	u.hash = u.scene.FoldHash(t, scenestest.Settings{})
	return u
}

// digestsOf checks every fact of a scene's journal. Waves that were dropped have
// no digest.
func digestsOf(t *testing.T, s *scenestest.Scene) (digests []string) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		begin := j.Begin()
		digests = append(make([]string, begin.Number), begin.Digest.String())
		report, err := j.Verify(t.Context(), func(w persistence.Wave) { digests = append(digests, w.Digest.String()) })
		if err = errors.Join(err, report.Damage, errors.Join(report.Index...)); err != nil {
			t.Fatal(err)
		}
	})
	return digests
}

// goesOn checks what was left on a disk, and that the scene goes on from there
// to the end of the undisturbed run: nothing that was acknowledged is lost,
// nothing is there twice or missing.
func (u *undisturbed) goesOn(t *testing.T, disk pebbledb.FS, set scenestest.Settings, acked uint64) (left int) {
	t.Helper()
	copied := u.scene.Fresh(t)
	if err := persistencetest.CopyDisk(disk, "run", persistencetest.OSDisk(), copied.Dir); err != nil {
		t.Fatal(err)
	}
	found := digestsOf(t, copied)
	left = len(found) - 1
	if left < int(acked) {
		t.Fatalf("%d waves are left; %d were acknowledged", left, acked)
	}
	for n, digest := range found {
		if digest != "" && digest != u.digests[n] {
			t.Fatalf("wave %d has the digest %s, %s in the undisturbed run", n, digest, u.digests[n])
		}
	}
	set.FS, set.Kept = nil, nil
	if left == len(u.digests)-1 {
		return left // it had ended
	}
	if r := copied.Run(t, set); r.Err != nil || r.Digest() != u.digests[len(u.digests)-1] {
		t.Fatalf("from wave %d it went on to %v; want digest %s", left, r, u.digests[len(u.digests)-1])
	}
	if hash := copied.FoldHash(t, set); hash != u.hash {
		t.Fatalf("from wave %d: folds to %s, want %s", left, hash, u.hash)
	}
	return left
}

func crashSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if env := os.Getenv("SIMD_TEST_SEED"); env != "" {
		if _, err := fmt.Sscan(env, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat with SIMD_TEST_SEED=%d", seed)
	return seed
}

// loss is what a crash left of a disk, and what was acknowledged before.
type loss struct {
	disk  pebbledb.FS
	acked uint64
}

// losses takes copies of a disk at random operations of a whole scene.
type losses struct {
	disk persistencetest.CrashDisk
	rng  *rand.Rand
	copy func(*losses) pebbledb.FS
	most int

	mu    sync.Mutex // guards what follows
	acked uint64
	left  []loss
	next  int // operations until the next copy
}

// between is the most operations from one copy to the next: a scene makes forty or
// more, the fewer the busier the machine is.
const between = 10

func (l *losses) look(op persistencetest.DiskOp) error {
	if !op.Write && !op.Sync && !op.Create {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked == 0 || len(l.left) >= l.most {
		return nil
	}
	if l.next--; l.next < 0 {
		l.next = l.rng.IntN(between)
		l.left = append(l.left, loss{l.copy(l), l.acked})
	}
	return nil
}

func (l *losses) kept(w persistence.Wave) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = w.Number
}

// TestCrashOfAWholeScene takes the disk of a running scene at random operations
// as a kill or a loss of power leaves it, with torn writes, while snapshots are
// written and old facts dropped: whatever is left goes on to the same end.
func TestCrashOfAWholeScene(t *testing.T) {
	if testing.Short() {
		t.Skip("it folds what many crashes left; TestDiskFailsUnderAWholeScene crosses the same code")
	}
	u, seed := undisturbedTown(t), crashSeed(t)
	most := 5
	if scenestest.Long() {
		most = 60
	}
	kill := func(l *losses) pebbledb.FS { return l.disk.Kill() }
	power := func(percent int) func(*losses) pebbledb.FS {
		return func(l *losses) pebbledb.FS { return l.disk.LosePower(percent, l.rng) }
	}
	for _, c := range []struct {
		name string
		set  scenestest.Settings
		copy func(*losses) pebbledb.FS
	}{
		{"kill", scenestest.Settings{BatchFacts: 7, Snapshots: 100}, kill},
		{"kill, keep", scenestest.Settings{BatchFacts: 7, Snapshots: 30, Keep: persistence.Keep{Waves: 3}}, kill},
		{"power, nothing", scenestest.Settings{Durability: persistence.Power, Snapshots: 100}, power(0)},
		{"power, torn", scenestest.Settings{Durability: persistence.Power, Snapshots: 100, BatchFacts: 20}, power(50)},
		{"power, keep", scenestest.Settings{Durability: persistence.Power, Snapshots: 30, Keep: persistence.Keep{Waves: 3}}, power(30)},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &losses{disk: persistencetest.NewCrashDisk(), rng: rand.New(rand.NewPCG(seed, 7)), copy: c.copy, most: most}
			l.next = l.rng.IntN(between)
			s := u.scene.Fresh(t)
			s.Dir = "run"
			set := c.set
			set.FS, set.Kept = persistencetest.FailingDisk(l.disk, l.look), l.kept
			if r := s.Run(t, set); r.Err != nil || r.Digest() != u.digests[len(u.digests)-1] {
				t.Fatal(r)
			}
			middle := 0
			for _, lost := range l.left {
				if left := u.goesOn(t, lost.disk, c.set, lost.acked); left < len(u.digests)-1 {
					middle++
				}
			}
			t.Logf("%d crashes, %d of them before the end", len(l.left), middle)
			if middle < 2 {
				t.Errorf("%d crashes before the end: nothing is tested", middle)
			}
		})
	}
}

// TestDiskFailsUnderAWholeScene fails one write, sync or create of a whole
// scene, once or for ever: the scene says so and stops, and goes on from what is
// on the disk, when the disk works again, to the same end.
func TestDiskFailsUnderAWholeScene(t *testing.T) {
	u, wider := undisturbedTown(t), 16
	if scenestest.Long() {
		wider = 1
	}
	isLog := func(op persistencetest.DiskOp) bool { return strings.HasSuffix(op.Path, ".log") }
	for _, level := range []persistence.Durability{persistence.Process, persistence.Power} {
		for name, fails := range map[string]struct {
			op    func(persistencetest.DiskOp) bool
			errno syscall.Errno
			once  bool
			step  int // operations from one run to the next
		}{
			"a sync of the log fails":  {func(op persistencetest.DiskOp) bool { return op.Sync && isLog(op) }, syscall.EIO, true, 1},
			"a write of the log fails": {func(op persistencetest.DiskOp) bool { return op.Write && isLog(op) }, syscall.EIO, true, 20},
			"full":                     {func(op persistencetest.DiskOp) bool { return op.Write || op.Create }, syscall.ENOSPC, false, 40},
			"full while a snapshot is written": {func(op persistencetest.DiskOp) bool {
				return (op.Write || op.Create) && strings.Contains(op.Path, "snapshots")
			}, syscall.ENOSPC, false, 3},
		} {
			t.Run(fmt.Sprintf("%s at %s", name, level), func(t *testing.T) {
				failed, stops := 0, !strings.Contains(name, "snapshot") && (level == persistence.Power || !strings.Contains(name, "sync"))
				for at := 1; ; at += wider * fails.step {
					hit, err := u.fails(t, level, at, fails.op, fails.errno, fails.once)
					if !hit {
						break
					}
					if err != nil {
						failed++
					}
				}
				if (failed > 0) != stops { // a snapshot is an aid, and syncs of the log are not made at process
					t.Errorf("the scene was stopped %d times", failed)
				}
			})
		}
	}
}

// fails runs a scene on a disk whose operation number at fails.
func (u *undisturbed) fails(t *testing.T, level persistence.Durability, at int, op func(persistencetest.DiskOp) bool, errno syscall.Errno, once bool) (hit bool, err error) {
	t.Helper()
	disk := persistencetest.NewCrashDisk()
	l := &losses{disk: disk}
	n, opened := 0, false
	s := u.scene.Fresh(t)
	s.Dir = "run"
	set := scenestest.Settings{Durability: level, Snapshots: 60, BatchFacts: 20}
	running := set
	running.Kept = l.kept
	running.FS = persistencetest.FailingDisk(disk, func(o persistencetest.DiskOp) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if opened = opened || l.acked > 0; !opened || !op(o) { // before, it is the start that fails
			return nil
		}
		if n++; n < at || once && n > at {
			return nil
		}
		hit = true
		return errno
	})
	r := s.Run(t, running)
	if r.Err == nil && !r.Final {
		t.Fatalf("operation %d: %v", at, r)
	}
	if failure := (*scenes.DiskFailure)(nil); r.Err != nil && (!errors.As(r.Err, &failure) || !strings.Contains(r.Err.Error(), errno.Error())) {
		t.Fatalf("operation %d: %v", at, r.Err)
	}
	t.Logf("operation %d: hit %v, %d waves acknowledged, %v", at, hit, l.acked, r.Err)
	if hit {
		u.goesOn(t, disk.Kill(), set, l.acked)
	}
	return hit, r.Err
}
