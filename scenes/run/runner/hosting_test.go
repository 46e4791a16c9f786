package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/rundir"
)

// A run that begins while its host closes is closed, too.
func TestCloseBesideAdd(t *testing.T) {
	h := NewHost(HostOptions{})
	opening, goOn := make(chan struct{}), make(chan struct{})
	disk := persistencetest.FailingDisk(persistencetest.OSDisk(), func() func(persistencetest.DiskOp) error {
		var once sync.Once
		return func(persistencetest.DiskOp) error {
			once.Do(func() { close(opening); <-goOn })
			return nil
		}
	}())
	type begun struct {
		r   *Runner
		err error
	}
	added := make(chan begun, 1)
	go func() {
		r, err := h.Add(loadTown(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Scenes: []string{"day"}, Ticks: 1 << 30, FS: disk})
		added <- begun{r, err}
	}()
	<-opening
	if n := len(h.Runs()); n != 0 {
		t.Errorf("%d runs before one has begun", n)
	}
	closed := make(chan error, 1)
	go func() { closed <- h.Close() }()
	for { // until it does not take another run
		h.mu.Lock()
		is := h.closed
		h.mu.Unlock()
		if is {
			break
		}
		<-time.After(time.Millisecond)
	}
	close(goOn)
	b := <-added
	if b.err != nil {
		t.Fatal(b.err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if n := len(h.Runs()); n != 0 {
		t.Errorf("%d runs are left", n)
	}
	if sum, err := b.r.Wait(); err != nil || !sum.Resumable {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A run that another process has is left as it is.
func TestResumeWritesUnderTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if stopped(t, Options{Dir: dir, Scenes: []string{"day"}, Ticks: 1 << 30, Budget: &budget.Budget{Tokens: 1 << 40}}) {
		t.Fatal("it ended")
	}
	before, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := persistence.Open(filepath.Join(dir, rundir.JournalDir), persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := orders.Parse("x.jsonl", []byte(`{"id": "a", "at": "1000h", "do": [{"end": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Budget: &budget.Budget{Tokens: 1 << 41}, Orders: list}
	if _, err := Resume(dir, opt); protocol.KindOf(err) != protocol.KindConflict {
		t.Errorf("a run that is in use: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "manifest.json")); err != nil || string(after) != string(before) {
		t.Errorf("its manifest was changed: %v", err)
	}
	if kept, err := orders.Kept(dir); err != nil || len(kept) > 0 {
		t.Errorf("it has orders now: %v, %v", kept, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Resume(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	wait(t, r)
	if kept, err := orders.Kept(dir); err != nil || len(kept) != 1 || r.Manifest.Budget.Tokens != 1<<41 {
		t.Errorf("%v, %v, %v", kept, r.Manifest.Budget, err)
	}
	// Whoever goes on with the run once more, because it failed, gives the same options.
	if r, err = Resume(dir, opt.Again()); err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	wait(t, r)
}

// The summary is there before another process can have the run.
func TestSummaryUnderTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var looked, missed atomic.Bool
	disk := persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
		if op.Remove && strings.HasSuffix(op.Path, "OWNER") {
			looked.Store(true)
			missed.Store(!exists(filepath.Join(dir, "summary.json")))
		}
		return nil
	})
	run(t, loadTown(t), Options{Dir: dir, Scenes: []string{"day"}, Ticks: 3, FS: disk})
	if !looked.Load() || missed.Load() {
		t.Errorf("the lock was given back: %t; before the summary: %t", looked.Load(), missed.Load())
	}
}

// A start that fails leaves what was there before.
func TestFailedStartLeavesNothing(t *testing.T) {
	broken := persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
		if op.Create {
			return errors.New("broken")
		}
		return nil
	})
	for name, there := range map[string]bool{"no folder": false, "an empty folder": true} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if there {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			opt := Options{Dir: dir, Scenes: []string{"day"}, Ticks: 3, FS: broken}
			if _, err := Start(loadTown(t), opt); err == nil || !strings.Contains(err.Error(), "broken") {
				t.Fatal(err)
			}
			if list, err := os.ReadDir(dir); exists(dir) != there || there && (err != nil || len(list) > 0) {
				t.Errorf("%v, %v", list, err)
			}
			opt.FS = nil
			run(t, loadTown(t), opt)
		})
	}
}

// A scene that could not begin has no journal, and the run is closed all the same.
func TestClosedWithASceneThatCouldNotBegin(t *testing.T) {
	p := loadTown(t)
	r, err := Start(p, Options{Dir: filepath.Join(t.TempDir(), "run"), Scenes: []string{"day"}, Ticks: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	night, err := pick(p, []string{"night"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.stopStarting(night, syscall.ENOSPC); err != nil {
		t.Fatal(err)
	}
	if sum, err := r.Wait(); !errors.Is(err, syscall.ENOSPC) || !sum.Resumable {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A pause holds the scenes that have not ended.
func TestPauseWhenASceneHasEnded(t *testing.T) {
	r, err := Start(loadTown(t), Options{Dir: filepath.Join(t.TempDir(), "run"), Scenes: []string{"night", "day"}, Ticks: 1 << 30}) // the day has no end
	if err != nil {
		t.Fatal(err)
	}
	r.Scenes[0].Run.Interrupt()
	r.Scenes[0].Run.Wait()
	if !r.Pause(t.Context()) {
		t.Error("not paused")
	}
	r.Scenes[1].Run.Interrupt()
	r.Scenes[1].Run.Wait()
	if r.Pause(t.Context()) {
		t.Error("a run without a scene is paused")
	}
	wait(t, r)
}

// stumbles is a log that lets the stage of a scene fail when it ends before its orders.
type stumbles struct{ slog.Handler }

func (stumbles) Enabled(context.Context, slog.Level) bool { return true }
func (h stumbles) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (stumbles) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "the scene ended before orders") {
		panic("it stumbles")
	}
	return nil
}

// A scene that failed is restarted at once, and does not wait for the ends of the others. One that is
// given up lets them go on.
func TestRestartedAtOnce(t *testing.T) {
	list, err := orders.Parse("x.jsonl", []byte(`{"id": "a", "scene": "night", "wave": 3, "do": [{"end": {}}]}
{"id": "late", "scene": "night", "at": "1000h", "do": [{"event": {"type": "bell"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, restarted := range map[string]bool{"restarted": true, "nobody restarts it": false} {
		t.Run(name, func(t *testing.T) {
			opt := Options{Dir: filepath.Join(t.TempDir(), "run"), Scenes: []string{"night", "day"}, Ticks: 1 << 30, Orders: list, Restarted: restarted, Log: slog.New(stumbles{slog.DiscardHandler})}
			r, err := Start(loadTown(t), opt)
			if err != nil {
				t.Fatal(err)
			}
			if !restarted {
				r.Scenes[0].Run.Wait()
				if !r.Pause(t.Context()) {
					t.Error("the other scene does not go on")
				}
				r.Interrupt()
			}
			sum, err := r.Wait()
			if crash := (*scenes.Crash)(nil); !errors.As(err, &crash) || crash.Scene != "night" || sum.Scenes[1].StoppedBy != agenda.StoppedByInterrupt {
				t.Errorf("%v, %+v", err, sum.Scenes[1])
			}
		})
	}
}

// A failed scene is given up after so many failures without a wave between them.
func TestRestarts(t *testing.T) {
	crash := &scenes.Crash{Scene: "day", MaxRestarts: 2}
	s := &Scene{ID: "day", began: 7}
	s.outcome.Err, s.outcome.Wave.Number = crash, 7
	for n, want := range []bool{true, true, false} {
		r := &Runner{crashes: map[string][]*scenes.Crash{"day": slices.Repeat([]*scenes.Crash{crash}, n)}}
		if r.restarts(s) != want {
			t.Errorf("after %d failures: %t", n, !want)
		}
	}
	s.outcome.Wave.Number = 8
	if r := (&Runner{crashes: map[string][]*scenes.Crash{"day": {crash, crash}}}); !r.restarts(s) {
		t.Error("it came further and is given up")
	}
	if (&Runner{}).restarts(s) {
		t.Error("nobody restarts it")
	}
}
