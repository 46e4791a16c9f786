package rundir_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/budget"
	"tavernsim/protocol"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
)

// withEffects makes a run in whose log of effects a request waits for its answer.
func withEffects(t *testing.T) (dir string) {
	t.Helper()
	dir, _ = ended(t)
	run, err := rundir.OpenForWriting(dir)
	if err != nil {
		t.Fatal(err)
	}
	journal, err := run.Store.Journal(outside.JournalID(run.Manifest.Scenes[0]))
	if err != nil {
		t.Fatal(err)
	}
	log, err := outside.Open(journal, outside.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := &outside.Effect{Agent: "cook_1", Turn: 1000, Request: 1, Kind: "model", To: "fake", Question: outside.Hash([]byte("?"))}
	kept := make(chan error, 1)
	flight := log.Begin(e, func(err error) { kept <- err })
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
	flight.Fail(errors.New("stopped"))
	log.Close()
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// journals lists all journals of a run.
func journals(t *testing.T, dir string) []string {
	t.Helper()
	run, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	ids, err := run.Store.Scenes()
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func hasEffects(ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { _, ok := outside.SceneOf(id); return ok })
}

// A fork asks for itself: what the run had asked of the outside is not the
// fork's, and stays the run's.
func TestForkLosesEffects(t *testing.T) {
	dir, out := withEffects(t), filepath.Join(t.TempDir(), "fork")
	if !hasEffects(journals(t, dir)) {
		t.Fatal("the run has no effects")
	}
	if _, err := rundir.Fork(t.Context(), dir, out, rundir.ForkOptions{At: "wave:3"}); err != nil {
		t.Fatal(err)
	}
	if ids := journals(t, out); hasEffects(ids) || len(ids) != 1 {
		t.Errorf("the fork has the journals %q", ids)
	}
	if !hasEffects(journals(t, dir)) {
		t.Error("the run lost its effects")
	}
}

// A fork of one scene has nothing of the others.
func TestForkOfOneScene(t *testing.T) {
	dir, out := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "fork")
	want := run(t, loadTown(t), runner.Options{Dir: dir, Scenes: []string{"day", "night"}, Ticks: 20, Budget: &budget.Budget{Tokens: 1 << 40}})
	if m, err := rundir.Fork(t.Context(), dir, out, rundir.ForkOptions{At: "wave:3", Scene: "night"}); err != nil || m.Budget.Tokens != 1<<39 || m.Sharers != 2 {
		t.Fatalf("%+v, %v", m, err) // the scene keeps its share
	}
	if m, err := rundir.Fork(t.Context(), dir, filepath.Join(t.TempDir(), "both"), rundir.ForkOptions{At: "wave:3"}); err != nil || m.Budget.Tokens != 1<<40 || m.Sharers != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	if ids := journals(t, out); !slices.Equal(ids, []string{"night"}) {
		t.Errorf("the fork of the night has the journals %q", ids)
	}
	r, err := runner.Resume(out, runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := wait(t, r).Digests(); !strings.Contains(want.Digests(), got) {
		t.Errorf("digest %s, want one of %s", got, want.Digests())
	}
}

// rundir.Replay and the checks take the log of effects for what it is, and not for a
// scene.
func TestEffectsAreNoScene(t *testing.T) {
	dir := withEffects(t)
	out, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{})
	if err != nil || len(out.Scenes) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	d, err := rundir.Examine(t.Context(), dir, nil)
	if c := find(d, "effects"); err != nil || !d.Healthy || c.Status != rundir.CheckOK || !strings.HasPrefix(c.Text, "1 facts") {
		t.Errorf("%+v, %v", d, err)
	}
	run, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if ids, err := run.Scenes(""); err != nil || hasEffects(ids) {
		t.Error(ids, err)
	}
	if _, err := run.Scenes(outside.JournalID("day")); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
}

// A repaired copy keeps what was asked: what must not be asked twice is not.
func TestRepairKeepsEffects(t *testing.T) {
	dir, out := withEffects(t), filepath.Join(t.TempDir(), "mended")
	d, err := rundir.Repair(t.Context(), dir, out, nil)
	if err != nil || !d.Repaired.Healthy {
		t.Fatalf("%+v, %v", d, err)
	}
	if c := find(d.Repaired, "effects"); !hasEffects(journals(t, out)) || c.Status != rundir.CheckOK || !strings.HasPrefix(c.Text, "1 facts") {
		t.Errorf("%q, %+v", journals(t, out), c)
	}
}
