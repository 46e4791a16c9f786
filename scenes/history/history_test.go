package history_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/world"
	"tavernsim/persistence"
	"tavernsim/persistence/pebbledb"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/scenestest"
)

// ran is the town that has run, under settings.
func ran(t *testing.T, set scenestest.Settings) *scenestest.Scene {
	t.Helper()
	s := town(t)
	if r := s.Run(t, set); r.Err != nil {
		t.Fatal(r)
	}
	return s
}

// ranInSteps is the town that was stopped every forty calls of its model: each stop
// comes after the wave of that call, whatever the load, and leaves a snapshot.
func ranInSteps(t *testing.T, set scenestest.Settings) *scenestest.Scene {
	t.Helper()
	return inSteps(t, town(t), 40, set)
}

// inSteps runs a scene to its end, and stops it after each so many requests.
func inSteps(t *testing.T, s *scenestest.Scene, requests int64, set scenestest.Settings) *scenestest.Scene {
	t.Helper()
	for final := false; !final; {
		var asked atomic.Int64
		r := s.RunUntil(t, set, func(*protocol.ModelRequest) bool { return asked.Add(1) == requests })
		if final = r.Final; r.Err != nil {
			t.Fatal(r)
		}
	}
	return s
}

// interrupted is the town that was stopped in its middle.
func interrupted(t *testing.T, set scenestest.Settings) *scenestest.Scene {
	t.Helper()
	s := town(t)
	var asked atomic.Int64
	if r := s.RunUntil(t, set, func(*protocol.ModelRequest) bool { return asked.Add(1) == 40 }); r.Err != nil || r.Final {
		t.Fatal(r)
	}
	return s
}

// town is the town, with files laid over it.
func town(t *testing.T, over ...string) *scenestest.Scene {
	t.Helper()
	return scenestest.New(t, scenestest.Town(t, over...), "")
}

func hashOf(t *testing.T, state *machines.State, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := state.Hash()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// Promise 1: every way to read goes with a journal that is open for reading only,
// and leaves every file as it was.
func TestReadingWritesNothing(t *testing.T) {
	set := scenestest.Settings{Snapshots: 50}
	s := ran(t, set)
	before := files(t, s.Dir)
	s.Journal(t, func(j *persistence.Journal) {
		made := s.Made(t, set)
		_, _, folded := history.Fold(made, j, history.Options{})
		_, to := history.FoldTo(made, j, 5, history.Options{NoSnapshots: true})
		_, one := history.Agent(made, j, 0, j.Durable().Number, history.Options{})
		_, found := history.Find(j, "2s")
		_, start := history.Start(j)
		_, end := history.End(j)
		if err := errors.Join(folded, to, one, found, start, end); err != nil {
			t.Error(err)
		}
		if _, err := history.Fork(made, j, history.Options{}, &agenda.Forked{}, nil); err == nil {
			t.Error("something was appended to a journal that is open for reading only")
		}
	})
	after := files(t, s.Dir)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, before there were %d", len(after), len(before))
	}
}

// files are the contents of a directory's files, but for the lock.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// steady is a scene whose state does not grow.
const steady = `-- scenes/day.yaml --
id: day
name: Day
schema_version: "1.0"
agent_instances: [{instance_id: "a_{n}", profile_id: person, count: 3, custom_runtime_config: {deliberation_frequency_hz: 1}}]
simulation: {stop: {ticks: 1}, model: models/steady.yaml}
-- models/steady.yaml --
otherwise: {calls: [{tool: UpdatePrivateStateTool, params: {path: n, op: add, value: 1}}]}
`

// Promise 2: a journal thirty times as long takes no more memory, near its end and
// afterwards, than the state that is asked for, but for some blocks that the
// database keeps.
func TestMemoryOfAFold(t *testing.T) {
	facts, taken := map[int64]uint64{}, map[string]map[int64]int64{"a fold": {}, "an agent": {}}
	for _, ticks := range []int64{50, 1500} {
		stop := agenda.Stop{Ticks: ticks}
		set := scenestest.Settings{Stop: &stop, Snapshots: -1}
		s := town(t, steady)
		if r := s.Run(t, set); r.Reason != agenda.StoppedByTicks {
			t.Fatal(r)
		}
		s.Journal(t, func(j *persistence.Journal) {
			made := s.Made(t, set)
			facts[ticks] = j.Durable().Last
			taken["a fold"][ticks] = memory(t, facts[ticks], func(opt history.Options) (any, error) {
				state, _, err := history.Fold(made, j, opt)
				return state, err
			})
			taken["an agent"][ticks] = memory(t, facts[ticks], func(opt history.Options) (any, error) {
				m, err := history.Agent(made, j, 0, j.Durable().Number, opt)
				return m, err
			})
		})
	}
	t.Logf("%v bytes for %v facts, by ticks", taken, facts)
	for what, taken := range taken {
		if facts[1500] < 20*facts[50] || taken[1500] > taken[50]+(1<<20) { // the facts alone are 2.5 MB
			t.Errorf("%s: %v bytes are taken for %v facts, by ticks", what, taken, facts)
		}
	}
}

// memory is what reading takes, whenever it tells how far it is, and at its end.
func memory(t *testing.T, facts uint64, read func(history.Options) (any, error)) (most int64) {
	t.Helper()
	before, told := live(), uint64(0)
	state, err := read(history.Options{NoSnapshots: true, Folding: func(uint64, uint64) {
		most, told = max(most, live()-before), told+1
	}})
	if err != nil || told != facts/(1<<14) {
		t.Fatalf("%v; it told %d times of %d facts", err, told, facts)
	}
	most = max(most, live()-before)
	runtime.KeepAlive(state)
	return most
}

func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Promise 3: with the newest snapshot damaged, with all of them, and with none, the
// state is the same; only more facts are read, and the log says why.
func TestABadSnapshotCostsTime(t *testing.T) {
	set := scenestest.Settings{}
	s := ranInSteps(t, set)
	made := s.Made(t, set)
	fold := func(warns bool) (hash string, facts uint64) {
		var log strings.Builder
		s.Journal(t, func(j *persistence.Journal) {
			state, n, err := history.Fold(made, j, history.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			hash, facts = hashOf(t, state, err), n
		})
		if warned := strings.Contains(log.String(), "cannot be used"); warned != warns {
			t.Errorf("the log says %q", log.String())
		}
		return hash, facts
	}
	want, read := fold(false)
	snaps := snapshotsOf(t, s)
	if len(snaps) < 2 {
		t.Fatalf("%d snapshots: nothing is tested", len(snaps))
	}
	for i := range snaps {
		name := snaps[len(snaps)-1-i]
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		// Where all are bad there is none to name those that were passed over.
		got, more := fold(i < len(snaps)-1)
		if got != want || more <= read {
			t.Errorf("%d are damaged: state %s after %d facts, want %s after more than %d", i+1, got, more, want, read)
		}
		read = more
	}
}

func snapshotsOf(t *testing.T, s *scenestest.Scene) []string {
	t.Helper()
	snaps, err := filepath.Glob(filepath.Join(s.Dir, "snapshots", "*", "*.snap"))
	if err != nil {
		t.Fatal(err)
	}
	return snaps
}

// Promise 3, where the first facts were dropped: the oldest snapshot takes their
// place; without a good one there is no way back.
func TestNoWayBack(t *testing.T) {
	set := scenestest.Settings{Snapshots: 20, BatchFacts: 7, Keep: persistence.Keep{Waves: 3}}
	s := ranInSteps(t, set)
	made := s.Made(t, set)
	var begin uint64
	s.Journal(t, func(j *persistence.Journal) {
		begin = j.Begin().Number
		a, _, errA := history.Fold(made, j, history.Options{})
		b, _, errB := history.Fold(made, j, history.Options{NoSnapshots: true})
		if hashOf(t, a, errA) != hashOf(t, b, errB) {
			t.Error("the oldest snapshot leads elsewhere than the newest")
		}
	})
	if begin == 0 {
		t.Fatal("nothing was dropped: nothing is tested")
	}
	for _, name := range snapshotsOf(t, s) {
		if err := os.WriteFile(name, []byte("no snapshot"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.Journal(t, func(j *persistence.Journal) {
		if _, _, err := history.Fold(made, j, history.Options{}); protocol.KindOf(err) != protocol.KindNotFound {
			t.Errorf("got %v, want it not found", err)
		}
	})
}

// Promise 4: a disk that fails at any write or sync leaves the journal as it was or
// with one whole wave more; what was answered without an error is there. A wave
// that is refused leaves nothing.
func TestAppendedWholeOrNot(t *testing.T) {
	set := scenestest.Settings{Snapshots: -1}
	s := interrupted(t, set)
	made := s.Made(t, set)
	var was persistence.Wave
	s.Journal(t, func(j *persistence.Journal) { was = j.Durable() })
	kept, failed := 0, 0
	for at := int64(0); kept == 0; at++ {
		disk := persistencetest.NewCrashDisk()
		if err := persistencetest.CopyDisk(persistencetest.OSDisk(), s.Dir, disk, "run"); err != nil {
			t.Fatal(err)
		}
		var armed atomic.Bool // read by the database's own goroutines, too
		var n atomic.Int64
		failing := persistencetest.FailingDisk(disk, func(op persistencetest.DiskOp) error {
			if !armed.Load() || !op.Write && !op.Sync && !op.Create || n.Add(1) <= at {
				return nil
			}
			return errors.New("no room")
		})
		wave, err := fork(t, failing, s, made, func() { armed.Store(true) })
		left := durable(t, disk.Kill(), s)
		switch {
		case err == nil && (left.Number != was.Number+1 || left != wave):
			t.Fatalf("operation %d: answered with wave %+v, left is %+v", at, wave, left)
		case err != nil && left != was && left.Number != was.Number+1:
			t.Fatalf("operation %d: %v, and left is %+v, before %+v", at, err, left, was)
		}
		if err == nil {
			kept++
		} else {
			failed++
		}
	}
	if failed == 0 {
		t.Error("it never failed: nothing is tested")
	}
}

// A wave whose second change of the world is refused is refused whole.
func TestARefusedForkLeavesNothing(t *testing.T) {
	s := interrupted(t, scenestest.Settings{})
	made := s.Made(t, scenestest.Settings{})
	store, err := persistence.Open(s.Dir, persistence.Options{Traces: history.Traces()})
	if err != nil {
		t.Fatal(err)
	}
	j, err := store.Journal(s.Def.Definition.ID)
	if err != nil {
		t.Fatal(err)
	}
	was := j.Durable()
	path := func(text string) world.Path {
		p, err := world.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	sets := []world.Request{{By: "$scene", Op: world.OpSet, Path: path("good"), Value: protocol.Encode(int64(1))}, {By: "$scene", Op: world.OpSet, Path: path("good.of.bad"), Value: protocol.Encode(int64(1))}}
	if _, err := history.Fork(made, j, history.Options{}, &agenda.Forked{}, sets); protocol.KindOf(err) != protocol.KindInvalid {
		t.Errorf("got %v, want it refused", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s.Journal(t, func(j *persistence.Journal) {
		if j.Durable() != was {
			t.Errorf("left is %+v, before %+v", j.Durable(), was)
		}
	})
}

// fork appends a wave to the journal on a disk; armed is called when it is open.
func fork(t *testing.T, disk pebbledb.FS, s *scenestest.Scene, made *setup.Scene, armed func()) (w persistence.Wave, err error) {
	t.Helper()
	onDisk(t, disk, s, func(j *persistence.Journal) {
		armed()
		w, err = history.Fork(made, j, history.Options{}, &agenda.Forked{Parent: "town"}, nil)
	})
	return w, err
}

func durable(t *testing.T, disk pebbledb.FS, s *scenestest.Scene) (w persistence.Wave) {
	t.Helper()
	onDisk(t, disk, s, func(j *persistence.Journal) { w = j.Durable() })
	return w
}

// onDisk opens the journal on a disk, for writing, while f runs.
func onDisk(t *testing.T, disk pebbledb.FS, s *scenestest.Scene, f func(*persistence.Journal)) {
	t.Helper()
	s.JournalIn(t, "run", persistence.Options{FS: disk}, f)
}

// A fact of a journal that no actor is named in concerns no agent.
func TestAFactOfNobody(t *testing.T) {
	set := scenestest.Settings{Snapshots: -1}
	s := interrupted(t, set)
	s.Journal(t, func(j *persistence.Journal) {
		f := forged{j, protocol.Record{Kind: agentfact.FactSaid, Data: protocol.Encode(nil)}}
		if _, err := history.Agent(s.Made(t, set), f, 0, f.Durable().Number, history.Options{}); err != nil {
			t.Error(err)
		}
	})
}

// forged is a journal with one more fact.
type forged struct {
	history.Journal
	fact protocol.Record
}

func (f forged) Scan(q persistence.Query, yield func(protocol.Record) error) error {
	if err := yield(f.fact); err != nil {
		return err
	}
	return f.Journal.Scan(q, yield)
}

// The start of a scene is known when its first facts were dropped, with a budget or
// without: the snapshots differ.
func TestStartOfDroppedFacts(t *testing.T) {
	for _, budget := range []string{"", "budget: {calls: 100000}"} {
		set := scenestest.Settings{Snapshots: 20, BatchFacts: 7, Keep: persistence.Keep{Waves: 3}}
		s := inSteps(t, town(t, "-- scenes/day.yaml --\n"+quietDay+budget), 10, set)
		s.Journal(t, func(j *persistence.Journal) {
			if start, err := history.Start(j); err != nil || start == 0 || j.Begin().Number == 0 {
				t.Error(budget, start, err, j.Begin().Number)
			}
		})
	}
}

const quietDay = `id: day
name: Day
schema_version: "1.0"
agent_instances: [{instance_id: "c_{n}", profile_id: citizen, count: 4}]
initial_world_state: {till: 0, log: [], fountain: dry}
simulation: {stop: {ticks: 20}, seed: 3}
`
