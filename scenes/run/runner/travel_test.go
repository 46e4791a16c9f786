package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent"
	"tavernsim/engine/order"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/run/room"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
)

// travelEnv is the seed of the trips of a child.
const travelEnv = "SIMD_TRAVEL_CHILD"

// Walkers begin in the town. The mill has no place for the last two. In the inn everybody is passive
// after each turn, in the town after a while, in the mill nobody. Town and inn have space, and the
// hall of the inn is full soon. All share what they learn; the inn keeps it, and ends before the others.
const (
	walkers = 12
	roaming = `
-- agent_profiles/walker.yaml --
id: walker
name: Walker
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
initial_private_state_values: {coins: 3}
subscribed_event_types: [agent.departed, agent.arrived, agent.returned, walk.*]
custom_runtime_config: {deliberation_frequency_hz: 0.1}
tool_ids_inventory: [UpdatePrivateStateTool, PublishEventTool, WriteToKnowledgeBaseTool, QueryKnowledgeBaseTool]
knowledge_base_references: [{source_id: lore, access_permissions: [read, write_caiu]}]
-- knowledgebases/lore.yaml --
id: lore
shared: project
scenes: [inn, mill, town]
learning: {keep: 8}
-- scenes/town.yaml --
id: town
name: Town
schema_version: "1.0"
links: [{to: inn, travel: 3s}]
simulation: {stop: {after: 200s}, limits: {passivate_after: 3s}}
space: {grid: {width: 8, height: 4}, places: {well: {at: [6, 3]}}}
agent_instances: [{instance_id: "p_{n}", profile_id: walker, count: 12, place: "0,0..7,3"}]
-- scenes/inn.yaml --
id: inn
name: Inn
schema_version: "1.0"
links: [{to: town, travel: 4s}, {to: mill, travel: 5s}]
simulation: {stop: {after: 170s}, limits: {passivate_after: 1ms}}
space: {places: {hall: {exits: {yard: 7s}, capacity: 4}, yard: {exits: {hall: 7s}}}}
agent_instances: [{instance_id: "p_{n}", profile_id: walker, count: 12, spawnable: true, place: hall}]
-- scenes/mill.yaml --
id: mill
name: Mill
schema_version: "1.0"
links: [{to: town, travel: 2s}, {to: inn, travel: 6s}]
simulation: {stop: {after: 210s}}
agent_instances: [{instance_id: "p_{n}", profile_id: walker, count: 10, spawnable: true}]
-- models/voices.yaml --
rules:
  - match: {agent: p_2, variables: {turn: 3}}
    answer: {calls: [{tool: PublishEventTool, params: {type: walk.asked, expects_reply: true, target_agent_instance_id: p_1, payload: {what: coins}}}]}
  - match: {chance: 0.3}
    answer:
      text: "{{.variables.turn}} {{range .variables.observations}}{{.kind}} {{.value}} {{end}}"
      calls:
        - {tool: UpdatePrivateStateTool, params: {path: coins, op: add, value: 1}}
        - {tool: WriteToKnowledgeBaseTool, params: {entry: {entry_type: best_practice, content: 'At {{pick "dawn" "noon" "dusk"}} {{pick "sell" "hide" "count" "guard"}} the {{pick "salmon" "barley" "oxen"}}.'}}}
  - match: {chance: 0.2}
    answer:
      text: "{{.variables.turn}} {{range .variables.observations}}{{.kind}} {{.value}} {{end}}"
      calls:
        - {tool: UpdatePrivateStateTool, params: {path: coins, op: add, value: 1}}
        - {tool: WriteToKnowledgeBaseTool, params: {op: '{{pick "update" "archive"}}', entry: {id: 'best_practice.{{pick "inn" "town" "mill"}}/p_{{randInt 1 12}}.{{randInt 1 30}}'}}}
        - {tool: QueryKnowledgeBaseTool, params: {query: salmon oxen}}
otherwise: {text: "{{.variables.turn}} {{.variables.private_state}} {{range .variables.incoming_events}}{{.type}} {{end}}{{range .variables.observations}}{{.kind}} {{end}}", calls: [{tool: UpdatePrivateStateTool, params: {path: coins, op: add, value: 1}}]}
`
)

func roamingTown() (*project.Project, error) {
	return LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(roaming))), "roaming", true)
}

// trips are orders at random times that send random agents on, wherever they are then.
func trips(seed uint64, n int) (list []order.Entry) {
	rng := rand.New(rand.NewPCG(seed, 1))
	links := map[string][]string{"town": {"inn"}, "inn": {"town", "mill"}, "mill": {"town"}}
	ids := []string{"town", "inn", "mill"}
	for i := range n {
		scene := ids[rng.IntN(3)]
		to := links[scene][rng.IntN(len(links[scene]))]
		var who []any
		for range 1 + rng.IntN(3) {
			who = append(who, fmt.Sprintf("p_%d", 1+rng.IntN(10)))
		}
		if scene != "mill" && rng.IntN(3) == 0 {
			who = append(who, fmt.Sprintf("p_%d", 11+rng.IntN(2)))
		}
		do := map[string]any{"travel": map[string]any{"agents": who, "to": to}}
		if walks := map[string]string{"town": "well", "inn": "yard"}[scene]; walks != "" && rng.IntN(4) == 0 {
			do = map[string]any{"move": map[string]any{"agents": who[:1], "to": walks}}
		}
		list = append(list, order.Entry{ID: fmt.Sprintf("o%d", i), Scene: scene, At: protocol.Duration(time.Duration(1+rng.IntN(190)) * time.Second), Do: []any{do}})
	}
	return list
}

func travelOptions(dir string, seed uint64, n, workers int) Options {
	drawn := uint64(7)
	return Options{Dir: dir, Scenes: []string{"town", "inn", "mill"}, Seed: &drawn, Workers: workers, Orders: trips(seed, n), BatchFacts: 20, Snapshots: machines.SnapshotPolicy{Facts: 150}}
}

// whereabouts says where every walker is when the run is over, and counts the turns of those that are away from home.
func whereabouts(t *testing.T, dir string) (elsewhere uint64) {
	t.Helper()
	opened, err := rundir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	states := map[string]*machines.State{}
	places := map[string][]string{}
	for _, id := range opened.Manifest.Scenes {
		made, journal, err := opened.Scene(id)
		if err != nil {
			t.Fatal(err)
		}
		states[id], _, err = history.Fold(made, journal, history.Options{})
		if err = errors.Join(err, journal.Close()); err != nil {
			t.Fatal(err)
		}
		for o := range states[id].Size() {
			if at := states[id].Shown().Space(); at != nil && states[id].Agenda.Away(uint32(o)) {
				if _, _, there := at.Where(uint32(o)); there {
					t.Errorf("%s is away from %s, and on its map", made.Name(uint32(o)), id)
				}
			}
			if !states[id].Agenda.Away(uint32(o)) {
				places[made.Name(uint32(o))] = append(places[made.Name(uint32(o))], id)
				mustCarry(t, id, states[id].Agents[o])
			}
		}
		for _, x := range states[id].Travel.Extra {
			elsewhere += x.Turns
		}
	}
	want := sharedBase(states["inn"])
	for _, id := range opened.Manifest.Scenes { // what the inn told last is there
		if got := sharedBase(states[id]); got != want {
			t.Errorf("in %s the base is\n%s\nin the inn\n%s", id, got, want)
		}
		for _, trip := range states[id].Travel.Open {
			why, had := states[trip.To].Travel.Has(id, trip.Number)
			if !had || why != "" {
				name := states[id].Agents[trip.Agent].ID.Instance
				places[name] = append(places[name], id+" to "+trip.To)
			}
		}
	}
	for n := range walkers {
		name := fmt.Sprintf("p_%d", n+1)
		if len(places[name]) != 1 {
			t.Errorf("%s is at %q", name, places[name])
		}
	}
	return elsewhere
}

// sharedBase is the base that the scenes share.
func sharedBase(s *machines.State) string {
	var b strings.Builder
	lore, _ := s.Knowledge().Base("lore")
	for e := range lore.Entries() {
		fmt.Fprintln(&b, e.Value())
	}
	return b.String()
}

// mustCarry holds that an agent has a coin for each of its turns, wherever it had them.
func mustCarry(t *testing.T, scene string, m *agent.Machine) {
	t.Helper()
	coins, _ := m.State.Private["coins"].(int64)
	want := 3 + int64(m.State.Turn)
	if asked := m.ID.Instance == "p_2" && m.State.Turn >= 3; asked { // in its third turn it does something else
		want--
	}
	if coins != want {
		t.Errorf("%s in %s has %d coins after %d turns, want %d", m.ID.Instance, scene, coins, m.State.Turn, want)
	}
}

func verified(t *testing.T, dir string) {
	t.Helper()
	r, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Scenes {
		if s.Differs() {
			t.Errorf("%+v", s)
		}
	}
}

// Nobody is lost and nobody doubled, and every run has the same arrivals, on any number of
// workers and over kills at any moment.
func TestTravel(t *testing.T) {
	p, err := roamingTown()
	if err != nil {
		t.Fatal(err)
	}
	orders, failures, counts := 120, 12, []int{1, 7}
	if scenestest.Long() {
		failures, counts = 40, []int{1, 2, 7}
	} else if testing.Short() {
		orders, failures, counts = 60, 3, []int{7} // the run on a failing disk has two
	}
	seed := crashSeed(t)
	want := ""
	for _, workers := range counts {
		opt := travelOptions(filepath.Join(t.TempDir(), "run"), seed, orders, workers)
		sum := run(t, p, opt)
		if want == "" {
			want = sum.Digests()
			if n := whereabouts(t, opt.Dir); n < uint64(orders)/6 {
				t.Errorf("only %d turns elsewhere", n)
			}
			verified(t, opt.Dir)
		}
		if sum.Digests() != want {
			t.Fatalf("%d workers: %s, want %s", workers, sum.Digests(), want)
		}
	}
	t.Run("failing disk", func(t *testing.T) { fails(t, p, seed, orders, failures, want) })
}

// fails runs on a disk that fails again and again, at most so often: what was not durable is lost.
func fails(t *testing.T, p *project.Project, seed uint64, orders, most int, want string) {
	rng := rand.New(rand.NewPCG(seed, 2))
	opt := travelOptions(filepath.Join(t.TempDir(), "run"), seed, orders, 2)
	var left atomic.Int64
	opt.FS = persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
		if op.Write && left.Add(-1) < 0 {
			return syscall.ENOSPC
		}
		return nil
	})
	left.Store(60)
	r, err := Start(p, opt)
	failures := 0
	for {
		var sum *rundir.Summary
		if err == nil {
			sum, err = r.Wait()
		}
		if err == nil {
			if sum.Digests() != want {
				t.Errorf("after %d failures: %s, want %s", failures, sum.Digests(), want)
			}
			break
		}
		if failed := (*scenes.DiskFailure)(nil); !errors.As(err, &failed) && !room.OfDisk(err) {
			t.Fatal(err)
		}
		failures++
		left.Store(int64(60 + rng.IntN(60)))
		if failures >= most {
			left.Store(1 << 40)
		}
		r, err = Resume(opt.Dir, Options{FS: opt.FS, Workers: 2, Finish: true})
	}
	if failures < 3 {
		t.Errorf("the disk failed %d times", failures)
	}
	whereabouts(t, opt.Dir)
	verified(t, opt.Dir)
}

// travelChild runs the trips, or goes on with them, until it is killed.
func travelChild(dir string) error {
	var seed uint64
	var n int
	if _, err := fmt.Sscan(os.Getenv(travelEnv), &seed, &n); err != nil {
		return err
	}
	var r *Runner
	var err error
	if exists(filepath.Join(dir, "manifest.json")) {
		r, err = Resume(dir, Options{})
	} else if err = os.RemoveAll(dir); err == nil {
		p, loadErr := roamingTown()
		if loadErr != nil {
			return loadErr
		}
		r, err = Start(p, travelOptions(dir, seed, n, 2))
	}
	if protocol.KindOf(err) == protocol.KindConflict {
		return printEnded(dir, err)
	}
	if err != nil {
		return err
	}
	s, err := r.Wait()
	if err == nil {
		fmt.Println("digest", s.Digests())
	}
	return err
}

// Row: a thousand trips with processes that are killed at random.
func TestTravelKilled(t *testing.T) {
	orders, kills := 150, 4
	if scenestest.Long() {
		orders, kills = 1500, 60
	} else if testing.Short() {
		t.Skip("processes are killed")
	}
	p, err := roamingTown()
	if err != nil {
		t.Fatal(err)
	}
	seed := crashSeed(t)
	whole := travelOptions(filepath.Join(t.TempDir(), "run"), seed, orders, 2)
	began := time.Now()
	want := run(t, p, whole).Digests()
	took := time.Since(began)
	rng, dir := rand.New(rand.NewPCG(seed, 3)), ""
	t.Setenv(travelEnv, fmt.Sprintf("%d %d", seed, orders))
	done, all := 0, uint64(0)
	for done < kills {
		dir = filepath.Join(t.TempDir(), "killed")
		done += killed(t, rng, dir, took, want)
		all += whereabouts(t, dir)
	}
	t.Logf("%d turns elsewhere, %d kills", all, done)
}

// killed runs the trips to their end in processes that are killed at random moments.
func killed(t *testing.T, rng *rand.Rand, dir string, took time.Duration, want string) (done int) {
	t.Helper()
	for ended := false; !ended; {
		ctx, kill := context.WithCancel(t.Context())
		child := exec.CommandContext(ctx, os.Args[0])
		child.Env, child.Stderr = append(os.Environ(), childEnv+"="+dir), os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if done < killsPerRun {
			timer := time.AfterFunc(time.Duration(rng.Int64N(int64(took)+1)), kill)
			defer timer.Stop()
		}
		err := child.Wait()
		kill()
		var exit *exec.ExitError
		switch {
		case err == nil, errors.Is(err, context.Canceled):
			ended = true // a kill that came too late, or none
		case errors.As(err, &exit) && exit.ExitCode() == -1:
			done++
		default:
			t.Fatalf("the child ended by itself: %v", err)
		}
	}
	replayed, err := rundir.Replay(t.Context(), dir, rundir.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range replayed.Scenes {
		if !strings.Contains(want, s.Digest) {
			t.Errorf("scene %s: %s is none of %s", s.Scene, s.Digest, want)
		}
	}
	verified(t, dir)
	return done
}
