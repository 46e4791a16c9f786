package scenes_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/control"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/seats"
)

// mustSnapshot holds the newest snapshot, of the end of an interrupted run, to the facts alone, byte
// by byte.
func mustSnapshot(t testing.TB, s *scenestest.Scene, set scenestest.Settings) {
	t.Helper()
	want, n := map[string][]byte{}, 0
	if err := s.Fold(t, set).Parts(func(name string, raw []byte) { want[name] = bytes.Clone(raw) }); err != nil {
		t.Fatal(err)
	}
	delete(want, machines.Agenda) // a snapshot has the roster, too
	s.Journal(t, func(j *persistence.Journal) {
		snap, err := j.LatestSnapshot()
		if err != nil || snap.Wave.Number != j.Durable().Number {
			t.Fatal(err, "or the snapshot is not of the end")
		}
		if err := snap.Read(func(name string, raw []byte) error {
			if w, ok := want[name]; ok {
				if n++; !bytes.Equal(raw, w) {
					t.Errorf("%s: the snapshot has\n%x\nthe facts give\n%x", name, raw, w)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	if n != len(want) {
		t.Errorf("the snapshot has %d of %d parts", n, len(want))
	}
}

// stepped starts the scene and returns when it holds after one step.
func stepped(t testing.TB, s *scenestest.Scene, set scenestest.Settings, step control.Command) *scenestest.Running {
	t.Helper()
	run, err := s.StartWith(set, func(o *scenes.Options) { o.Control = []control.Command{{Do: control.Pause}} })
	if err != nil {
		t.Fatal(err)
	}
	step.Do = control.Step
	if _, err := run.Control(t.Context(), &step); err != nil {
		t.Fatal(err)
	}
	return run
}

// Whoever is passive when, digests are the same, and snapshots to the byte.
func TestPassiveAgentsChangeNothing(t *testing.T) {
	p := scenestest.Town(t)
	end := scenestest.New(t, p, "").Run(t, scenestest.Settings{Passivate: time.Hour})
	for _, after := range []time.Duration{1, time.Second, 2 * time.Second, time.Hour} {
		for _, workers := range []int{1, 2, 7} {
			if !scenestest.Long() && workers < 7 {
				continue
			}
			t.Run(fmt.Sprint(after, "/", workers), func(t *testing.T) {
				s := scenestest.New(t, p, "")
				set := scenestest.Settings{Snapshots: 1, Passivate: after, Workers: workers, Memory: 1} // most lie in the file
				run := stepped(t, s, set, control.Command{Waves: 9})
				run.Interrupt()
				run.Close()
				mustSnapshot(t, s, set)
				set.Snapshots = 200
				mustEqual(t, s, set, end)
			})
		}
	}
}

// Agents whose states are too large to be read again keep their actors, whichever way they would leave them, and have
// them again when the run goes on: digests are the same.
func TestLargeStatesKeepTheirActors(t *testing.T) {
	p := scenestest.Town(t)
	end := scenestest.New(t, p, "").Run(t, scenestest.Settings{Passivate: time.Hour})
	for _, after := range []time.Duration{1, 2 * time.Second} {
		s := scenestest.New(t, p, "")
		set := scenestest.Settings{Snapshots: 1, Passivate: after, Memory: 1}
		for waves := int64(9); ; waves = 0 {
			run, err := s.StartWith(set, scenes.Largest(700), func(o *scenes.Options) { o.Control = []control.Command{{Do: control.Pause}} })
			if err != nil {
				t.Fatal(err)
			}
			at, err := run.Control(t.Context(), &control.Command{Do: control.Pause}) // it stands before the first wave or behind it
			if err == nil && waves > 0 {
				_, err = run.Control(t.Context(), &control.Command{Do: control.Step, Waves: waves - int64(at.Wave)})
			}
			if err != nil {
				t.Fatal(err)
			}
			seated, passive, _ := run.Seats()
			if seated == 0 || waves > 0 && passive == 0 && after == 1 {
				t.Errorf("after %v: %d have an actor, %d are passive; want some of each", after, seated, passive)
			}
			if waves > 0 {
				run.Interrupt()
				run.Close()
				mustSnapshot(t, s, set)
				continue
			}
			if _, err := run.Control(t.Context(), &control.Command{Do: control.Resume}); err != nil {
				t.Fatal(err)
			}
			if r := run.Close(); r.Err != nil || r.Digest() != end.Digest() {
				t.Errorf("after %v: %v\nwant %s", after, r, end.Digest())
			}
			mustRestore(t, s, set)
			break
		}
	}
}

// dozing is a scene of agents that act when somebody calls them.
const dozing = `
-- agent_profiles/dozer.yaml --
id: dozer
name: Dozer
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: doze
tool_ids_inventory: [UpdatePrivateStateTool]
-- workflows/doze.yaml --
interfaceInputs: {private_state: {dataFlowType: OBJECT}}
interfaceOutputs: {decision: {dataFlowType: OBJECT, required: true}}
nodes:
  - {id: in, type: GroupInput}
  - {id: c, type: Expression, configValues: {type: OBJECT, expression: "({private_state: {count: (me.count || 0) + 1}})"}}
  - {id: out, type: GroupOutput}
edges: [{source: in, sourceHandle: private_state, target: c, targetHandle: me}, {source: c, sourceHandle: value, target: out, targetHandle: decision}]
-- scenes/s.yaml --
id: s
name: Dozers
schema_version: "1.0"
agent_instances: [{instance_id: "d_{n}", profile_id: dozer, count: 5}]
-- models/voices.yaml --
otherwise: {text: ""}
`

// asleep starts the dozers with an event for d_3 at the tenth second, and returns when all have had
// their first turn and are passive.
func asleep(t *testing.T) (*scenestest.Scene, *scenestest.Running) {
	t.Helper()
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(dozing))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := scenestest.New(t, p, "")
	set := scenestest.Settings{Passivate: 1, Orders: ordersOf(t, txtar.Parse([]byte("-- orders.yaml --\norders: [{id: call, at: 10s, do: [{event: {type: called, to: d_3}}]}]\n")), "orders.yaml", "")}
	return s, stepped(t, s, set, control.Command{Until: protocol.Duration(time.Second)})
}

// counting is a scene of agents that count in their private state when somebody calls them.
const counting = `
-- scenes/s.yaml --
id: s
name: Counters
schema_version: "1.0"
agent_instances: [{instance_id: "d_{n}", profile_id: person, count: 5, custom_runtime_config: {deliberation_frequency_hz: 0}}]
-- models/voices.yaml --
rules: [{match: {round: 0}, answer: {calls: [{tool: UpdatePrivateStateTool, params: {commands: [{action: add, key: self.m, value: 1, options: {ttl: 30}}]}}]}}]
otherwise: {text: ""}
`

// A service that fails while agents are passive is restored alone: the newest states of these are kept,
// and neither a snapshot nor a fact may be folded onto them.
func TestServiceFailsWhileAgentsArePassive(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(counting))), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := "-- orders.yaml --\norders:\n"
	for i := range 6 {
		calls += fmt.Sprintf("  - {id: call%d, at: %d0s, do: [{event: {type: called, to: d_%d}}]}\n", i, i+1, i%2+3)
	}
	orders := ordersOf(t, txtar.Parse([]byte(calls)), "orders.yaml", "")
	for _, snapshots := range []int64{4, 1000} {
		t.Run(fmt.Sprint(snapshots), func(t *testing.T) {
			s := scenestest.New(t, p, "")
			set := scenestest.Settings{Passivate: 1, Orders: orders, Snapshots: snapshots}
			run, err := s.StartWith(set, scenes.FailService("$events", 12, 1))
			if err != nil {
				t.Fatal(err)
			}
			r := run.Close()
			if n := r.State.Tally; r.Err != nil || n.Restarts != 1 || n.ByTool["UpdatePrivateStateTool"] != 11 || n.CallsFailed > 0 {
				t.Fatalf("%v %+v", r, n)
			}
			mustRestore(t, s, set)
			mustVerify(t, s, set)
		})
	}
}

// One event wakes one agent, and no other gets an actor.
func TestOneEventWakesOne(t *testing.T) {
	s, run := asleep(t)
	seated, passive, bytes := run.Seats()
	if seated != 0 || passive != 6 || bytes == 0 { // with the scene's own
		t.Errorf("%d have an actor, %d are passive with %d bytes; want 0 and 6", seated, passive, bytes)
	}
	if _, err := run.Control(context.Background(), &control.Command{Do: control.Resume}); err != nil {
		t.Fatal(err)
	}
	r := run.Close()
	if r.Err != nil || r.State.Tally.Deliberations != 6 {
		t.Errorf("%v, %d deliberations; want 5 and 1", r, r.State.Tally.Deliberations)
	}
	for id, want := range map[string]int64{"d_1": 1, "d_3": 2, "d_5": 1} {
		if got := counted(t, s, id); got != want {
			t.Errorf("%s counted %d turns, want %d", id, got, want)
		}
	}
}

// A state that cannot be read is a failure of the scene, which names the agent: nothing of it
// becomes a fact, and the journal has what was lost.
func TestStateOfPassiveAgentIsDamaged(t *testing.T) {
	s, run := asleep(t)
	run.Damage("d_3")
	if _, err := run.Control(context.Background(), &control.Command{Do: control.Resume}); err != nil {
		t.Fatal(err)
	}
	r := run.Close()
	if r.Err == nil || !strings.Contains(r.Err.Error(), "agent d_3: its state cannot be read") || r.State.Tally.Restarts > 0 {
		t.Fatalf("%v, %d restarts", r.Err, r.State.Tally.Restarts)
	}
	if r := s.Run(t, scenestest.Settings{Orders: ordersOf(t, txtar.Parse([]byte("-- orders.yaml --\norders: [{id: call, at: 10s, do: [{event: {type: called, to: d_3}}]}]\n")), "orders.yaml", "")}); r.Err != nil || counted(t, s, "d_3") != 2 {
		t.Errorf("%v, d_3 counted %d turns after the restart; want 2", r.Err, counted(t, s, "d_3"))
	}
}

// worn is a file that cannot be read from some time on.
type worn struct {
	*os.File
	broken *atomic.Bool
	closed *atomic.Bool
}

func (w worn) ReadAt(b []byte, at int64) (int, error) {
	if w.broken.Load() {
		return 0, errors.New("input/output error")
	}
	return w.File.ReadAt(b, at)
}

func (worn) Discard(int64, int64) {}

func (w worn) Close() error {
	w.closed.Store(true)
	return w.File.Close()
}

// The file of passive agents is no part of the durability: when it cannot be read, the scene stops as
// with a failing disk, and the journal has all of it.
func TestPassiveFileCannotBeRead(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(strings.Replace(dozing, "count: 5", "count: 500", 1)))), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, broken, closed := scenestest.New(t, p, ""), &atomic.Bool{}, &atomic.Bool{}
	// The states that were written last lie in memory, and workers decide whose those are. So more agents are called
	// than a segment of 4 KiB has room for.
	var calls []string
	for i := range 200 {
		calls = append(calls, fmt.Sprintf("{event: {type: called, to: d_%d}}", i+3))
	}
	orders := "-- orders.yaml --\norders: [{id: call, at: 10s, do: [" + strings.Join(calls, ", ") + "]}]\n"
	set := scenestest.Settings{Passivate: 1, Memory: 1, Orders: ordersOf(t, txtar.Parse([]byte(orders)), "orders.yaml", "")}
	run, err := s.StartWith(set, func(o *scenes.Options) {
		o.Control = []control.Command{{Do: control.Pause}}
		o.PassiveFile = func() (seats.File, error) {
			f, err := os.CreateTemp(s.Dir, "passive-*")
			return worn{f, broken, closed}, err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Control(t.Context(), &control.Command{Do: control.Step, Until: protocol.Duration(time.Second)}); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	if _, err := run.Control(t.Context(), &control.Command{Do: control.Resume}); err != nil {
		t.Fatal(err)
	}
	r := run.Close()
	if _, disk := errors.AsType[*scenes.DiskFailure](r.Err); !disk || !strings.Contains(r.Err.Error(), "the file of passive agents") {
		t.Fatalf("%v; want a failure of the disk", r.Err)
	}
	if !closed.Load() {
		t.Error("the file has its room while the run waits for the disk")
	}
	if r := s.Run(t, set); r.Err != nil || counted(t, s, "d_3") != 2 || counted(t, s, "d_2") != 1 {
		t.Errorf("%v, d_3 counted %d turns after the resume, want 2; d_2 %d, want 1", r.Err, counted(t, s, "d_3"), counted(t, s, "d_2"))
	}
}

// An agent with an ephemeral event keeps its actor: no snapshot holds the payload.
func TestEphemeralEventsKeepAgentsSeated(t *testing.T) {
	p, err := scenestest.Load(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(dozing))), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ephemeral := range []bool{false, true} {
		m := scenestest.New(t, p, "").Made(t, scenestest.Settings{}).Machine(0)
		m.Hear(&protocol.Envelope{EventHeader: protocol.EventHeader{ID: "e1", Type: "called", Ephemeral: ephemeral}, Kind: protocol.KindEvent})
		if scenes.Stays(m) != ephemeral {
			t.Errorf("ephemeral %v: it stays: %v", ephemeral, !ephemeral)
		}
	}
}

// An agent that deliberates keeps its actor, however long its model takes and nobody tells it anything.
func TestWhoDeliberatesKeepsItsActor(t *testing.T) {
	s := scenestest.New(t, realtimeScene(t, "agent_instances: [{instance_id: slow, profile_id: person}, {instance_id: quick, profile_id: person, custom_runtime_config: {deliberation_frequency_hz: 2}}]\nsimulation: {clock: realtime, stop: {after: 15s}}"), "")
	synctest.Test(t, func(t *testing.T) {
		m := &slow{answer: func(_ context.Context, q *protocol.ModelRequest) (protocol.ModelAnswer, error) {
			if q.Agent == "slow" {
				<-time.After(10 * time.Second)
			}
			return protocol.ModelAnswer{Text: "done", Finish: protocol.FinishStop}, nil
		}}
		if r := live(t, s, scenestest.Settings{Model: m, Passivate: time.Second}).Close(); r.Err != nil || r.Reason != agenda.StoppedByTime {
			t.Error(r)
		}
	})
	ended, waves := 0, 0
	s.Facts(t, func(r protocol.Record, _ protocol.Fact) {
		if waves++; r.Actor == "slow" {
			ended++
		}
	}, agentfact.FactTurnEnded)
	if ended == 0 || waves < 20 {
		t.Errorf("%d turns of the slow agent ended, and %d of all", ended, waves)
	}
}
