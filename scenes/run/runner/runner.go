// Package runner runs scenes of one project, side by side in one process.
//
// A [Host] owns what the runs of a process share: workers, metrics, log. [Host.Add] makes
// the run directory (scenes/run/rundir) and starts the scenes; [Host.Resume] continues
// from the directory of a run that was stopped or killed. You must call [Runner.Wait],
// which ends the run and returns the summary, or [Host.Remove]. [Start] and [Resume] are
// those of a host with one run, which ends with it. Package scenes/run/restarts continues a
// run after failures that it can survive.
//
// Package log of Go must write nothing that others read while runs go on: by its standard logger net/http prints the
// first bytes that a server sends without being asked, and a server may send back a key or a secret that it got.
// No transport can be told to keep them. A program that runs scenes calls log.SetOutput(io.Discard) when it begins,
// as simd does, and has a logger of its own.
//
// # Promises
//
//  1. Nothing is written before the whole project has been checked.
//  2. A run that was interrupted, by a signal or by a kill, is resumed with its
//     original inputs and options, from its own directory alone.
//  3. The scenes of a run share the process and the store. The facts of a scene depend on
//     another one only if the two are linked (scenes/links).
//  4. If the disk fails before any scene runs, Start or Resume returns an error.
//     After that, Wait returns the error with a summary from which the run can be
//     resumed, even if other scenes could not begin.
//  5. The runs of a host share no fact, no store and no series of metrics, also when
//     they run the same scene. After [Host.Remove] nothing is left of a run but its
//     directory: no actor, no goroutine, no series.
//
// # Not here
//
// The command line; signals; restarts (scenes/run/restarts); the behaviour of a scene; the content of a run
// directory.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/budget"
	"tavernsim/engine/bus/delivery"
	"tavernsim/engine/control"
	"tavernsim/engine/order"
	"tavernsim/internal/metrics"
	"tavernsim/llm/endpoint"
	"tavernsim/llm/models"
	"tavernsim/llm/replay"
	"tavernsim/llm/store"
	"tavernsim/persistence"
	"tavernsim/persistence/pebbledb"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/links"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/interact"
	"tavernsim/scenes/run/recorded"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/timing"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/scenes/tooling/overrides"
	"tavernsim/tools"
	"tavernsim/tools/grants"
	"tavernsim/tools/plugin"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/secrets"
)

// Options of a run. The zero value runs the default scene into a new directory
// below runs/.
type Options struct {
	Scenes     []string          // ids; none = the default scene
	Dir        string            // run directory; "" = runs/<time>-<scene>
	ProjectDir string            // whence the project was loaded: no run directory among its definitions, and the grants are those of this folder; "" = no folder
	Seed       *uint64           // nil = the scene's, else drawn
	Seeds      map[string]uint64 // by scene id; wins over Seed
	Clock      agenda.ClockKind
	Agents     int // scales the counts of agent_instances; 0 = as defined
	For        time.Duration
	Ticks      int64
	Until      string
	Schedule   scenes.Schedule // which turns run ahead; a resumed run may have another
	Durability persistence.Durability
	BatchFacts int // facts of one stored block; 0 = 4096

	// Snapshots says when snapshots are taken; a resumed run takes each part that
	// is not given from its manifest.
	Snapshots machines.SnapshotPolicy
	// Keep is how much history is kept, as persistence.ParseKeep reads it; "" = as
	// the manifest says, all of a new run.
	Keep    string
	Version string
	Args    []string // of the program, for the manifest
	// Workers, Metrics and Log make the host of Start and Resume. A host that exists has
	// its own: see HostOptions.
	Workers int
	Metrics *metrics.Set
	Log     *slog.Logger
	// Budget bounds what the scenes spend on models together; nil = as the manifest says,
	// none of a new run. One that is given to a run that goes on also takes the place of the
	// scenes' own.
	Budget *budget.Budget
	// Model replaces the model that answers requests without a name: the name of a file
	// in models/, or "scripted", which makes scripts answer for every model. "" = the
	// scene's.
	Model string
	// Endpoints are the user's, by name (endpoint.Load). Without one a script answers for
	// every model. The caller closes them after the run.
	Endpoints map[string]*endpoint.Endpoint
	// Answers names recorded answers, which are taken before an endpoint is asked: a run
	// directory, or a cassette. "" = none; a resumed run has those that it began with.
	Answers string
	// OnMiss says what becomes of a question without a recorded answer: MissAsk, the
	// default, or MissFail.
	OnMiss string
	// Store has answers of earlier runs (scenes/run/answerstore); several runs of a process may share it.
	// The caller closes it after them. nil = none.
	Store *store.Store
	// External are tools of the program that embeds the run, and Executors carry them
	// out: see setup.Options. The ids are those with which the project was loaded, and the
	// kinds are none of setup.OwnKinds. Whoever goes on with the run gives the same again.
	External  []agent.External
	Executors []outside.Entry
	// Tools says what carries out the tools that the project defines: see package
	// scenes/tooling. A resumed run goes on with the mode that it began with. Services are
	// executors of the program for the tools of the type service, by name.
	// ToolAnswers is the run directory whose recorded answers tooling.Replay gives again; a
	// resumed run has those that it began with.
	Tools       tooling.Mode
	ToolAnswers string
	Services    map[string]tools.Executor
	// Sandbox runs tools that are programs, and code of agents. Whoever gives one calls
	// sandbox.Reexec first in the main function, and cores.None if no core may have secrets.
	Sandbox *sandbox.Box
	// Secrets are given to tools and taken out of what they answer. The run directory has
	// none of them; whoever resumes the run gives them again.
	Secrets *secrets.Store
	// Grants are what tools have that ask for something; nil = nothing. The manifest has the
	// part that counts; whoever resumes the run gives them again.
	Grants *grants.Store
	// Config is where the operator gives values to options of plugins. The manifest has
	// them, but for the secrets, which whoever resumes the run gives again.
	Config plugin.Sources
	// Leave says who answers when the policy of the project asks about a call. Wait asks
	// people: questions are files of the run directory, which simd approve answers. Whoever
	// resumes the run gives both again.
	Leave tooling.Leave
	Wait  bool
	// Orders are those that the scenes have from their beginning, each for its wave or time
	// (package scenes/run/orders). The run directory keeps them; those that are given to a
	// run that goes on are added, unless it has them.
	Orders []order.Entry
	had    int // of Orders: the run had them before
	// Interactive: people can be asked (PanelInteractionTool), and answer by orders. A
	// resumed run goes on as it began.
	Interactive bool
	// ColdWakes gets how long passive agents took to wake: see scenes.Options.
	ColdWakes *timing.Latency
	// Serial adds up what of the scenes runs on one core: see scenes.Options.
	Serial *timing.Serial
	// Control are commands with which every scene begins, or the one that they name: see scenes.Options.
	Control []control.Command
	// Middleware is asked in every scene: see setup.Options. Whoever goes on with
	// the run gives it again; the manifest says only whether there was some.
	Middleware delivery.Chain
	// Crashes are what made a restart necessary, by scene: see scenes.Crash.
	Crashes map[string][]*scenes.Crash
	// Restarted: whoever waits for the run restarts scenes that failed (scenes/run/restarts). The
	// others then stop with one that will be, so that it does not wait for their ends.
	Restarted bool
	// Finish writes the summary of a run whose scenes have all ended, also if there is
	// one that says so. Without it such a run is an error.
	Finish bool
	// Estimate gathers what models at endpoints would be asked while scripts answer: see
	// models.Options.
	Estimate *models.Estimate
	answers  *replay.Answers
	given    plugin.Given // what Config says
	place    needs.Place  // whose grants count
	recorded *recorded.Answers
	models   map[string]*models.Set      // by scene id
	replaced map[string]overrides.Models // by scene id: services of plugins in the places of its models
	raised   bool                        // budgets are others than those that the run had when it stopped
	// Reread reads the operator's files again, for [Runner.Reload]; nil = nobody can.
	Reread func() (*granted.Reread, error)
	// FS replaces the operating system's for the journal, for tests.
	FS pebbledb.FS
	// Recovering hears how far the restoring of a scene is; may be nil.
	Recovering rundir.Progress
}

// What becomes of a question without a recorded answer.
const (
	MissAsk  = "ask"  // an endpoint is asked
	MissFail = "fail" // the request fails; no endpoint is needed
)

// Runner is a run under way.
type Runner struct {
	Dir      string
	Manifest *rundir.Manifest
	Project  *project.Project
	Scenes   []*Scene

	links   *links.Hub
	idle    []*Scene // they have no Run: ended before this process, or could not begin
	host    *Host
	starts  bool // host.mu guards it, and the next
	closes  bool // no reload begins any more
	store   *persistence.Store
	metrics *metrics.Run
	unwatch []func()       // sources of the metrics
	desk    *interact.Desk // of questions to people; nil = nobody is asked
	log     *slog.Logger
	started time.Time

	late     sync.WaitGroup    // reloads that scenes have not decided
	patience time.Duration     // with one of them: reloading
	wanted   []control.Command // as Options.Control
	progress rundir.Progress   // of restoring
	granted  *granted.Run
	crashes  map[string][]*scenes.Crash // before this process, as Options.Crashes; nil unless Options.Restarted

	waited sync.Once // of Wait, whose results follow
	sum    *rundir.Summary
	err    error
}

// Scene is one scene of a run.
type Scene struct {
	ID      string
	Seed    uint64
	Run     *scenes.Run
	journal *persistence.Journal
	began   uint64      // its last wave when it began
	models  *models.Set // nil = the scene did not run
	tools   *tooling.Set
	latency *timing.Latency
	report  []string // world paths that the summary shows
	outcome scenes.Outcome

	project atomic.Pointer[project.Project] // that it has: the run's, or an edition
	reloads atomic.Bool                     // it was told of an edition of the plugins and has not decided
}

// Load reads a project folder; stops says that flags give a stop condition, and tools
// are the names of external ones (Options.External).
func Load(dir string, stops bool, tools ...string) (*project.Project, error) {
	return rundir.Load(dir, project.Options{Stops: stops, Model: ReadModel, Models: CheckModels, Tools: tools})
}

// LoadFS reads a project from a file system; name is its id when it names none.
func LoadFS(fsys fs.FS, name string, stops bool, tools ...string) (*project.Project, error) {
	return rundir.LoadFS(fsys, project.Options{Name: name, Stops: stops, Model: ReadModel, Models: CheckModels, Tools: tools})
}

// pick finds the scenes to run.
func pick(p *project.Project, ids []string) ([]*project.Scene, error) {
	if len(ids) == 0 {
		ids = []string{""}
	}
	var defs []*project.Scene
	seen := map[string]bool{}
	for _, id := range ids {
		s, err := p.Scene(id)
		if err != nil {
			return nil, err
		}
		if seen[s.Definition.ID] {
			return nil, protocol.Errorf(protocol.KindInvalid, "scene %s is named twice", s.Definition.ID)
		}
		if err := p.Startable(s); err != nil {
			return nil, err
		}
		seen[s.Definition.ID] = true
		defs = append(defs, s)
	}
	return defs, nil
}

// Check finds the scenes to run, and refuses what the options alone make impossible. Its error is no fault of the project.
func Check(p *project.Project, opt Options) ([]*project.Scene, error) {
	defs, err := pick(p, opt.Scenes)
	if err != nil {
		return nil, err
	}
	return defs, check(p, defs, opt)
}

func check(p *project.Project, defs []*project.Scene, opt Options) error {
	if err := opt.Snapshots.Validate(); err != nil {
		return err
	}
	if _, err := persistence.ParseKeep(opt.Keep); err != nil {
		return err
	}
	if opt.Until != "" {
		if err := setup.CheckUntil(opt.Until); err != nil {
			return err
		}
	}
	if err := checkBudget(opt.Budget, len(defs), p); err != nil {
		return err
	}
	if err := errors.Join(setup.CheckNames(p, opt.External, outside.Kinds(opt.Executors)), opt.Middleware.Check()); err != nil {
		return err
	}
	for _, def := range defs {
		if _, err := def.Agents(opt.Agents); err != nil {
			return err
		}
		if clock := cmp.Or(opt.Clock, def.Definition.Simulation.Clock); clock == agenda.Realtime && opt.Ticks > 0 {
			return protocol.Errorf(protocol.KindInvalid, "scene %s: ticks belong to the virtual clock; end a realtime run with a time", def.Definition.ID)
		}
	}
	return nil
}

// Interrupt stops every scene after its open wave, so that the run can be resumed.
func (r *Runner) Interrupt() {
	r.metrics.NotReady("stopping")
	r.interruptAll()
}

func (r *Runner) interruptAll() {
	for _, s := range r.Scenes {
		s.Run.Interrupt()
	}
}

// Wait returns when every scene has stopped and everything is closed. Several goroutines
// may call it.
func (r *Runner) Wait() (*rundir.Summary, error) {
	r.waited.Do(func() { r.sum, r.err = r.wait() })
	return r.sum, r.err
}

func (r *Runner) wait() (*rundir.Summary, error) {
	var errs []error
	stop := r.takeOrders()
	r.waitAll()
	stop()
	for _, s := range r.inOrder() {
		if s.outcome.Err != nil {
			errs = append(errs, s.outcome.Err)
		}
	}
	sum := r.summarize()
	errs = append(errs, r.close(sum))
	return sum, errors.Join(errs...)
}

// waitAll returns when every scene has stopped. The scenes share a disk, so when one
// cannot write, the others are stopped at once; so they are when one stops before its end to
// which others are linked, which would wait for it, and when one failed that is restarted with them.
func (r *Runner) waitAll() {
	var all sync.WaitGroup
	for _, s := range r.Scenes {
		all.Go(func() {
			s.outcome = s.Run.Wait()
			if failed := (*scenes.DiskFailure)(nil); errors.As(s.outcome.Err, &failed) || r.links.Of(s.ID) != nil && (!s.outcome.Final || s.outcome.Err != nil) || r.restarts(s) {
				r.interruptAll()
			}
		})
	}
	all.Wait()
}

// restarts reports whether a scene failed and will be restarted: it is not given up.
func (r *Runner) restarts(s *Scene) bool {
	c, failed := errors.AsType[*scenes.Crash](s.outcome.Err)
	return failed && r.crashes != nil && (len(r.crashes[s.ID]) < c.MaxRestarts || s.outcome.Wave.Number > s.began)
}

// close ends what runs and releases everything, the store last. sum is kept before that; nil = the
// run has not begun.
func (r *Runner) close(sum *rundir.Summary) error {
	for _, s := range r.Scenes {
		if s.outcome.Reason == "" {
			s.outcome = s.Run.Wait()
		}
	}
	r.metrics.NotReady("stopping")
	r.stopWatching()
	r.host.closes(r)
	r.late.Wait()
	var errs []error
	for _, s := range r.Scenes {
		errs = append(errs, s.models.Close(), s.tools.Close())
	}
	if r.desk != nil {
		errs = append(errs, r.desk.Close())
	}
	errs = append(errs, r.collectAtEnd())
	if sum != nil {
		if err := sum.Write(r.Dir); err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", r.Dir, err))
		}
	}
	errs = append(errs, r.store.Close())
	r.host.ended(r)
	return errors.Join(errs...)
}

// Pause pauses every scene and returns when all of them that have not ended rest with everything
// durable; false when the run ended or ctx did first.
func (r *Runner) Pause(ctx context.Context) (rests bool) {
	for _, s := range r.Scenes {
		s.Run.Pause()
	}
	for _, s := range r.Scenes {
		rests = s.Run.WaitPaused(ctx) || rests
	}
	return rests && ctx.Err() == nil
}

// Continue ends a pause.
func (r *Runner) Continue() {
	for _, s := range r.Scenes {
		s.Run.Resume()
	}
}
