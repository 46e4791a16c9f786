package scenes_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/control"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/scenestest"
)

// steer gives a running scene commands and fails when one is refused.
func steer(t *testing.T, r *scenestest.Running, c control.Command) control.Report {
	t.Helper()
	report, err := r.Control(context.Background(), &c)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A scene that was paused, stepped, paced and broken into has the history of one that
// nobody held. What a command says stands on the disk.
func TestControl(t *testing.T) {
	want := scenestest.New(t, scenestest.Town(t), "").Run(t, scenestest.Settings{})
	for _, workers := range []int{1, 4} {
		s := scenestest.New(t, scenestest.Town(t), "")
		synctest.Test(t, func(t *testing.T) {
			kept := uint64(0)
			r, err := s.StartWith(scenestest.Settings{Workers: workers, Kept: func(w persistence.Wave) { kept = max(kept, w.Number) }},
				func(o *scenes.Options) { o.Control = []control.Command{{Do: control.Pause}} })
			if err != nil {
				t.Fatal(err)
			}
			at := steer(t, r, control.Command{Do: control.Pause})
			if at.Wave != 1 || at.State != control.Paused || !r.Progress.Held.Load() {
				t.Error("paused from the beginning:", at)
			}
			for n := range int64(3) {
				next := steer(t, r, control.Command{Do: control.Step, Waves: n + 1})
				if synctest.Wait(); next.Wave != at.Wave+uint64(n)+1 || next.State != control.Paused || kept != next.Wave {
					t.Errorf("a step of %d after wave %d: %+v; durable %d", n+1, at.Wave, next, kept)
				}
				at = next
			}
			if x := steer(t, r, control.Command{Do: control.Step, For: protocol.Duration(10 * time.Second)}); x.At.Std()-at.At.Std() > 10*time.Second || x.Wave == at.Wave {
				t.Error(x, "a step of 10 s after", at)
			}
			at = steer(t, r, control.Command{Do: control.Status})
			when := fmt.Sprintf("scene.waves >= %d", at.Wave+4)
			steer(t, r, control.Command{Do: control.Break, When: when})
			begun := time.Now()
			steer(t, r, control.Command{Do: control.Pace, Pace: 2})
			steer(t, r, control.Command{Do: control.Resume})
			from := at.At
			for {
				synctest.Wait()
				if at = steer(t, r, control.Command{Do: control.Status}); at.State == control.Paused {
					break
				}
				<-time.After(time.Second)
			}
			if d := time.Since(begun); d < (at.At.Std()-from.Std())/2 || at.Why != "breakpoint "+when || at.Wave != uint64(r.Progress.Waves.Load()) {
				t.Errorf("%s for %s of scene time: %+v", d, at.At.Std()-from.Std(), at)
			}
			if _, err := r.Control(t.Context(), &control.Command{Do: "halt"}); protocol.KindOf(err) != protocol.KindInvalid {
				t.Error(err)
			}
			steer(t, r, control.Command{Do: control.Pace})
			steer(t, r, control.Command{Do: control.Resume})
			end := r.Close()
			if end.Err != nil || end.Digest() != want.Digest() {
				t.Errorf("%d workers: %v, digest %s, want %s", workers, end.Err, end.Digest(), want.Digest())
			}
			if _, err := r.Control(t.Context(), &control.Command{Do: control.Pause}); protocol.KindOf(err) != protocol.KindConflict {
				t.Error(err)
			}
		})
	}
}

// A held scene takes orders, and stops when it is interrupted; what goes on with it knows of
// no pause.
func TestHeldScene(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		s := scenestest.New(t, scenestest.Town(t), "")
		set := scenestest.Settings{Clock: clock, Stop: &agenda.Stop{Deliberations: 60}}
		synctest.Test(t, func(t *testing.T) {
			r, err := s.Start(set)
			if err != nil {
				t.Fatal(err)
			}
			at := steer(t, r, control.Command{Do: control.Pause})
			<-time.After(time.Hour)
			synctest.Wait()
			if now := steer(t, r, control.Command{Do: control.Status}); now.Wave != at.Wave || now.State != control.Paused {
				t.Errorf("%s: an hour after %+v: %+v", clock, at, now)
			}
			if got, err := r.Order(t.Context(), &agenda.Intervened{ID: "o", Do: protocol.Encode([]any{map[string]any{"event": map[string]any{"type": "bell.rang"}}})}); err != nil || got.Wave != at.Wave+1 {
				t.Errorf("%s: %+v, %v", clock, got, err)
			}
			if now := steer(t, r, control.Command{Do: control.Step}); now.Wave != at.Wave+2 {
				t.Errorf("%s: a step after an order: %+v", clock, now)
			}
			r.Interrupt()
			if end := r.Close(); end.Err != nil || end.Final {
				t.Errorf("%s: %+v", clock, end)
			}
			r, err = s.Start(set)
			if err != nil {
				t.Fatal(err)
			}
			if end := r.Close(); end.Err != nil || !end.Final {
				t.Errorf("%s: resumed: %+v", clock, end.Reason)
			}
		})
	}
}

// Nobody waits for a command longer than asked, and it counts all the same.
func TestControlGivesUp(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	synctest.Test(t, func(t *testing.T) {
		r, err := s.StartWith(scenestest.Settings{}, func(o *scenes.Options) {
			o.Control = []control.Command{{Do: control.Pace, Pace: 0.001}}
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := r.Control(ctx, &control.Command{Do: control.Step, Waves: 500}); err != nil || got.State != control.Stepping || got.Pace != 0.001 {
			t.Error(got, err)
		}
		r.Interrupt()
		if end := r.Close(); end.Err != nil {
			t.Error(end.Err)
		}
	})
}
