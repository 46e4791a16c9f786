package runner

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/scenes/run/rundir"
)

// Runs of older programs are forked and go on, with ids of events as they were there: their future is the
// one that they had.
func TestRecordedRunsGoOn(t *testing.T) {
	for archive, names := range map[string]string{"v0": "debounce expiry throttle interrupt acknowledged", "named": "debounce expiry throttle interrupt acknowledged"} {
		dir := t.TempDir()
		r, err := zip.OpenReader(filepath.Join("../../testdata/histories/good", archive+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, r); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if testing.Short() {
			names = "interrupt"
		}
		for name := range strings.FieldsSeq(names) {
			old, fork := filepath.Join(dir, name), filepath.Join(dir, name+"_fork")
			want, err := rundir.Replay(t.Context(), old, rundir.ReplayOptions{Verify: true})
			if err != nil {
				t.Fatal(archive, name, err)
			}
			if _, err := rundir.Fork(t.Context(), old, fork, rundir.ForkOptions{At: "wave:3"}); err != nil {
				t.Fatal(archive, name, err)
			}
			r, err := Resume(fork, Options{})
			if err != nil {
				t.Fatal(archive, name, err)
			}
			if got := wait(t, r); got.Digest != want.Scenes[0].Digest {
				t.Errorf("%s %s: digest %s, want %s", archive, name, got.Digest, want.Scenes[0].Digest)
			}
			if got, err := rundir.Replay(t.Context(), fork, rundir.ReplayOptions{Verify: true}); err != nil || got.Scenes[0].Differs() {
				t.Errorf("%s %s: %+v %v", archive, name, got, err)
			}
		}
	}
}
