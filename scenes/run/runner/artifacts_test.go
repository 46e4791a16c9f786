package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
	"tavernsim/tools"
)

func loadPainters(t *testing.T) (*project.Project, Options) {
	t.Helper()
	return scenestest.Painters(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Services: map[string]tools.Executor{"painter": tools.Func(scenestest.Painting)}}
}

func ids(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := artifacts.Of(dir).List()
	for _, f := range files {
		list = append(list, f.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Artifacts are there when facts name them; a fork has those of its facts; replay and
// verify need none, and say which are missing.
func TestArtifactsOfARun(t *testing.T) {
	p, opt := loadPainters(t)
	want := run(t, p, opt)
	all := ids(t, opt.Dir)
	if len(all) != 2*12 {
		t.Fatalf("%d artifacts", len(all))
	}
	verified := func(dir string, missing int) {
		t.Helper()
		r, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{Verify: true})
		if err != nil || r.Scenes[0].Differs() || len(r.Missing) != missing {
			t.Errorf("%+v %v", r, err)
		}
	}
	verified(opt.Dir, 0)
	fork := filepath.Join(t.TempDir(), "fork")
	if _, err := rundir.Fork(t.Context(), opt.Dir, fork, rundir.ForkOptions{At: "wave:5"}); err != nil {
		t.Fatal(err)
	}
	carried := ids(t, fork)
	if len(carried) == 0 || len(carried) > 2*5 || slices.ContainsFunc(carried, func(id string) bool { return !slices.Contains(all, id) }) {
		t.Errorf("%q of %q", carried, all)
	}
	r, err := Resume(fork, Options{Services: opt.Services})
	if err != nil {
		t.Fatal(err)
	}
	if got := wait(t, r); got.Digests() != want.Digests() || len(ids(t, fork)) != len(all) {
		t.Errorf("%s with %d artifacts, want %s", got.Digests(), len(ids(t, fork)), want.Digests())
	}

	if err := errors.Join(os.Remove(filepath.Join(opt.Dir, artifacts.Dir, all[3])), os.WriteFile(filepath.Join(opt.Dir, artifacts.Dir, all[4]), []byte("other"), 0o644)); err != nil {
		t.Fatal(err)
	}
	verified(opt.Dir, 1)
	d, err := rundir.Examine(t.Context(), opt.Dir, nil)
	if err != nil || d.Healthy {
		t.Error(d, err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if d, err = rundir.Repair(t.Context(), opt.Dir, copied, nil); err != nil || !d.Repaired.Healthy || len(ids(t, copied)) != len(all)-2 {
		t.Errorf("%+v %v: %d artifacts", d.Repaired, err, len(ids(t, copied)))
	}
	verified(copied, 2)
	if err := errors.Join(os.MkdirAll(filepath.Join(fork, rundir.FilesDir, "s"), 0o755), rundir.Remove(fork, false)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fork); !errors.Is(err, os.ErrNotExist) {
		t.Error("something is left of the run that was removed")
	}
}

// What no kept fact names is collected when a run begins, and when it ends.
func TestArtifactsAreCollected(t *testing.T) {
	p, opt := loadPainters(t)
	opt.Keep, opt.Snapshots, opt.BatchFacts = "waves:2", machines.SnapshotPolicy{Facts: 10}, 4
	run(t, p, opt)
	left := ids(t, opt.Dir)
	if len(left) == 0 || len(left) >= 2*12 {
		t.Errorf("%d artifacts are left", len(left))
	}
	if r, err := rundir.Replay(t.Context(), opt.Dir, rundir.ReplayOptions{}); err != nil || len(r.Missing) > 0 {
		t.Error(r, err)
	}
}

// A kill may leave files that no fact names, and files that are not whole.
func TestArtifactsThatAKillLeft(t *testing.T) {
	p, opt := loadPainters(t)
	opt.Ticks = 4
	folder := filepath.Join(opt.Dir, artifacts.Dir)
	opt.Services = map[string]tools.Executor{"painter": tools.Func(func(ctx context.Context, c *tools.Call) tools.Result {
		if c.Params["turn"] == int64(2) { // as an earlier process would have left them
			for _, name := range []string{".part-AB", "sha256-" + strings.Repeat("ab", 32)} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte("half"), 0o644); err != nil {
					return tools.Fail(protocol.KindInternal, err.Error())
				}
			}
		}
		return scenestest.Painting(ctx, c)
	})}
	run(t, p, opt)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2*4 {
		t.Errorf("%d files: %v", len(entries), err)
	}
}
