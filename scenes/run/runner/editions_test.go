package runner

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
	"tavernsim/tools"
)

const tides = `
-- project.json --
{"id": "test", "model": "models/m.yaml", "plugins": ["tides"]}
-- models/m.yaml --
rules: [{answer: {calls: [{tool: "tides:next", params: {harbour: Brest}}]}}]
-- plugins/tides/plugin.yaml --
{name: tides, version: 1.0.0}
-- plugins/tides/tools/next.tool.yaml --
id: "tides:next"
description: the first
parameters: {properties: {harbour: {type: string}}}
implementation: {type: service, name: clock}
-- agent_profiles/a.yaml --
id: a
name: A
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: std/core
tool_ids_inventory: ["tides:next"]
custom_runtime_config: {deliberation_frequency_hz: 20}
-- scenes/s.yaml --
id: s
name: S
agent_instances: [{instance_id: a, profile_id: a}]
`

// tidal is the project with a text replaced, and with a second scene whose agent has no tools.
func tidal(t *testing.T, old, text string) *project.Project {
	t.Helper()
	second := "\n-- agent_profiles/q.yaml --\nid: q\nname: Q\nversion: '1.0.0'\nschema_version: '1.0'\ncore_deliberation_workflow_id: std/core\n-- scenes/quiet.yaml --\nid: quiet\nname: Q\nagent_instances: [{instance_id: a, profile_id: q}]\n"
	p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.Replace(tides+second, old, text, 1)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tidalRun is a run of both, which reads next.
func tidalRun(t *testing.T, next *project.Project) *Runner {
	t.Helper()
	clock := tools.Func(func(context.Context, *tools.Call) tools.Result { return tools.Output(1) })
	r, err := Start(tidal(t, "", ""), Options{
		Dir: filepath.Join(t.TempDir(), "run"), Clock: agenda.Realtime, For: time.Hour, Scenes: []string{"s", "quiet"}, Services: map[string]tools.Executor{"clock": clock},
		Reread: func() (*granted.Reread, error) { return &granted.Reread{Project: next}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Interrupt()
		wait(t, r)
	})
	return r
}

// A scene that has ended takes no other tools, and none are kept for it.
func TestReloadWhenASceneHasEnded(t *testing.T) {
	r := tidalRun(t, tidal(t, "the first", "the second"))
	r.Scenes[0].Run.Interrupt()
	r.Scenes[0].Run.Wait()
	if lines, err := r.Reload(); err != nil || len(lines) != 1 || !strings.HasPrefix(lines[0], "the scene quiet goes on with tides 1.0.0 (edition 2)") {
		t.Fatalf("%q, %v", lines, err)
	}
	if lines, err := r.Reload(); err != nil || len(lines) != 0 || len(r.Manifest.Editions) != 1 {
		t.Errorf("%q, %v, %d editions", lines, err, len(r.Manifest.Editions))
	}
	r.Scenes[1].Run.Interrupt()
	r.Scenes[1].Run.Wait()
	if lines, err := r.Reload(); err != nil || len(lines) != 0 || len(r.Manifest.Editions) != 1 {
		t.Errorf("without a scene: %q, %v, %d editions", lines, err, len(r.Manifest.Editions))
	}
}

// A scene that cannot go on with other files keeps what it has, and the error names it; the others take them.
func TestReloadThatOneSceneRefuses(t *testing.T) {
	r := tidalRun(t, tidal(t, "the first", "the second"))
	r.Scenes[0].project.Store(tidal(t, "frequency_hz: 20", "frequency_hz: 21"))
	for _, want := range []int{1, 0} {
		lines, err := r.Reload()
		if len(lines) != want || want == 1 && !strings.HasPrefix(lines[0], "the scene quiet goes on with tides 1.0.0 (edition 2)") {
			t.Errorf("%q", lines)
		}
		if protocol.KindOf(err) != protocol.KindConflict || !strings.Contains(err.Error(), "scene s: agent_profiles/a.yaml is a file of the project, and it changed") || len(r.Manifest.Editions) != 1 {
			t.Errorf("%v, %d editions", err, len(r.Manifest.Editions))
		}
	}
}

// A scene that decides about a reload after nobody waits for it has the edition all the same, and the
// run can be resumed.
func TestReloadThatComesLate(t *testing.T) {
	with := func(text string) *project.Project {
		p, err := scenestest.Load(scenestest.Files(txtar.Parse([]byte(strings.Replace(tides, "the first", text, 1)))), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	called := make(chan string, 1000)
	clock := tools.Func(func(_ context.Context, c *tools.Call) tools.Result {
		called <- c.Tool.Description
		return tools.Output(1)
	})
	var held sync.RWMutex // while it is, no wave becomes durable
	disk := persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
		if op.Sync {
			held.RLock()
			defer held.RUnlock()
		}
		return nil
	})
	opt := Options{
		FS: disk, Durability: persistence.Power,
		Dir: filepath.Join(t.TempDir(), "run"), Clock: agenda.Realtime, For: time.Hour, Services: map[string]tools.Executor{"clock": clock},
		Reread: func() (*granted.Reread, error) { return &granted.Reread{Project: with("the second")}, nil },
	}
	r, err := Start(with("the first"), opt)
	if err != nil {
		t.Fatal(err)
	}
	r.patience = time.Millisecond
	held.Lock()
	editions := func() int {
		t.Helper()
		m, err := rundir.ReadManifest(opt.Dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(m.Editions)
	}
	if _, err := r.Reload(); err == nil || !strings.Contains(err.Error(), "it has not decided within 1ms") || editions() != 1 {
		t.Fatalf("%d editions, %v", editions(), err)
	}
	if _, err := r.Reload(); err == nil || !strings.Contains(err.Error(), "has not decided about the reload before this one") || editions() != 1 {
		t.Fatalf("again: %d editions, %v", editions(), err)
	}
	held.Unlock()
	for late := time.After(5 * time.Minute); ; {
		select {
		case text := <-called:
			if text != "the second" {
				continue
			}
		case <-late:
			t.Fatal("the scene goes on with the tools that it had")
		}
		break
	}
	for late := time.Now().Add(5 * time.Minute); ; runtime.Gosched() { // from then on the run counts the edition's files as its own
		if changed, err := r.Reload(); err == nil && len(changed) == 0 {
			break
		} else if time.Now().After(late) || editions() != 1 {
			t.Fatalf("reload of what it has: %q, %v, %d editions", changed, err, editions())
		}
	}
	r.Interrupt()
	wait(t, r)
	if r, err = Resume(opt.Dir, Options{Services: opt.Services}); err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	wait(t, r)
}
