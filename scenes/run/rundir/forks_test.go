package rundir_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/control"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/inspect"
)

// A fork keeps the flags and the project of the run that it is of. Before the place where that run was forked itself they
// hold from its cut on, and its first fact says so. The last case has a second fork at each kind of place, the others at one of
// them in turn, and at each with SIMD_TEST_LONG=1.
func TestForksOfForks(t *testing.T) {
	town := filepath.Join(t.TempDir(), "town")
	run(t, loadTown(t), runner.Options{Dir: town, Ticks: 16})
	const own = 8 // where the first fork is
	places := []uint64{0, 3, own, own + 2}
	seed := func(n uint64) *uint64 { return &n }
	for i, c := range []struct {
		name   string
		first  rundir.ForkOptions
		kept   []string // by a fork before it or at it, without a change of its own
		second rundir.ForkOptions
		both   []string // with these changes
	}{
		{"seed", rundir.ForkOptions{Seed: seed(9)}, []string{"seed=9"}, rundir.ForkOptions{Seed: seed(1234)}, []string{"seed=1234"}},
		{"seed of the beginning", rundir.ForkOptions{Seed: seed(9)}, []string{"seed=9"}, rundir.ForkOptions{Seed: seed(begunWith(t, town))}, nil},
		{"ticks", rundir.ForkOptions{Set: []string{"simulation.stop.ticks=12"}}, []string{"simulation.stop.ticks=12"},
			rundir.ForkOptions{Set: []string{"simulation.stop.ticks=14"}}, []string{"simulation.stop.ticks=14"}},
		{"a limit that is over at the second", rundir.ForkOptions{Set: []string{"simulation.stop.ticks=1"}}, []string{"simulation.stop.ticks=1"},
			rundir.ForkOptions{Seed: seed(9)}, []string{"simulation.stop.ticks=1", "seed=9"}},
		{"until", rundir.ForkOptions{Set: []string{"simulation.stop.until=scene.waves >= 6"}}, []string{"simulation.stop.until=scene.waves >= 6"},
			rundir.ForkOptions{Set: []string{"simulation.stop.ticks=10"}}, []string{"simulation.stop.until=scene.waves >= 6", "simulation.stop.ticks=10"}},
		{"world", rundir.ForkOptions{Set: []string{"world.fork=1"}}, nil, rundir.ForkOptions{Set: []string{"world.fork=2"}}, []string{"world.fork=2"}},
		{"all", rundir.ForkOptions{Seed: seed(9), Set: []string{"world.fork=1", "simulation.stop.after=12s"}}, []string{"simulation.stop.after=12s", "seed=9"},
			rundir.ForkOptions{Set: []string{"world.fork=2"}}, []string{"simulation.stop.after=12s", "world.fork=2", "seed=9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ats := places
			if c.name != "all" && !scenestest.Long() {
				ats = places[1+i%2 : 2+i%2]
			}
			first := filepath.Join(t.TempDir(), "first")
			c.first.At = fmt.Sprintf("wave:%d", own)
			waves := forked(t, town, first, c.first)
			for _, at := range ats {
				if at >= waves {
					continue
				}
				second := filepath.Join(t.TempDir(), "second")
				forked(t, first, second, rundir.ForkOptions{At: fmt.Sprintf("wave:%d", at)})
				if got := changesAt(t, second, at); at > 0 && at <= own && !slices.Equal(got, c.kept) || (at == 0 || at > own) && got != nil {
					t.Errorf("at wave %d: %q", at, got)
				}
				if at == 0 {
					continue
				}
				c.second.At = fmt.Sprintf("wave:%d", at)
				changed := filepath.Join(t.TempDir(), "changed")
				forked(t, first, changed, c.second)
				if got := changesAt(t, changed, at); at <= own && !slices.Equal(got, c.both) {
					t.Errorf("at wave %d with changes: %q", at, got)
				}
				third := filepath.Join(t.TempDir(), "third") // before the place of the second
				forked(t, changed, third, rundir.ForkOptions{At: fmt.Sprintf("wave:%d", (at+1)/2)})
			}
		})
	}
}

// forked makes a fork, runs it to its end and verifies it. It returns its waves.
func forked(t *testing.T, dir, out string, opt rundir.ForkOptions) uint64 {
	t.Helper()
	if _, err := rundir.Fork(t.Context(), dir, out, opt); err != nil {
		t.Fatal(err)
	}
	r, err := runner.Resume(out, runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	got, err := rundir.Replay(context.Background(), out, rundir.ReplayOptions{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Scenes[0].Verify.Difference; d != nil {
		t.Errorf("%s at %s: %+v", out, opt.At, d)
	}
	return sum.All()[0].Journal.Waves
}

// changesAt are those that a fork's first fact tells of behind a wave; nil = there is no such fact, or it has none.
func changesAt(t *testing.T, dir string, wave uint64) (changes []string) {
	t.Helper()
	startsOf(t, dir, func(f protocol.Fact) {
		if x, ok := f.(*agenda.Forked); ok && x.Wave == wave {
			changes = x.Changes
		}
	})
	return changes
}

func begunWith(t *testing.T, dir string) (seed uint64) {
	startsOf(t, dir, func(f protocol.Fact) {
		if x, ok := f.(*agenda.Started); ok {
			seed = x.Seed
		}
	})
	return seed
}

// startsOf reads the starts and forks of a run with one scene.
func startsOf(t *testing.T, dir string, each func(protocol.Fact)) {
	t.Helper()
	run, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	journal, err := run.Journal(run.Manifest.Scenes[0])
	if err != nil {
		t.Fatal(err)
	}
	codec := machines.NewCodec()
	if err := journal.Scan(persistence.Query{Kinds: []string{agenda.FactStarted, agenda.FactForked}}, func(r protocol.Record) error {
		f, err := codec.ReadFact(r.Kind, r.Data)
		each(f)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// A history that has lost its beginning does not say which seed it began with: a fork before its own fork says which one holds.
func TestForkWithoutABeginning(t *testing.T) {
	town, first, second := filepath.Join(t.TempDir(), "town"), filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	const begin = 5
	withoutABeginning(t, town, begin, 16, 30)
	seed := uint64(9)
	if _, err := rundir.Fork(t.Context(), town, first, rundir.ForkOptions{At: fmt.Sprintf("wave:%d", begin+6), Seed: &seed}); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Fork(t.Context(), first, second, rundir.ForkOptions{At: fmt.Sprintf("wave:%d", begin+2)}); err != nil {
		t.Fatal(err)
	}
	if got := changesAt(t, second, begin+2); !slices.Equal(got, []string{"seed=9"}) {
		t.Errorf("the fork says %q", got)
	}
	for _, dir := range []string{first, second} { // what it has of its parent was decided with the seed of that
		r, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{Verify: true})
		if err != nil || r.Scenes[0].Differs() || r.Scenes[0].Verify.Waves < 3 {
			t.Errorf("%v: %+v, %+v", err, r, r.Scenes[0].Verify.Difference)
		}
	}
	of, err := rundir.Open(town)
	if err != nil {
		t.Fatal(err)
	}
	before := of.Manifest.Seeds[of.Manifest.Scenes[0]]
	of.Close()
	for wave, want := range map[uint64]uint64{begin: before, begin + 6: before, begin + 7: seed} {
		if got := seedAt(t, first, wave); got != want {
			t.Errorf("at wave %d of %d the fork has seed %d, want %d", wave, begin, got, want)
		}
	}
}

// withoutABeginning makes a run whose history begins behind a wave. Only its two stops leave snapshots, and the second drops what
// is older than the first: snapshots that are written while a scene runs come when the disk has time.
func withoutABeginning(t *testing.T, dir string, begin, stop, end int64) {
	t.Helper()
	stands := control.Command{Do: control.Pause}
	paused := []control.Command{stands}
	r, err := runner.Start(loadTown(t), runner.Options{Dir: dir, Keep: "waves:10", Snapshots: machines.SnapshotPolicy{Facts: -1}, Ticks: end, Control: paused})
	for _, waves := range []int64{begin - 1, stop - begin} {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []control.Command{stands, {Do: control.Step, Waves: waves}} { // the first wave of a scene does not wait
			if _, err := r.Scenes[0].Run.Control(t.Context(), &c); err != nil {
				t.Fatal(err)
			}
		}
		r.Interrupt()
		if s := wait(t, r); !s.Resumable {
			t.Fatalf("%+v", s)
		}
		r, err = runner.Resume(dir, runner.Options{Control: paused})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Scenes[0].Run.Control(t.Context(), &control.Command{Do: control.Resume}); err != nil {
		t.Fatal(err)
	}
	wait(t, r)
	o, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	j, err := o.Journal(o.Manifest.Scenes[0])
	if err != nil {
		t.Fatal(err)
	}
	if at := j.Begin().Number; at != uint64(begin) {
		t.Fatalf("the history begins behind wave %d, want %d", at, begin)
	}
}

// seedAt is the seed with which an agent of a run with one scene would decide after a wave.
func seedAt(t *testing.T, dir string, wave uint64) uint64 {
	t.Helper()
	run, err := inspect.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	s, err := run.Scene("")
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Journal().Wave(wave)
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Made()
	if err != nil {
		t.Fatal(err)
	}
	_, _, seed, err := s.AgentAt(made.Name(0), at)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}
