package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"tavernsim/protocol"
)

// Promise 3: two runs of one scene in a process have their own clocks, counters, lives and
// readiness, and nothing is left of one that is gone.
func TestRunsOfOneScene(t *testing.T) {
	s := New(ByRun())
	one, two := s.Run("runs/1"), s.Run("runs/2")
	a, b := one.Scene("tavern"), two.Scene("tavern")
	a.WaveClosed(time.Second, protocol.Time(5e9))
	b.WaveClosed(time.Second, protocol.Time(9e9))
	b.WaveClosed(time.Second, protocol.Time(10e9))
	a.Became(SceneRunning)
	b.Became(SceneFailed)
	one.Waits("tavern") // it runs
	s.Ready()
	one.NotReady("restoring")
	two.Ready()
	check := func(want string, names ...string) {
		t.Helper()
		if err := testutil.GatherAndCompare(s.Registry, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	}
	check(`# HELP simd_sim_steps_total Waves closed.
# TYPE simd_sim_steps_total counter
simd_sim_steps_total{run="runs/1",scene="tavern"} 1
simd_sim_steps_total{run="runs/2",scene="tavern"} 2
# HELP simd_sim_time_seconds The scene's clock, in seconds since the epoch.
# TYPE simd_sim_time_seconds gauge
simd_sim_time_seconds{run="runs/1",scene="tavern"} 5
simd_sim_time_seconds{run="runs/2",scene="tavern"} 10
`, "simd_sim_steps_total", "simd_sim_time_seconds")
	states := func(running, failed float64) {
		t.Helper()
		if r, f := testutil.ToFloat64(s.time.scenes[SceneRunning]), testutil.ToFloat64(s.time.scenes[SceneFailed]); r != running || f != failed {
			t.Errorf("%g running and %g failed scenes; want %g and %g", r, f, running, failed)
		}
	}
	states(1, 1)
	if err := s.ready.why(); err == nil || err.Error() != "runs/1: restoring" {
		t.Errorf("ready: %v", err)
	}
	one.Forget()
	states(0, 1)
	if err := s.ready.why(); err != nil {
		t.Errorf("ready: %v", err)
	}
	two.Forget()
	states(0, 0)
	families, err := s.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "run" {
					t.Errorf("%s is left: %v", f.GetName(), m)
				}
			}
		}
	}
	s.Run("runs/1").Scene("tavern").WaveClosed(0, 1) // it may come again
	if n := testutil.ToFloat64(s.time.byScene.get(sceneKey{"runs/1", "tavern"}).steps); n != 1 {
		t.Errorf("after its return: %g waves", n)
	}
}

// A process with one run has no run label.
func TestNoRunLabelForOneRun(t *testing.T) {
	for _, d := range New().catalog {
		for _, l := range d.labels {
			if l == "run" {
				t.Errorf("%s has a run label", d.name)
			}
		}
	}
}

// Prompts of a scene that is over are forgotten, and two runs do not share those of scenes of one name.
func TestPromptsOfALife(t *testing.T) {
	s := New(ByRun())
	q, a := &protocol.ModelRequest{Agent: "kim", Messages: []protocol.ModelMessage{{Text: "hello"}}}, &protocol.ModelAnswer{Origin: &protocol.ModelOrigin{Endpoint: "cloud"}}
	kept := func(sc *Scene) bool {
		_, ok := s.models.prefixes.Share(sc, q, a)
		return ok
	}
	one, two := s.Run("1").Scene("s"), s.Run("2").Scene("s")
	one.Became(SceneRunning)
	two.Became(SceneRunning)
	one.Prompt("cloud", q, a)
	if !kept(one) || kept(two) {
		t.Error("the prompt before is not that of the same scene")
	}
	one.Became(SceneEnded)
	one.Prompt("cloud", q, a) // of a turn that nobody waited for
	if kept(one) {
		t.Error("the prompt of a scene that has ended is kept")
	}
	s.Run("2").Forget()
	if two.Prompt("cloud", q, a); kept(two) {
		t.Error("the prompt of a run that was forgotten is kept")
	}
}
