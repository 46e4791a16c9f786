package runner

import (
	"encoding/json"
	"path/filepath"
	"sync/atomic"
	"testing"

	"tavernsim/engine/control"
	"tavernsim/scenes"
)

// What people wanted of a run last counts when a process goes on with it after a failure, and not
// what its command line said.
func TestControlAfterARestart(t *testing.T) {
	broken := &atomic.Bool{}
	opt := Options{Dir: filepath.Join(t.TempDir(), "run"), FS: brokenDisk(broken), Scenes: []string{"day", "night"}, Ticks: 40, Control: []control.Command{{Do: control.Pause}}}
	r, err := Start(loadTown(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	give := func(scene *scenes.Run, c control.Command) {
		t.Helper()
		if _, err := scene.Control(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
	}
	day := r.Scenes[0].Run
	give(day, control.Command{Do: control.Pace, Pace: 1e8})
	give(day, control.Command{Do: control.Break, Kind: "never.said"})
	give(day, control.Command{Do: control.Break, When: "world.never"})
	give(day, control.Command{Do: control.Pause}) // it stands, and what it wrote is on the disk
	broken.Store(true)
	give(day, control.Command{Do: control.Resume})
	if _, err := r.Wait(); err == nil {
		t.Fatal("the disk did not fail")
	}
	opt = opt.Again()
	opt.Control, opt.FS = r.Controlled(), nil
	if got, want := inJSON(t, opt.Control), inJSON(t, []control.Command{
		{Do: control.Pace, Scene: "day", Pace: 1e8}, {Do: control.Break, Scene: "day", Kind: "never.said"}, {Do: control.Break, Scene: "day", When: "world.never"}, {Do: control.Pause, Scene: "night"},
	}); got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	if r, err = Resume(opt.Dir, opt); err != nil {
		t.Fatal(err)
	}
	give(r.Scenes[1].Run, control.Command{Do: control.Pause}) // it stands already
	give(r.Scenes[1].Run, control.Command{Do: control.Resume})
	if sum := wait(t, r); sum.Resumable {
		t.Errorf("%+v", sum)
	}
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
