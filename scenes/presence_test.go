package scenes_test

import (
	"fmt"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/protocol"
	"tavernsim/scenes/scenestest"
)

// A crowd comes and goes again and again: every life is a fact of its own, the digest is that
// of a run that was interrupted, verify decides it again, and snapshots forget those who
// left. SIMD_TEST_LONG=1 lets 100,000 come.
func TestACrowdComesAndGoes(t *testing.T) {
	crowd, rounds := 60, 5
	if scenestest.Long() {
		crowd, rounds = 1000, 100
	}
	p := scenestest.Town(t, fmt.Sprintf(`
-- models/voices.yaml --
otherwise: ""
-- scenes/s.yaml --
id: s
name: Inn
schema_version: "1.0"
agent_instances:
  - {instance_id: host, profile_id: person}
  - {instance_id: "g_{n}", profile_id: person, count: %d, spawnable: true, roles: [crowd]}
simulation: {tick: 1s, stop: {ticks: %d}}
script:
  states: [{id: all}]
  schedules:
    - {id: come, every: 4s, do: [{spawn: {profile: person, count: %d, state: {words: %q}}}]}
    - {id: go, cron: "2-59/4 * * * * *", do: [{remove: {agents: "role:crowd"}}]}
`, crowd, 4*rounds+4, crowd, fmt.Sprintf("%0*d", 512, 7)))
	first := scenestest.New(t, p, "s")
	want := first.Run(t, scenestest.Settings{Workers: 1})
	if want.Err != nil {
		t.Fatal(want)
	}
	came, left := 0, 0
	first.Facts(t, func(_ protocol.Record, fact protocol.Fact) {
		switch fact.(type) {
		case *agenda.Spawned:
			came++
		case *agenda.Removed:
			left++
		}
	})
	if came != crowd*rounds || left != came {
		t.Errorf("%d came and %d left, want %d", came, left, crowd*rounds)
	}
	s := mustGoOn(t, p, want, 1000, 6, 11)
	mustForget(t, s, crowd)
}

// mustForget folds a scene whose crowd has left: what a snapshot would hold of it is less
// than its words were.
func mustForget(t *testing.T, s *scenestest.Scene, crowd int) {
	t.Helper()
	kept, parts := 0, 0
	if err := s.Fold(t, scenestest.Settings{}).Parts(func(_ string, raw []byte) { kept, parts = kept+len(raw), parts+1 }); err != nil {
		t.Fatal(err)
	}
	if kept > crowd*256 || parts > 20 {
		t.Errorf("a snapshot has %d parts of %d bytes after a crowd of %d has left; the words alone were %d", parts, kept, crowd, crowd*512)
	}
}
