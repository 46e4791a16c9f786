package rundir_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
)

// A manifest of which any bit is another one is refused by all that read it: a
// run would go on with another seed or to another end.
func TestFlippedBitInTheManifest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run(t, loadTown(t), runner.Options{Dir: dir, Ticks: 5})
	name := filepath.Join(dir, "manifest.json")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Helper()
		if m := (&rundir.Manifest{}); rundir.Unseal(data, m) == nil {
			t.Fatalf("%s: %+v\n%s", what, m, data)
		}
	}
	for i := range good {
		for bit := range 8 {
			if !scenestest.Long() && bit != i%8 {
				continue
			}
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			refused("a bit", bad)
		}
		refused("cut", good[:i])
	}
	refused("longer", append(bytes.Clone(good), '{'))
	if err := os.WriteFile(name, bytes.Replace(good, []byte(`"ticks": 5`), []byte(`"ticks": 7`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	_, resumed := runner.Resume(dir, runner.Options{})
	_, replayed := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{})
	_, forked := rundir.Fork(t.Context(), dir, filepath.Join(t.TempDir(), "fork"), rundir.ForkOptions{At: "wave:1"})
	for _, err := range []error{resumed, replayed, forked} {
		if protocol.KindOf(err) != protocol.KindCorrupt || !strings.Contains(err.Error(), "checksum") {
			t.Error(err)
		}
	}
}

// Manifests of older programs have no checksum.
func TestManifestWithoutChecksum(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run(t, loadTown(t), runner.Options{Dir: dir, Ticks: 5})
	want, err := rundir.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	old, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), old, 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := rundir.ReadManifest(dir); err != nil || m.Seeds["day"] != want.Seeds["day"] || m.Run != want.Run {
		t.Errorf("%+v, %v", m, err)
	}
}
