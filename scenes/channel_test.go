package scenes_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/bus/delivery"
	"tavernsim/scenes/scenestest"
)

// scriptScene is the scene of a script.
func scriptScene(t *testing.T, name string) *scenestest.Scene {
	t.Helper()
	a, err := txtar.ParseFile("testdata/script/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), a), nil)
	if err != nil {
		t.Fatal(err)
	}
	return scenestest.New(t, p, "")
}

// What is held, counted or subscribed to, and who waits for whom, when a run is
// interrupted is there when it goes on, from a snapshot or from facts: the end is
// the same. A run of the test interrupts at every twelfth wave, from a drawn one on;
// SIMD_TEST_LONG=1 interrupts at each.
func TestTheChannelGoesOnAfterAnInterrupt(t *testing.T) {
	step := uint64(12)
	if scenestest.Long() {
		step = 1
	}
	for _, name := range []string{"throttle", "debounce", "world_paths", "subscriptions", "blocked", "blocked_pair", "lanes"} {
		t.Run(name, func(t *testing.T) {
			whole := scriptScene(t, name)
			want := whole.Run(t, scenestest.Settings{})
			for at := 1 + rand.Uint64N(min(step, want.Wave.Number-1)); at < want.Wave.Number; at += step {
				for _, every := range []int64{1, -1} {
					s := whole.Fresh(t)
					first := s.Run(t, scenestest.Settings{InterruptAt: at, Snapshots: every})
					mustRestore(t, s, scenestest.Settings{})
					if first.Final {
						continue
					}
					if r := s.Run(t, scenestest.Settings{}); r.Digest() != want.Digest() {
						t.Fatalf("interrupted at wave %d: %s, want %s\n%s", first.Wave.Number, r.Digest(), want.Digest(), difference(t, s, whole))
					}
				}
			}
		})
	}
}

// The scene's own middleware is part of the chain: what it decides is in the
// facts, and a fold that does not have it comes to the same state.
func TestMiddlewareOfAScene(t *testing.T) {
	s := scriptScene(t, "debounce")
	quiet := delivery.Func(func(m delivery.Message, v delivery.Verdict) delivery.Verdict {
		switch m.Receiver {
		case "last":
			return v.Drop("not for last")
		case "odd":
			return v.Delay(m.Now.Add(4 * time.Second))
		}
		return v
	})
	r, err := s.Start(scenestest.Settings{Middleware: delivery.Chain{quiet}})
	if err != nil {
		t.Fatal(err)
	}
	out := r.Close()
	text, _ := trace(t, s, 0, "event.routed")
	for _, want := range []string{"last middleware:not for last drop", "holds it for [odd], middleware until +4s", "key of typist to [odd] 1 released, one of 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if out.Err != nil || s.Fold(t, scenestest.Settings{}).Tally.Refused["middleware"] == 0 {
		t.Errorf("%v: no refusal is counted", out.Err)
	}
	mustRestore(t, s, scenestest.Settings{})
}
