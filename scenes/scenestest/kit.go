// Package scenestest runs small projects in tests and shows what happened in
// them as text.
//
// A [Scene] is one scene of a project with the folder of its journal. Start
// runs it with [Settings]; its journal can be started again, folded and
// printed. The end of the test closes everything.
//
// # Not here
//
// Assertions about one rule: they are in the tests.
package scenestest

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/workflow"
	"tavernsim/internal/metrics"
	"tavernsim/llm"
	"tavernsim/llm/scripted"
	"tavernsim/persistence"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/seats"
	"tavernsim/scenes/timing"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools"
	"tavernsim/tools/grants"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/secrets"
)

// Files makes a file system of the files of archives; later ones win.
func Files(archives ...*txtar.Archive) fs.FS {
	m := fstest.MapFS{}
	for _, a := range archives {
		for _, f := range a.Files {
			m[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
		}
	}
	return m
}

// Load loads a project; kinds and tools are added to the ones that the program has.
func Load(fsys fs.FS, kinds workflow.Kinds, tools ...string) (*project.Project, error) {
	all := setup.NodeKinds()
	maps.Copy(all, kinds)
	return project.Load(fsys, project.Options{Name: "test", Tools: append(agent.ProfileTools(), tools...), Kinds: all, Stops: true})
}

// Scene is a scene under test and where its journal lies.
type Scene struct {
	Project *project.Project
	Def     *project.Scene
	Dir     string
}

// New takes the scene of a project ("" = its default one) and a fresh folder.
func New(t testing.TB, p *project.Project, id string) *Scene {
	t.Helper()
	def, err := p.Scene(id)
	if err != nil {
		t.Fatal(err)
	}
	return &Scene{Project: p, Def: def, Dir: t.TempDir()}
}

// Fresh is the same scene with an empty journal.
func (s *Scene) Fresh(t testing.TB) *Scene {
	return &Scene{Project: s.Project, Def: s.Def, Dir: t.TempDir()}
}

// Settings of one start. What may not be seen in the digest is everything but
// Seed, Agents, Clock, Model, Stop and Until.
type Settings struct {
	Seed   uint64 // 0 = the scene's, or 1
	Agents int
	Clock  agenda.ClockKind
	Model  llm.Provider // nil = the project's script
	Stop   *agenda.Stop // nil = the scene's
	Until  string

	Workers    int
	BatchFacts int
	Snapshots  int64 // facts between two
	Keep       persistence.Keep
	Policy     machines.SnapshotPolicy // wins over Snapshots when it has anything
	Durability persistence.Durability
	Tables     int // bytes that the store collects before it writes a table; 0 = 1 MiB, so that some are written
	Middleware delivery.Chain
	External   []agent.External
	Executors  []outside.Entry // who carries External out
	Tools      tooling.Mode    // of the tools of the project; "" = mock
	Services   map[string]tools.Executor
	Sandbox    *sandbox.Box
	Secrets    *secrets.Store
	Mounts     tooling.Mounts
	Grants     *grants.Store // nil = tools have all that they ask for
	Leave      tooling.Leave
	StuckAfter time.Duration // 0 = nobody looks whether actors are stuck
	Stuck      func(actors.Stuck) (free func())
	Orders     []*machines.Order
	Endpoints  map[string]*budget.Budget // budgets of endpoints
	People     bool                      // can be asked
	Passivate  time.Duration             // in place of the scene's passivate_after; 0 = that, or SIMD_TEST_PASSIVATE
	Memory     int64                     // of passive agents' states, beyond which they lie in a file; 0 = the default
	// InterruptAt interrupts the run as soon as this wave is durable; 0 = never.
	InterruptAt uint64
	// FS replaces the operating system's; nil = that.
	FS pebbledb.FS
	// Kept is told of every durable wave, on the journal's goroutine.
	Kept func(persistence.Wave)
	// Closing is called before a wave is closed in the journal, on the stage's goroutine, which waits for it.
	Closing func()
}

// closing is a journal with Settings.Closing.
type closing struct {
	scenes.Journal
	before func()
}

// CloseWaveLater implements scenes.Journal.
func (c closing) CloseWaveLater(done func(persistence.Wave, error)) (uint64, error) {
	c.before()
	return c.Journal.CloseWaveLater(done)
}

// Running is a scene that was started.
type Running struct {
	*scenes.Run
	store  *persistence.Store
	system *actors.System
	hands  *tooling.Set
	dead   atomic.Int64
}

// Result is what a run left.
type Result struct {
	scenes.Outcome
	DeadLetters int64
}

// Digest is that of the last durable wave.
func (r Result) Digest() string { return r.Wave.Digest.String() }

// Start opens the journal and starts the scene.
func (s *Scene) Start(set Settings) (*Running, error) { return s.StartWith(set) }

// StartWith is Start with options that settings do not have.
func (s *Scene) StartWith(set Settings, change ...func(*scenes.Options)) (*Running, error) {
	w := &watcher{set: &set}
	r, err := s.open(w)
	if err != nil {
		return nil, err
	}
	journal, err := r.store.Journal(s.Def.Definition.ID)
	if err == nil {
		err = s.launch(r, journal, set, change)
	}
	if err != nil {
		r.system.Close()
		_ = r.store.Close()
		return nil, err
	}
	w.run.Store(r.Run)
	return r, nil
}

// open opens what a start needs: the store and the system of actors.
func (s *Scene) open(w *watcher) (*Running, error) {
	set := w.set
	store, err := persistence.Open(s.Dir, persistence.Options{BatchFacts: set.BatchFacts, Durability: set.Durability, Observer: w, MemTableSize: cmp.Or(set.Tables, 1<<20), Traces: history.Traces(), FS: set.FS, Keep: set.Keep})
	if err != nil {
		return nil, err
	}
	r := &Running{store: store}
	r.system = actors.NewSystem(actors.Options{Workers: set.Workers, StuckAfter: set.StuckAfter, Stuck: set.Stuck, DeadLetter: func(d actors.DeadLetter) {
		if d.Reason != actors.ReasonStopped {
			r.dead.Add(1)
		}
	}})
	return r, nil
}

func (s *Scene) launch(r *Running, journal scenes.Journal, set Settings, change []func(*scenes.Options)) error {
	made, err := s.made(set)
	if err != nil {
		return err
	}
	opt, hands, err := s.options(set)
	if err != nil {
		return err
	}
	opt.System, r.hands = r.system, hands
	opt.PassiveFile, opt.PassiveMemory = func() (seats.File, error) { return seats.Scratch(s.Dir) }, set.Memory
	opt.Effects = func() (outside.Journal, error) { return r.store.Direct(outside.JournalID(made.ID)) }
	for _, f := range change {
		f(&opt)
	}
	if set.Closing != nil {
		journal = closing{journal, set.Closing}
	}
	r.Run, err = scenes.Start(made, journal, opt)
	return err
}

// made is what the scene is made of under the settings.
func (s *Scene) made(set Settings) (*setup.Scene, error) {
	seed := set.Seed
	if own := s.Def.Definition.Simulation.Seed; seed == 0 && own != nil {
		seed = *own
	}
	return setup.New(s.Project, s.Def, setup.Options{
		Seed: max(seed, 1), Clock: set.Clock, Agents: set.Agents, Until: set.Until, ProjectHash: s.Project.Hash(), Middleware: set.Middleware, External: set.External, Endpoints: set.Endpoints, Interactive: set.People, Tools: string(cmp.Or(set.Tools, tooling.Mock)),
	})
}

func (s *Scene) options(set Settings) (scenes.Options, *tooling.Set, error) {
	opt := scenes.Options{
		Stop: s.Def.Definition.Simulation.Stop, Snapshots: set.policy(), Model: set.Model, Executors: set.Executors,
		Metrics: metrics.New().Scene(s.Def.Definition.ID), Latency: timing.NewLatency(), Orders: set.Orders, PassivateAfter: set.Passivate,
	}
	if env := os.Getenv("SIMD_TEST_PASSIVATE"); env != "" && set.Passivate == 0 {
		var err error
		if opt.PassivateAfter, err = time.ParseDuration(env); err != nil {
			return opt, nil, err
		}
	}
	if set.Stop != nil {
		opt.Stop = *set.Stop
	}
	hands, err := tooling.New(tooling.Options{Project: s.Project, Scene: s.Def.Definition.ID, Mode: cmp.Or(set.Tools, tooling.Mock), Run: "test", Services: set.Services, Sandbox: set.Sandbox, Secrets: set.Secrets, Grants: set.grants(s.Project), Artifacts: artifacts.Of(s.Dir), Mounts: set.Mounts})
	if err != nil {
		return opt, nil, err
	}
	opt.Executors = append(slices.Clone(opt.Executors), hands.Asking(set.Leave, s.Project.Policy() != nil)...)
	opt.Pictures = set.Mounts.Pictures(artifacts.Of(s.Dir))
	if opt.Model == nil {
		opt.Model, err = Model(s.Project, s.Def)
	}
	return opt, hands, err
}

func (set *Settings) grants(p *project.Project) *grants.Store {
	if set.Grants != nil {
		return set.Grants
	}
	all := &grants.Store{}
	for _, a := range needs.Of(p, needs.Place{}) {
		all.Give(&a)
	}
	return all
}

func (set *Settings) policy() machines.SnapshotPolicy {
	if set.Policy != (machines.SnapshotPolicy{}) {
		return set.Policy
	}
	return machines.SnapshotPolicy{Facts: set.Snapshots}
}

// Model is the scripted model of a scene.
func Model(p *project.Project, def *project.Scene) (llm.Provider, error) {
	file := def.Definition.Simulation.Model
	if file == "" {
		return scripted.Default()
	}
	data, ok := p.Model(file)
	if !ok {
		return nil, protocol.Errorf(protocol.KindNotFound, "model file %s", file)
	}
	return scripted.Load(file, data)
}

// Close waits for the end of the run and closes everything.
func (r *Running) Close() Result {
	res := Result{Outcome: r.Wait()}
	r.system.Close()
	_ = r.hands.Close()
	_ = r.store.Close()
	res.DeadLetters = r.dead.Load()
	return res
}

// Run starts the scene and waits for its end.
func (s *Scene) Run(t testing.TB, set Settings) Result {
	t.Helper()
	r, err := s.Start(set)
	if err != nil {
		t.Fatal(err)
	}
	return r.Close()
}

// Journal opens the journal for reading while f runs.
func (s *Scene) Journal(t testing.TB, f func(j *persistence.Journal)) {
	t.Helper()
	s.JournalIn(t, s.Dir, persistence.Options{ReadOnly: true}, f)
}

// JournalIn opens the scene's journal in any store while f runs.
func (s *Scene) JournalIn(t testing.TB, dir string, opt persistence.Options, f func(j *persistence.Journal)) {
	t.Helper()
	opt.Traces = history.Traces()
	store, err := persistence.Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	j, err := store.Journal(s.Def.Definition.ID)
	if err != nil {
		t.Fatal(err)
	}
	f(j)
}

// Facts calls each for the facts of the scene's journal, of the kinds if some are named.
func (s *Scene) Facts(t testing.TB, each func(protocol.Record, protocol.Fact), kinds ...string) {
	t.Helper()
	codec := machines.NewCodec()
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{Kinds: kinds}, func(r protocol.Record) error {
			f, err := codec.ReadFact(r.Kind, r.Data)
			if err == nil {
				each(r, f)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// Fold folds the journal from its first fact.
func (s *Scene) Fold(t testing.TB, set Settings) (state *machines.State) {
	t.Helper()
	var err error
	s.Journal(t, func(j *persistence.Journal) {
		state, _, err = history.Fold(s.Made(t, set), j, history.Options{NoSnapshots: true})
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// FoldHash is the hash of the folded state.
func (s *Scene) FoldHash(t testing.TB, set Settings) string {
	t.Helper()
	hash, err := s.Fold(t, set).Hash()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// Made is what Start would run: for folds with more than this kit has.
func (s *Scene) Made(t testing.TB, set Settings) *setup.Scene {
	t.Helper()
	made, err := s.made(set)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Rewrite is the same scene with a journal in which change has changed facts:
// one whose digests hold and whose history never was.
func (s *Scene) Rewrite(t testing.TB, change func(r *protocol.Record)) *Scene {
	t.Helper()
	other := s.Fresh(t)
	store, err := persistence.Open(other.Dir, persistence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	to, err := store.Journal(s.Def.Definition.ID)
	if err != nil {
		t.Fatal(err)
	}
	s.Journal(t, func(from *persistence.Journal) {
		err := from.Waves(1, func(w persistence.Wave) error {
			err := from.Scan(persistence.Query{From: w.First, To: w.Last}, func(r protocol.Record) error {
				change(&r)
				_, err := to.Append(r.Time, r.Actor, r.Kind, r.Data)
				return err
			})
			if err == nil {
				_, err = to.CloseWave(nil)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return other
}

// watcher passes durable waves on.
type watcher struct {
	set *Settings
	run atomic.Pointer[scenes.Run]
}

func (w *watcher) BlockStored(string, int, int, int)                 {}
func (w *watcher) Waited(string, time.Duration)                      {}
func (w *watcher) SnapshotSaved(string, int64, time.Duration, error) {}
func (w *watcher) WaveKept(id string, k persistence.Wave, _, _ time.Duration) {
	if _, other := outside.SceneOf(id); other {
		return
	}
	if w.set.Kept != nil {
		w.set.Kept(k)
	}
	if at := w.set.InterruptAt; at > 0 && k.Number >= at {
		if run := w.run.Load(); run != nil {
			run.Interrupt()
		}
	}
}

// Kind makes a node kind with one input "in" and one output "out", both of any
// type, out of a function.
func Kind(f func(in any) any) workflow.Kind {
	return workflow.KindFunc(func(s *workflow.Setup) workflow.Body {
		return &simple{f: f, in: s.In(workflow.In{Name: "in", Type: workflow.Wildcard}), out: s.Out("out", workflow.ConvertibleAny)}
	})
}

type simple struct {
	f       func(any) any
	in, out int
}

// Run implements workflow.Body.
func (n *simple) Run(x *workflow.Exec) error {
	x.Set(n.out, n.f(x.In(n.in)))
	return nil
}

// String names a result for messages.
func (r Result) String() string {
	return fmt.Sprintf("stopped by %s at wave %d, digest %s, error %v", r.Reason, r.Wave.Number, r.Digest(), r.Err)
}
