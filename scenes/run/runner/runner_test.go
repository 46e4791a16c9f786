package runner

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/rundir"
)

// Promise 3: scenes side by side have the digests that they have alone.
func TestSideBySide(t *testing.T) {
	p := loadTown(t)
	var alone []string
	for _, id := range []string{"night", "day"} {
		s := run(t, p, Options{Scenes: []string{id}})
		alone = append(alone, s.Digest)
		if s.Scene != id || len(s.Scenes) != 0 {
			t.Errorf("summary of %s with %d scenes", s.Scene, len(s.Scenes))
		}
	}
	both := run(t, p, Options{Scenes: []string{"night", "day"}, Workers: 3, BatchFacts: 9, Snapshots: machines.SnapshotPolicy{Facts: 50}})
	if got, want := both.Digests(), strings.Join(alone, " "); got != want {
		t.Errorf("side by side %s, alone %s", got, want)
	}
	if both.SceneSummary != nil || len(both.Scenes) != 2 || both.Resumable {
		t.Errorf("%+v", both)
	}
}

// Replay asks no model and gives the digest of the run.
func TestReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := run(t, loadTown(t), Options{Dir: dir, Snapshots: machines.SnapshotPolicy{Facts: 100}})
	for range 2 { // it writes nothing
		r, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if one := r.Scenes[0]; one.Digest != s.Digest || one.Ended != s.StoppedBy || one.Waves != s.Waves || int64(one.Facts) != s.Journal.Facts || one.VirtualTime != s.VirtualTime {
			t.Errorf("replayed %+v\nran %+v", one, s)
		}
	}
}

// Promise 2: an interrupted run goes on from its directory alone, with its own
// options, and the summary is that of the whole.
func TestInterruptAndResume(t *testing.T) {
	p := loadTown(t)
	seed := uint64(77)
	opt := Options{Scenes: []string{"day", "night"}, Ticks: 40, Seed: &seed}
	want := run(t, p, opt)
	for ended := true; ended; {
		opt.Dir = filepath.Join(t.TempDir(), "run")
		ended = stopped(t, opt)
	}
	if _, err := os.Stat(filepath.Join(opt.Dir, "summary.json")); err != nil {
		t.Error(err)
	}
	r, err := Resume(opt.Dir, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := wait(t, r)
	if got.Digests() != want.Digests() || got.Resumable {
		t.Errorf("digests %s, want %s", got.Digests(), want.Digests())
	}
	for i, s := range got.Scenes {
		w := want.Scenes[i]
		if s.Scene != w.Scene || s.Seed != seed || s.Deliberations != w.Deliberations || s.World != w.World || s.StoppedBy != "ticks" || !slices.Equal(s.ByAgent, w.ByAgent) {
			t.Errorf("resumed %+v\nwhole %+v", s, w)
		}
	}
}

// A run that was killed between its end and its summary lacks the summary, or has
// that of the process before. Resuming it writes the summary, once.
func TestKilledBeforeTheSummary(t *testing.T) {
	opt := Options{Scenes: []string{"day", "night"}, Ticks: 40}
	for ended := true; ended; {
		opt.Dir = filepath.Join(t.TempDir(), "run")
		ended = stopped(t, opt)
	}
	file := filepath.Join(opt.Dir, "summary.json")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	resumed := func() *rundir.Summary {
		r, err := Resume(opt.Dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return wait(t, r)
	}
	want := resumed()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, kill := range map[string]func() error{
		"none":                  func() error { return os.Remove(file) },
		"of the process before": func() error { return os.WriteFile(file, before, 0o644) },
		"cut":                   func() error { return os.WriteFile(file, whole[:len(whole)/2], 0o644) },
	} {
		if err := kill(); err != nil {
			t.Fatal(err)
		}
		got := resumed()
		if got.Resumable || got.Digests() != want.Digests() {
			t.Errorf("%s: digests %s, want %s", name, got.Digests(), want.Digests())
		}
		for i, s := range got.Scenes {
			w := *want.Scenes[i]
			if w.Latency, w.Report = s.Latency, s.Report; !reflect.DeepEqual(*s, w) { // they are of the process
				t.Errorf("%s: finished %+v\nwhole %+v", name, *s, w)
			}
		}
		if _, err := Resume(opt.Dir, Options{}); protocol.KindOf(err) != protocol.KindConflict {
			t.Errorf("%s: with its summary it goes on: %v", name, err)
		}
	}
}

// A pause holds all scenes; they go on after it.
func TestPauseAndContinue(t *testing.T) {
	p := loadTown(t)
	r, err := Start(p, Options{Dir: filepath.Join(t.TempDir(), "run"), Scenes: []string{"day", "night"}, Ticks: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Pause(t.Context()) {
		t.Fatal("not paused")
	}
	before := r.Scenes[0].Run.Progress.Waves.Load()
	r.Continue()
	if !r.Pause(t.Context()) {
		t.Fatal("not paused again")
	}
	if after := r.Scenes[0].Run.Progress.Waves.Load(); after <= before {
		t.Errorf("wave %d, before it was continued %d", after, before)
	}
	r.Interrupt()
	if s := wait(t, r); !s.Resumable || s.All()[0].StoppedBy != agenda.StoppedByInterrupt {
		t.Errorf("%+v", s)
	}
	r, err = Resume(r.Dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	if s := wait(t, r); s.All()[0].StoppedBy != agenda.StoppedByInterrupt {
		t.Error("a run that was paused does not go on")
	}
}

// Promise 1: nothing is written before all is found sound.
func TestNothingHalfWritten(t *testing.T) {
	p := loadTown(t)
	for name, opt := range map[string]Options{
		"until":           {Until: "world.x >"},
		"agents":          {Agents: 2_000_000},
		"scene":           {Scenes: []string{"dusk"}},
		"scene twice":     {Scenes: []string{"day", "day"}},
		"durability":      {Durability: "eternal"},
		"ticks, realtime": {Ticks: 3, Clock: agenda.Realtime},
		"unknown root":    {Until: "weather.rain"},
		"negative counts": {Agents: -1},
	} {
		t.Run(name, func(t *testing.T) {
			opt.Dir = filepath.Join(t.TempDir(), "run")
			r, err := Start(p, opt)
			if err == nil {
				r.Interrupt()
				_, _ = r.Wait()
				t.Fatal("it started")
			}
			if exists(opt.Dir) {
				t.Errorf("%v, and there is a directory", err)
			}
			if k := protocol.KindOf(err); k != protocol.KindInvalid && k != protocol.KindNotFound && k != protocol.KindLimit {
				t.Errorf("kind %s: %v", k, err)
			}
		})
	}
}

// What cannot be resumed says why.
func TestResumeRefuses(t *testing.T) {
	p := loadTown(t)
	dir := filepath.Join(t.TempDir(), "run")
	r, err := Start(p, Options{Dir: dir, Ticks: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, Options{}); protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("while it runs: %v", err)
	}
	if _, err := Start(p, Options{Dir: dir}); protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("into the directory of another run: %v", err)
	}
	r.Interrupt()
	wait(t, r)
	if _, err := Resume(t.TempDir(), Options{}); protocol.KindOf(err) != protocol.KindNotFound {
		t.Errorf("an empty folder: %v", err)
	}
	input := filepath.Join(dir, "inputs", "scenes", "day.yaml")
	data, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(input, append(data, "# changed\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, Options{}); protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "inputs were changed") {
		t.Errorf("changed inputs: %v", err)
	}
	if err := os.WriteFile(input, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(`{"version": 99}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, Options{}); protocol.KindOf(err) != protocol.KindUnknown {
		t.Errorf("a newer manifest: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(`{`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, Options{}); protocol.KindOf(err) != protocol.KindCorrupt {
		t.Errorf("a broken manifest: %v", err)
	}
}

// Replay says when the journal is not what was written.
func TestReplayFindsDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run(t, loadTown(t), Options{Dir: dir})
	files, err := filepath.Glob(filepath.Join(dir, rundir.JournalDir, "db", "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatal("no logs", err)
	}
	damaged := false
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(data) / 4; i < len(data)/2; i++ {
			data[i] ^= 0x55
		}
		damaged = os.WriteFile(f, data, 0o644) == nil || damaged
	}
	if _, err := rundir.Replay(context.Background(), dir, rundir.ReplayOptions{}); err == nil || protocol.KindOf(err) != protocol.KindCorrupt {
		t.Errorf("damaged %v: %v (%s)", damaged, err, protocol.KindOf(err))
	}
}
