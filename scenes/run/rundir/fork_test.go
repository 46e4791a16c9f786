package rundir_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// A fork without changes, resumed, is the run it came from, wherever it was cut;
// the run itself stays as it was.
func TestForkWithoutChanges(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(loadTown(t), runner.Options{Dir: dir, Snapshots: machines.SnapshotPolicy{Facts: 100}})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	waves := whole.All()[0].Journal.Waves
	for _, wave := range []uint64{0, 1, 2, waves / 2, waves - 1} {
		out := filepath.Join(t.TempDir(), "fork")
		if _, err := rundir.Fork(t.Context(), dir, out, rundir.ForkOptions{At: fmt.Sprintf("wave:%d", wave)}); err != nil {
			t.Fatal(err)
		}
		f, err := runner.Resume(out, runner.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := f.Wait()
		if err != nil || sum.Digests() != whole.Digests() {
			t.Errorf("forked at wave %d: digest %s, want %s; %v", wave, sum.Digests(), whole.Digests(), err)
		}
		if got, err := rundir.Replay(context.Background(), out, rundir.ReplayOptions{Verify: true}); err != nil || got.Scenes[0].Differs() {
			t.Errorf("forked at wave %d: %+v, %v", wave, got, err)
		}
	}
	if got, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{}); err != nil || got.Scenes[0].Waves != waves {
		t.Errorf("the run was changed: %+v, %v", got, err)
	}
}

// A fork that is interrupted leaves nothing.
func TestForkIsInterrupted(t *testing.T) {
	dir, out := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "fork")
	r, err := runner.Start(loadTown(t), runner.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := rundir.Fork(ctx, dir, out, rundir.ForkOptions{At: "wave:1"}); protocol.KindOf(err) != protocol.KindCancelled {
		t.Error(err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the folder is there")
	}
}

// A fork begins with its changes, and everything before its cut is the run's.
func TestForkWithChanges(t *testing.T) {
	dir, out := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "fork")
	r, err := runner.Start(loadTown(t), runner.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(4711)
	m, err := rundir.Fork(t.Context(), dir, out, rundir.ForkOptions{At: "wave:5", Seed: &seed, Set: []string{`world.fork={"a":[1,2.5,"x"]}`}})
	if err != nil {
		t.Fatal(err)
	}
	cut := m.Fork.Scenes[m.Scenes[0]]
	run, err := rundir.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	made, journal, err := run.Scene(m.Scenes[0])
	if err != nil {
		t.Fatal(err)
	}
	state, err := history.FoldTo(made, journal, journal.Durable().Number, history.Options{NoSnapshots: true})
	if err != nil {
		t.Fatal(err)
	}
	if v := state.World().Value(); fmt.Sprint(v["fork"]) != "map[a:[1 2.5 x]]" {
		t.Error(v["fork"])
	}
	w, err := journal.Wave(5)
	if err != nil || w.Digest.String() != cut.Digest || journal.Durable().Number != 6 {
		t.Errorf("%+v, %+v, %v", w, cut, err)
	}
	var kinds []string
	err = journal.Waves(6, func(persistence.Wave) error { kinds = append(kinds, "wave"); return nil })
	if err != nil || len(kinds) != 1 || whole.Digests() == cut.Digest {
		t.Error(kinds, err)
	}
}
