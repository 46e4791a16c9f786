package rundir_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
)

// ended makes a run that has ended, with snapshots, all of it in tables.
func ended(t *testing.T) (dir, digest string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(loadTown(t), runner.Options{Dir: dir, Snapshots: machines.SnapshotPolicy{Facts: 100}, BatchFacts: 10})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Resume(dir, runner.Options{}); protocol.KindOf(err) != protocol.KindConflict { // the database writes its log as tables
		t.Fatal(err)
	}
	return dir, sum.Digests()
}

// flip changes a byte in the middle of the newest file that matches.
func flip(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no file ", pattern, err)
	}
	file := files[len(files)-1]
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0xff
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func find(d *rundir.Diagnosis, name string) (c rundir.Check) {
	for _, c := range d.Checks {
		if c.Name == name {
			return c
		}
	}
	return rundir.Check{}
}

func TestDoctorOfAHealthyRun(t *testing.T) {
	dir, _ := ended(t)
	d, err := rundir.Examine(context.Background(), dir, nil)
	if err != nil || !d.Healthy {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, name := range []string{"manifest", "inputs", "lock", "store", "journal", "summary", "index", "snapshots", "space"} {
		if c := find(d, name); c.Status != rundir.CheckOK {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, err := rundir.Examine(context.Background(), t.TempDir(), nil); protocol.KindOf(err) != protocol.KindNotFound {
		t.Error(err)
	}
}

// What can be saved is saved, and the mended copy goes on to the end that the run
// had.
func TestDoctorRepairs(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		"journal":   func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "journal/db/*.sst")) },
		"snapshots": func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "journal/snapshots/*/*.snap")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, digest := ended(t)
			damage(t, dir)
			out := filepath.Join(t.TempDir(), "mended")
			d, err := rundir.Repair(context.Background(), dir, out, nil)
			if err != nil {
				t.Fatalf("%v\n%+v", err, d)
			}
			if c := find(d, name); d.Healthy || c.Status != rundir.CheckDamaged || c.Advice == "" {
				t.Fatalf("%+v", c)
			}
			if d.Repaired == nil || !d.Repaired.Healthy {
				t.Fatalf("%+v", d.Repaired)
			}
			if again, err := rundir.Examine(context.Background(), dir, nil); err != nil || again.Healthy {
				t.Error("the run itself was changed", err)
			}
			if name != "journal" {
				return
			}
			r, err := runner.Resume(out, runner.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if sum, err := r.Wait(); err != nil || sum.Digests() != digest {
				t.Errorf("the copy ended with %s, the run with %s; %v", sum.Digests(), digest, err)
			}
		})
	}
}

// The copy has what the run needs to go on beside its facts. A file that cannot be read is named, and
// the others are copied.
func TestRepairCarriesFiles(t *testing.T) {
	dir, _ := ended(t)
	for _, name := range []string{"answers.jsonl", "orders.json", "files/s/run/a.txt", "interviews.jsonl"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	flip(t, filepath.Join(dir, "journal/snapshots/*/*.snap"))
	repair := func() (string, *rundir.Diagnosis) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "mended")
		d, err := rundir.Repair(context.Background(), dir, out, nil)
		if err != nil || d.Repaired == nil {
			t.Fatalf("%+v, %v", d, err)
		}
		return out, d.Repaired
	}
	out, d := repair()
	for _, name := range []string{"answers.jsonl", "orders.json", "files/s/run/a.txt", "interviews.jsonl"} {
		if data, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(data) != name {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if !d.Healthy {
		t.Errorf("%+v", d)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "files/s/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, d = repair()
	if c := find(d, "files"); d.Healthy || c.Status != rundir.CheckDamaged || !strings.Contains(c.Text, "files/s/pipe") {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(filepath.Join(out, "interviews.jsonl")); err != nil {
		t.Error(err)
	}
}

// TestDoctorSavesWhatStandsBeforeADamagedLog: the log of a run that was not
// opened again holds all of it.
func TestDoctorSavesWhatStandsBeforeADamagedLog(t *testing.T) {
	for name, policy := range map[string]machines.SnapshotPolicy{"no snapshots": {Facts: -1}, "snapshots": {Facts: 100}} {
		for i, share := range []float64{0.002, 0.3, 0.9} {
			if !scenestest.Long() && (i == 1) != (policy.Facts < 0) {
				continue // in the middle without snapshots, at both ends with them
			}
			t.Run(fmt.Sprint(name, share), func(t *testing.T) { mendLog(t, policy, share) })
		}
	}
}

func mendLog(t *testing.T, policy machines.SnapshotPolicy, share float64) {
	dir := filepath.Join(t.TempDir(), "run")
	sum := run(t, loadTown(t), runner.Options{Dir: dir, Snapshots: policy, BatchFacts: 10, Ticks: 100})
	logs, err := filepath.Glob(filepath.Join(dir, "journal/db/*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	newest := logs[len(logs)-1]
	data, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	data[int(share*float64(len(data)))] ^= 0x10
	if err := os.WriteFile(newest, data, 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "mended")
	d, err := rundir.Repair(context.Background(), dir, out, nil)
	if err != nil {
		t.Fatalf("%v\n%+v", err, d)
	}
	if c := find(d, "log"); d.Healthy || c.Status != rundir.CheckDamaged || !strings.Contains(c.Text, "bytes are lost") || !strings.Contains(c.Advice, "can be saved") {
		t.Errorf("%+v", d.Checks)
	}
	if d.Repaired == nil || !d.Repaired.Healthy {
		t.Fatalf("%+v", d.Repaired)
	}
	if now, err := os.ReadFile(newest); err != nil || !bytes.Equal(now, data) {
		t.Error("the damaged log was changed", err)
	}
	if saved := find(d.Repaired, "journal").Good; share > 0.1 && saved == 0 || saved >= sum.Journal.Waves {
		t.Errorf("%d waves are saved of %d", saved, sum.Journal.Waves)
	}
	r, err := runner.Resume(out, runner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if again := wait(t, r); again.Digests() != sum.Digests() {
		t.Errorf("the copy ended with %s, the run with %s", again.Digests(), sum.Digests())
	}
}

// What cannot be mended is named, with what to do.
func TestDoctorNames(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"manifest": func(dir string) error { return os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{"), 0o644) },
		"inputs": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "inputs", "project.yaml"), []byte("id: other"), 0o644)
		},
		"store": func(dir string) error {
			names, err := filepath.Glob(filepath.Join(dir, "journal/db/MANIFEST-*"))
			if err != nil {
				return err
			}
			for _, name := range names {
				err = errors.Join(err, os.Truncate(name, 3))
			}
			return err
		},
		"summary": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "summary.json"), []byte(`{"scene": "day", "digest": "sha256:00", "journal": {"waves": 2}}`), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := ended(t)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			d, err := rundir.Examine(context.Background(), dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c := find(d, name); d.Healthy || c.Status != rundir.CheckDamaged || c.Advice == "" {
				t.Errorf("%+v", d.Checks)
			}
			if name == "summary" {
				return
			}
			out := filepath.Join(t.TempDir(), "mended")
			if _, err := rundir.Repair(context.Background(), dir, out, nil); protocol.KindOf(err) != protocol.KindCorrupt {
				t.Error(err)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("half a copy was made")
			}
		})
	}
}

// A log of one block that is damaged at its beginning looks torn by a kill. That the journal is lost
// is damage all the same: the summary knows its waves.
func TestDoctorNamesALostJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r, err := runner.Start(loadTown(t), runner.Options{Dir: dir, Ticks: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, rundir.JournalDir, "db", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	data[23] ^= 4
	if err := os.WriteFile(logs[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{}); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Errorf("replay: %v", err)
	}
	d, err := rundir.Examine(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := find(d, "journal"); d.Healthy || c.Status != rundir.CheckDamaged || c.Advice == "" {
		t.Errorf("%+v", d.Checks)
	}
}

func TestDoctorAndLocks(t *testing.T) {
	dir, _ := ended(t)
	store, err := persistence.Open(filepath.Join(dir, rundir.JournalDir), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := rundir.Examine(context.Background(), dir, nil)
	if c := find(d, "lock"); err != nil || !d.Healthy || c.Status != rundir.CheckNote || !strings.Contains(c.Text, "which runs it") {
		t.Errorf("%+v, %v", c, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.JournalDir, "db/OWNER"), []byte("process 4711 on elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err = rundir.Examine(context.Background(), dir, nil)
	if c := find(d, "lock"); err != nil || c.Status != rundir.CheckNote || !strings.Contains(c.Text, "process 4711 on elsewhere") {
		t.Errorf("%+v, %v", c, err)
	}
}
