package scenes_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/bus"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// Promise 4: when a run has stopped, by itself or because it was told to, the wave
// that it names is on the disk: who opens the journal anew finds it.
func TestWhatIsReportedIsDurable(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	for at := uint64(3); ; at += 7 {
		r := s.Run(t, scenestest.Settings{InterruptAt: at, BatchFacts: 4096, Snapshots: -1})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		s.Journal(t, func(j *persistence.Journal) {
			if kept := j.Durable(); kept.Number != r.Wave.Number || kept.Digest != r.Wave.Digest {
				t.Errorf("stopped at wave %d, on the disk is %d", r.Wave.Number, kept.Number)
			}
		})
		if r.Final {
			return
		}
	}
}

// Promise 5: a disk that fails while the scene runs ends it with an error; what was
// kept until then is resumed and ends like a run that nothing happened to. The disk
// fails from a call of the model on: how many writes the waves share depends on the
// machine.
func TestADiskThatFailsEndsTheScene(t *testing.T) {
	whole := scenestest.New(t, scenestest.Town(t), "")
	want := whole.Run(t, scenestest.Settings{Snapshots: -1})
	for _, call := range []int64{1, 20, 45, 100} {
		s := whole.Fresh(t)
		var asked, refused atomic.Int64
		var full atomic.Bool
		disk := persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
			if !op.Write || !strings.HasSuffix(op.Path, ".log") || !full.Load() {
				return nil
			}
			refused.Add(1)
			return errors.New("no room")
		})
		end := s.RunUntil(t, scenestest.Settings{FS: disk, Snapshots: -1, BatchFacts: 8}, func(*protocol.ModelRequest) bool {
			if asked.Add(1) == call {
				full.Store(true)
			}
			return false
		})
		if end.Err == nil || end.Final || refused.Load() == 0 {
			t.Errorf("after %d calls: %v, final %v, %d writes were refused", call, end.Err, end.Final, refused.Load())
		}
		if again := s.Run(t, scenestest.Settings{}); again.Err != nil || again.Digest() != want.Digest() {
			t.Errorf("resumed after %d calls: %v, digest %s, want %s", call, again.Err, again.Digest(), want.Digest())
		}
	}
}

// Promise 7: every agent hears events in the order of their facts. The scene
// publishes urgent and other events at the same moment.
func TestEventsAreHeardInTheirOrder(t *testing.T) {
	for _, workers := range []int{1, 4} {
		s := scenestest.New(t, scenestest.Town(t), "")
		heard := &scenes.Heard{}
		synctest.Test(t, func(t *testing.T) {
			r, err := s.StartWith(scenestest.Settings{Workers: workers}, heard.Listen())
			if err != nil {
				t.Fatal(err)
			}
			if end := r.Close(); end.Err != nil {
				t.Fatal(end.Err)
			}
		})
		lists, urgent := heard.Orders()
		place := map[string]int{}
		s.Facts(t, func(_ protocol.Record, f protocol.Fact) { place[f.(*bus.Routed).ID] = len(place) }, bus.FactRouted)
		for who, list := range lists {
			if !slices.IsSortedFunc(list, func(a, b string) int { return place[a] - place[b] }) {
				t.Errorf("%d workers: %s heard %v", workers, who, list)
			}
		}
		if len(lists) < 2 || urgent == 0 {
			t.Errorf("%d agents heard, %d were urgent behind others: nothing is tested", len(lists), urgent)
		}
	}
}

// Promise 6: a scene beside one that fails again and again, and is ended by it, has
// the digest that it has alone. Workers and store are shared in the test of
// scenes/run/runner, TestSideBySide.
func TestAScenesFailureStaysInIt(t *testing.T) {
	p := scenestest.Town(t)
	want := scenestest.New(t, p, "").Run(t, scenestest.Settings{})
	bad, err := scenestest.New(t, p, "").StartWith(scenestest.Settings{Workers: 2}, scenes.FailService(scenes.Services()[0], 3, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	good, err := scenestest.New(t, p, "").Start(scenestest.Settings{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r := bad.Close(); r.Err == nil {
		t.Errorf("the other did not fail: %v", r)
	}
	if r := good.Close(); r.Err != nil || r.Digest() != want.Digest() {
		t.Errorf("%v, digest %s, alone %s", r.Err, r.Digest(), want.Digest())
	}
}

// Promise 4, of a rest: who hears that the scene rests finds its last wave on the
// disk, also where every sync takes its time.
func TestARestIsDurable(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	s.Dir = "run"
	var kept atomic.Uint64
	stop := agenda.Stop{Ticks: 1 << 30}
	r, err := s.Start(scenestest.Settings{FS: persistencetest.SlowDisk(5 * time.Millisecond), Durability: persistence.Power, Snapshots: -1, Stop: &stop,
		Kept: func(w persistence.Wave) { kept.Store(w.Number) }})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.Pause()
		if !r.WaitPaused(t.Context()) {
			t.Fatal("it did not pause")
		}
		if last := uint64(r.Progress.Waves.Load()); kept.Load() != last {
			t.Errorf("it rests after wave %d, on the disk is %d", last, kept.Load())
		}
		r.Resume()
	}
	r.Interrupt()
	if end := r.Close(); end.Err != nil {
		t.Error(end)
	}
}

// Promise 3: a service is given up after failures in a row; one that was asked again
// with success begins to count anew.
func TestServiceFailuresInARow(t *testing.T) {
	p := scenestest.Town(t)
	want := scenestest.New(t, p, "").Run(t, scenestest.Settings{})
	for _, service := range scenes.Services() {
		s := scenestest.New(t, p, "")
		failures := scenes.NewFailures()
		r, err := s.StartWith(scenestest.Settings{Workers: 2}, failures.EveryOther(service))
		if err != nil {
			t.Fatal(err)
		}
		limit := int64(s.Def.Definition.Simulation.Limits.MaxRestarts)
		if end := r.Close(); end.Err != nil || end.Wave.Number != want.Wave.Number || failures.Made() <= limit {
			t.Errorf("%s: %v after %d failures, of %d in a row", service, end, failures.Made(), limit)
		}
	}
}
