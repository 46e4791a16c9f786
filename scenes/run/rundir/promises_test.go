package rundir_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
)

// Promise 1: when the inputs cannot be copied there is no manifest, so the directory is
// no run.
func TestTheManifestComesLast(t *testing.T) {
	long := "workflows/" + strings.Repeat("x", 300) + ".yaml" // more than a file system takes
	p, err := rundir.LoadFS(fstest.MapFS{
		"project.json":  {Data: []byte(`{"id": "p"}`)},
		"scenes/s.yaml": {Data: []byte("id: s\nname: S\nschema_version: \"1.0\"\nagent_instances: []\nsimulation: {stop: {ticks: 1}}\n")},
		long:            {Data: []byte("id: w\nnodes: []\n")},
	}, project.Options{Name: "p"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if _, _, err := rundir.Make(dir, "", &rundir.Manifest{Run: "run", ProjectHash: p.Hash()}, p, nil); err == nil {
		t.Fatal("a name of 300 bytes was written: nothing is tested")
	}
	if _, err := rundir.ReadManifest(dir); protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("the manifest of a run without its inputs: %v", err)
	}
}

// Of several starts at once in one directory one makes the run, and the others take nothing away from it.
func TestStartsAtOnce(t *testing.T) {
	p := loadTown(t)
	for range 20 {
		dir := filepath.Join(t.TempDir(), "run")
		var made atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				switch _, _, err := rundir.Make(dir, "", &rundir.Manifest{Run: "run", ProjectHash: p.Hash()}, p, nil); {
				case err == nil:
					made.Add(1)
				case protocol.KindOf(err) != protocol.KindConflict:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err != nil || made.Load() != 1 {
			t.Fatalf("%d runs were made: %v", made.Load(), err)
		}
	}
}

// Two runs without a directory of their own that begin in the same millisecond have two names.
func TestStartsInOneMillisecond(t *testing.T) {
	t.Chdir(t.TempDir())
	p, names := loadTown(t), map[string]bool{}
	for range 3 {
		m := &rundir.Manifest{Run: "run", ProjectHash: p.Hash()}
		dir, _, err := rundir.Make("", "", m, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(dir) != m.Run || names[m.Run] {
			t.Errorf("%s is called %s", dir, m.Run)
		}
		names[m.Run] = true
	}
}

// Promises 2 and 3: whoever reads finds the inputs of the start, and leaves every file as
// it was.
func TestReadersWriteNothing(t *testing.T) {
	dir, _ := ended(t)
	began, before := loadTown(t), contents(t, dir)
	for name, read := range map[string]func() error{
		"open": func() error {
			o, err := rundir.Open(dir)
			if err != nil {
				return err
			}
			for i, f := range o.Project.Files() {
				if want := began.Files()[i]; f.Path != want.Path || f.SHA256 != want.SHA256 {
					t.Errorf("input %s %s, at the start %s %s", f.Path, f.SHA256, want.Path, want.SHA256)
				}
			}
			return o.Close()
		},
		"replay": func() error {
			_, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{Verify: true})
			return err
		},
		"examine": func() error { _, err := rundir.Examine(context.Background(), dir, nil); return err },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		after := contents(t, dir)
		for file, text := range before {
			if after[file] != text {
				t.Errorf("%s changed %s", name, file)
			}
		}
		if len(after) != len(before) {
			t.Errorf("%s: %d files, before %d", name, len(after), len(before))
		}
	}
}

// contents are the files of a directory with their bytes.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
