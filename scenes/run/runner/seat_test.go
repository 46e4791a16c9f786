package runner

import (
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/persistence/persistencetest"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// threeSeats has three seats in home: one leaves them for another scene, and others come meanwhile and later.
const threeSeats = `
-- agent_profiles/idle.yaml --
id: idle
name: Idle
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
custom_runtime_config: {wake_on_start: false}
-- models/voices.yaml --
otherwise: {text: x}
-- scenes/away.yaml --
id: away
name: Away
schema_version: "1.0"
links: [{to: home, travel: 10s}]
simulation: {stop: {after: 60s}}
agent_instances: [{instance_id: "w_{n}", profile_id: idle, count: 3, spawnable: true}]
-- scenes/home.yaml --
id: home
name: Home
schema_version: "1.0"
links: [{to: away, travel: 10s}]
simulation: {stop: {after: 60s}}
agent_instances: [{instance_id: "w_{n}", profile_id: idle, count: 3, spawnable: true}]
script:
  states: [{id: s, transitions: [{to: s, after: 1000s}]}]
  schedules:
    - {id: a, at: 1s, do: [{spawn: {profile: idle}}]}
    - {id: b, at: 5s, do: [{travel: {agents: w_1, to: away}}]}
    - {id: c, at: 10s, do: [{spawn: {profile: idle}}]}
    - {id: d, at: 40s, do: [{spawn: {profile: idle}}]}
    - {id: e, at: 50s, do: [{spawn: {profile: idle}}]}
`

// The seat of an agent that arrived elsewhere is free for whoever comes, whether or not the run was
// interrupted while the agent travelled.
func TestSeatOfATraveller(t *testing.T) {
	p, err := LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(threeSeats))), "seats", true)
	if err != nil {
		t.Fatal(err)
	}
	drawn := uint64(7)
	opt := Options{Dir: filepath.Join(t.TempDir(), "run"), Scenes: []string{"home", "away"}, Seed: &drawn, BatchFacts: 1}
	want := run(t, p, opt).Digests()
	mustBeFull(t, opt.Dir)
	interrupted := false
	for n := 10; ; n++ {
		opt := opt
		opt.Dir = filepath.Join(t.TempDir(), "run")
		var left atomic.Int64
		left.Store(int64(n))
		opt.FS = persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
			if op.Write && left.Add(-1) < 0 {
				return syscall.ENOSPC
			}
			return nil
		})
		r, err := Start(p, opt)
		if err != nil {
			continue
		}
		if _, err = r.Wait(); err == nil {
			break
		}
		left.Store(1 << 40)
		if r, err = Resume(opt.Dir, Options{Finish: true}); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, r).Digests(); got != want {
			t.Errorf("interrupted at write %d: %s, want %s", n, got, want)
		}
		interrupted = true
	}
	if !interrupted {
		t.Error("no run was interrupted")
	}
}

// mustBeFull holds that nobody is away from home.
func mustBeFull(t *testing.T, dir string) {
	t.Helper()
	opened, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	made, journal, err := opened.Scene("home")
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	state, _, err := history.Fold(made, journal, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for o := range uint32(3) {
		if state.Agenda.Away(o) {
			t.Errorf("%s is away", made.Name(o))
		}
	}
}
