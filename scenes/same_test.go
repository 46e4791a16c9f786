package scenes_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/persistence/pebbledb"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// The town must do what it is for: a test of sameness over a scene in which
// nothing happens would prove nothing.
func TestTownIsBusy(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	r := s.Run(t, scenestest.Settings{})
	tally := r.State.Tally
	for name, n := range map[string]int64{
		"deliberations": tally.Deliberations, "failed": tally.Failed, "reflections": tally.Reflections, "said": tally.Said,
		"failed calls": tally.CallsFailed, "failed model calls": tally.ModelFailed, "events": tally.EventsRouted,
		"deliveries": tally.EventsDelivered, "commits": tally.Commits, "conflicts": tally.Conflicts, "entries": tally.Entries,
		"refused events": int64(len(tally.Refused)),
	} {
		if n < 2 {
			t.Errorf("%s: %d", name, n)
		}
	}
	if !has(t, s, "scene.effects_deferred") {
		t.Error("no latency")
	}
}

// Promises 1 and 2, architecture §6: the same project and seed give the same digest, whatever the
// number of workers, the batches, the snapshots and the durability.
func TestSameDigest(t *testing.T) {
	p := scenestest.Town(t)
	want := scenestest.New(t, p, "").Run(t, scenestest.Settings{})
	other := scenestest.New(t, p, "").Run(t, scenestest.Settings{Seed: 99})
	if other.Digest() == want.Digest() {
		t.Error("another seed has the same digest")
	}
	all, batches, snapshots := []int{7}, []int{1}, []int64{1, 60}
	if scenestest.Long() {
		all, batches, snapshots = []int{1, 2, 7}, []int{1, 4096}, []int64{1, 60, -1}
	}
	for _, workers := range all {
		for _, batch := range batches {
			for _, snapshots := range snapshots {
				set := scenestest.Settings{Workers: workers, BatchFacts: batch, Snapshots: snapshots}
				t.Run(fmt.Sprintf("workers=%d/batch=%d/snapshots=%d", workers, batch, snapshots), func(t *testing.T) {
					s := scenestest.New(t, p, "")
					mustEqual(t, s, set, want)
				})
			}
		}
	}
	t.Run("memory", func(t *testing.T) {
		r := scenestest.New(t, p, "").Run(t, scenestest.Settings{Durability: persistence.Memory})
		if r.Digest() != want.Digest() {
			t.Errorf("digest %s, want %s", r.Digest(), want.Digest())
		}
	})
}

// mustEqual runs a scene to its end and holds it to the digest of another run,
// and its snapshots to its facts.
func mustEqual(t testing.TB, s *scenestest.Scene, set scenestest.Settings, want scenestest.Result) {
	t.Helper()
	r := s.Run(t, set)
	if r.Err != nil || r.Digest() != want.Digest() {
		t.Errorf("%v\nwant %s", r, want.Digest())
	}
	if r.DeadLetters > 0 {
		t.Errorf("%d dead letters", r.DeadLetters)
	}
	mustRestore(t, s, set)
}

// GOMAXPROCS is the machine's business, not the scene's.
func TestSameDigestOnOtherMachines(t *testing.T) {
	p := scenestest.Town(t)
	want := scenestest.New(t, p, "").Run(t, scenestest.Settings{})
	for _, n := range []int{1, 2, 4} {
		before := runtime.GOMAXPROCS(n)
		mustEqual(t, scenestest.New(t, p, ""), scenestest.Settings{Snapshots: 100}, want)
		runtime.GOMAXPROCS(before)
	}
}

// A run that is interrupted again and again, at any wave, ends like one that
// was not.
func TestInterruptedAndResumed(t *testing.T) {
	p := scenestest.Town(t)
	whole := scenestest.New(t, p, "")
	want := whole.Run(t, scenestest.Settings{})
	seed := uint64(time.Now().UnixNano())
	t.Logf("drawn from seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	runs := 2
	if scenestest.Long() {
		runs = 12
	}
	for range runs {
		s := scenestest.New(t, p, "")
		set := scenestest.Settings{Workers: 1 + rng.IntN(4), BatchFacts: 1 + rng.IntN(100), Snapshots: int64(1 + rng.IntN(300))}
		var story []string
		for at := uint64(0); ; {
			at += uint64(1 + rng.IntN(9))
			set.InterruptAt = at
			r := s.Run(t, set)
			story = append(story, fmt.Sprintf("%d/%d", at, r.Wave.Number))
			if r.Err != nil || r.DeadLetters > 0 {
				t.Fatal(r, r.DeadLetters, story)
			}
			if mustRestore(t, s, set); t.Failed() {
				t.Fatalf("interrupts (asked/at): %v", story)
			}
			if r.Final {
				if r.Digest() != want.Digest() {
					t.Fatalf("digest %s, want %s; interrupts (asked/at): %v, settings %+v\n%s", r.Digest(), want.Digest(), story, set, difference(t, s, whole))
				}
				break
			}
			at = max(at, r.Wave.Number)
		}
	}
}

// Random small projects: the same story under all settings, interrupted, and killed
// at moments of the disk. Rapid prints the project, the settings and how to repeat them.
func TestSameDigestOfRandomProjects(t *testing.T) {
	dirs, midway := t, 0
	rapid.Check(t, func(t *rapid.T) {
		text := scenestest.RandomProject(t, 1, 2, 3, 4)
		p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		want := scenestest.New(dirs, p, "").Run(dirs, scenestest.Settings{Workers: 1})
		set := scenestest.Settings{
			Passivate: passivated(t),
			Workers:   rapid.SampledFrom([]int{1, 2, 4, 7, 32}).Draw(t, "workers"), BatchFacts: rapid.IntRange(1, 50).Draw(t, "batch"),
			Snapshots: int64(rapid.IntRange(1, 40).Draw(t, "snapshots")), InterruptAt: uint64(rapid.IntRange(0, 6).Draw(t, "interrupt")),
		}
		kills := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 2).Draw(t, "killed after operations")
		s := scenestest.New(dirs, p, "")
		if set.InterruptAt > 0 {
			s.Run(dirs, set)
			set.InterruptAt = 0
		}
		for _, after := range kills {
			s = killed(dirs, s, set, after)
			s.Journal(dirs, func(j *persistence.Journal) {
				if j.Durable().Number < want.Wave.Number {
					midway++
				}
			})
		}
		if r, err := s.Start(set); err == nil { // else the end came before the interrupt
			r.Close()
		}
		var got persistence.Wave
		s.Journal(dirs, func(j *persistence.Journal) { got = j.Durable() })
		if got.Digest != want.Wave.Digest {
			t.Fatalf("digest %s, want %s; %+v, kills %v\n%s", got.Digest, want.Digest(), set, kills, text)
		}
		mustRestore(dirs, s, set)
		mustFoldAt(dirs, s, set, rapid.Uint64Range(0, got.Number).Draw(t, "cut"))
		mustVerify(dirs, s, set)
		if dirs.Failed() {
			t.Fatalf("%+v, kills %v\n%s", set, kills, text)
		}
	})
	if t.Logf("%d kills before the end", midway); midway == 0 && scenestest.Long() {
		t.Error("no kill came before the end: nothing is tested")
	}
}

// killed is the scene with what is left of its disk where a kill ends it: so many
// operations after the first wave of that life was durable, or at its end.
func killed(t *testing.T, s *scenestest.Scene, set scenestest.Settings, after int, change ...func(*scenes.Options)) *scenestest.Scene {
	t.Helper()
	return killedAt(t, s, set, after, func() {}, change...)
}

// killedAt also calls at where the kill is.
func killedAt(t *testing.T, s *scenestest.Scene, set scenestest.Settings, after int, at func(), change ...func(*scenes.Options)) *scenestest.Scene {
	t.Helper()
	kill := func(l *losses) pebbledb.FS {
		at()
		return l.disk.Kill()
	}
	disk, copied := persistencetest.NewCrashDisk(), s.Fresh(t)
	if err := persistencetest.CopyDisk(persistencetest.OSDisk(), s.Dir, disk, "run"); err != nil {
		t.Fatal(err)
	}
	l := &losses{disk: disk, rng: rand.New(rand.NewPCG(0, 0)), copy: kill, most: 1, next: after}
	set.FS, set.Kept = persistencetest.FailingDisk(disk, l.look), l.kept
	running := *s
	running.Dir = "run"
	r, err := running.StartWith(set, change...)
	if err != nil {
		return s // it has ended
	}
	if r := r.Close(); r.Err != nil {
		t.Error(r)
	}
	left := append(l.left, loss{disk.Kill(), l.acked})[0]
	if err := persistencetest.CopyDisk(left.disk, "run", persistencetest.OSDisk(), copied.Dir); err != nil {
		t.Fatal(err)
	}
	copied.Journal(t, func(j *persistence.Journal) {
		if n := j.Durable().Number; n < left.acked {
			t.Errorf("wave %d was acknowledged, and %d are left of a kill", left.acked, n)
		}
	})
	return copied
}

// Promise 2 on the realtime clock, where order is what happened: whatever a random
// project does, on however many workers, interrupted, killed or not, a fold comes to
// what the scene kept and counted, the machines decide it again, and turns are in
// their order. No inbox overflows: where an event meets a deliberation that is about
// to be merged, a fold cannot tell for which of them there was room.
func TestRandomProjectsInRealtime(t *testing.T) {
	dirs, midway := t, 0
	rapid.Check(t, func(t *rapid.T) {
		text := scenestest.RandomProject(t, 64)
		p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(text))), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		set := scenestest.Settings{
			Clock: agenda.Realtime, Passivate: passivated(t), Workers: rapid.IntRange(1, 4).Draw(t, "workers"), BatchFacts: rapid.IntRange(1, 50).Draw(t, "batch"),
			Snapshots: int64(rapid.IntRange(1, 40).Draw(t, "snapshots")), Stop: &agenda.Stop{After: protocol.Duration(6 * time.Second), Deliberations: 300},
		}
		interrupts := rapid.SliceOfN(rapid.IntRange(0, 4000), 0, 3).Draw(t, "interrupted after milliseconds")
		kills := rapid.SliceOfN(rapid.IntRange(0, 90), 0, 2).Draw(t, "killed before, after operations")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 3000), len(interrupts)+1, len(interrupts)+1).Draw(t, "paused after milliseconds")
		fails := rapid.MapOfN(rapid.SampledFrom([]string{"a_1", "a_2", "a_3", "$world", "$events"}), rapid.Int64Range(1, 30), 0, 3).Draw(t, "fails at its envelope")
		s := scenestest.New(dirs, p, "")
		outer := dirs
		synctest.Test(dirs, func(dirs *testing.T) {
			for _, after := range kills {
				s = killed(outer, s, set, after, scenes.FailAt(fails))
				if s.Fold(dirs, set).Agenda.Ended == "" {
					midway++
				}
				mustRestore(dirs, s, set)
			}
			for i, ms := range append(interrupts, -1) {
				r, err := s.StartWith(set, scenes.FailAt(fails))
				if err != nil {
					break // it has ended
				}
				if pause := time.Duration(pauses[i]) * time.Millisecond; pause < 2*time.Second {
					defer time.AfterFunc(pause, r.Pause).Stop()
					defer time.AfterFunc(pause+time.Second, r.Resume).Stop()
				}
				if ms >= 0 {
					defer time.AfterFunc(time.Duration(ms)*time.Millisecond, r.Interrupt).Stop()
				}
				res := r.Close()
				if res.Err != nil {
					dirs.Error(res.Err)
				}
				if got, want := fmt.Sprintf("%+v", res.State.Tally), fmt.Sprintf("%+v", s.Fold(dirs, set).Tally); got != want {
					dirs.Errorf("the run counts\n%s\nits facts are\n%s", got, want)
				}
				mustRestore(dirs, s, set)
			}
		})
		var last uint64
		s.Journal(dirs, func(j *persistence.Journal) { last = j.Durable().Number })
		mustFoldAt(dirs, s, set, rapid.Uint64Range(0, last).Draw(t, "cut"))
		mustVerify(dirs, s, set)
		mustCountTurns(dirs, s)
		if dirs.Failed() {
			t.Fatalf("%+v\n%s", set, text)
		}
	})
	if t.Logf("%d kills before the end", midway); midway == 0 && scenestest.Long() {
		t.Error("no kill came before the end: nothing is tested")
	}
}
