package runner

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tavernsim/actors"
	"tavernsim/engine/budget"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/run/granted"
	"tavernsim/scenes/run/orders"
	"tavernsim/scenes/run/recorded"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/tooling"
	"tavernsim/scenes/tooling/own"
)

// HostOptions are what the runs of a process share. The zero value works.
type HostOptions struct {
	Workers int          // of the actors; 0 = GOMAXPROCS
	Metrics *metrics.Set // nil = one that tells runs apart (metrics.ByRun)
	Log     *slog.Logger // nil = no log
}

// Host runs the scenes of several runs in one process. Runs are added and removed while
// it is open. Its methods are safe for concurrent use. You must call Close.
type Host struct {
	metrics *metrics.Set
	log     *slog.Logger
	system  *actors.System
	unwatch func()
	only    bool // it is of one run, and ends with that

	mu     sync.Mutex         // guards what follows, and whether a run starts
	runs   map[string]*Runner // by directory, from Add to the end of Wait
	began  *sync.Cond         // a run does not start any more
	closed bool
}

// NewHost starts the workers of a host without runs.
func NewHost(opt HostOptions) *Host {
	if opt.Metrics == nil {
		opt.Metrics = metrics.New(metrics.ByRun())
	}
	h := newHost(opt)
	h.metrics.Ready()
	return h
}

func newHost(opt HostOptions) *Host {
	h := &Host{metrics: opt.Metrics, log: opt.Log, runs: map[string]*Runner{}}
	h.began = sync.NewCond(&h.mu)
	if h.metrics == nil {
		h.metrics = metrics.New()
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.system = actors.NewSystem(actors.Options{
		Workers: opt.Workers, Logger: h.log, DeadLetter: h.deadLetter,
		StuckAfter: scenes.StuckAfter, Stuck: scenes.Stuck(h.metrics, h.log),
	})
	h.unwatch = h.metrics.Watch(metrics.Sources{Mailboxes: scenes.Mailboxes(h.system)})
	return h
}

// Start begins a run of a loaded project in a host of its own.
func Start(p *project.Project, opt Options) (*Runner, error) {
	return alone(opt, func(h *Host) (*Runner, error) { return h.Add(p, opt) })
}

// Resume goes on with a run directory in a host of its own: see [Host.Resume].
func Resume(dir string, opt Options) (*Runner, error) {
	return alone(opt, func(h *Host) (*Runner, error) { return h.Resume(dir, opt) })
}

// alone makes the host of one run, which ends with it.
func alone(opt Options, begin func(*Host) (*Runner, error)) (*Runner, error) {
	h := newHost(HostOptions{Workers: opt.Workers, Metrics: opt.Metrics, Log: opt.Log})
	h.only = true
	r, err := begin(h)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return r, nil
}

// Add begins a run of a loaded project. Of the options, Workers, Metrics and Log are
// the host's and not read.
func (h *Host) Add(p *project.Project, opt Options) (*Runner, error) {
	defs, err := Check(p, opt)
	if err == nil {
		_, err = linked(defs)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case opt.OnMiss != "" && opt.OnMiss != MissAsk && opt.OnMiss != MissFail:
		return nil, protocol.Errorf(protocol.KindInvalid, "on miss %q: want %s or %s", opt.OnMiss, MissAsk, MissFail)
	case opt.OnMiss != "" && opt.Answers == "":
		return nil, protocol.Errorf(protocol.KindInvalid, "on miss %q: there are no recorded answers (Options.Answers)", opt.OnMiss)
	case opt.Answers != "":
		if opt.answers, err = rundir.ReadAnswers(opt.Answers); err != nil {
			return nil, err
		}
	}
	if opt, err = opt.withModels(p, defs); err != nil {
		return nil, err
	}
	if opt.place, err = opt.placeOf("", nil); err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "project: %w", err)
	}
	if opt.given, err = opt.Config.Read(tooling.Manifests(p)); err != nil {
		return nil, err
	}
	if opt.recorded, err = opt.readRecorded(); err != nil {
		return nil, err
	}
	if err := errors.Join(opt.checkTools(p), opt.checkEndpoints(len(defs))); err != nil {
		return nil, err
	}
	m, err := newManifest(p, defs, opt)
	if err != nil {
		return nil, err
	}
	if opt.Orders, err = orders.Placed(opt.Orders, m.Scenes); err != nil {
		return nil, err
	}
	dir, undo, err := rundir.Make(opt.Dir, opt.ProjectDir, m, p, opt.answers, opt.recorded.Keep, func(dir string) error { return orders.Keep(dir, opt.Orders) })
	if err != nil {
		return nil, err
	}
	r, err := h.open(dir, p, m, opt)
	if err == nil {
		err = r.begin(defs, opt)
	}
	if failed := (*scenes.DiskFailure)(nil); err != nil && !errors.As(err, &failed) { // after that it can be resumed
		return nil, errors.Join(err, undo())
	} else if err != nil {
		return nil, err
	}
	return r, nil
}

// Resume goes on with a run directory. Of the options, those that describe the machine
// and the program count: durability and blocks if given, middleware, tools, executors.
func (h *Host) Resume(dir string, opt Options) (*Runner, error) {
	m, p, err := rundir.Read(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fits(m, opt), opt.Middleware.Check(), setup.CheckKinds(opt.External, outside.Kinds(opt.Executors))); err != nil {
		return nil, err
	}
	if err := rundir.Writable(dir, "make it writable, or resume a copy of it"); err != nil {
		return nil, err
	}
	r, err := h.open(dir, p, m, optionsOf(m, opt))
	if err != nil {
		return nil, err
	}
	// Nobody else writes to the directory now; whoever did until then may have changed the manifest.
	if r.Manifest, err = rundir.ReadManifest(dir); err != nil {
		return nil, r.giveUp(err)
	}
	defs, opt, err := r.resume(opt)
	if err != nil {
		return nil, r.giveUp(err)
	}
	if err := r.begin(defs, opt); err != nil {
		return nil, err
	}
	return r, nil
}

// giveUp closes a run of which no scene has begun.
func (r *Runner) giveUp(err error) error {
	err = errors.Join(err, r.close(nil))
	r.forget()
	return err
}

// forget takes the series of a run out of metrics of several.
func (r *Runner) forget() {
	if r.host.metrics.SeveralRuns() {
		r.metrics.Forget()
	}
}

// resume are the options with which a run goes on. It checks them, and then notes in the run
// directory what is new: a refusal here leaves the directory as it was.
func (r *Runner) resume(given Options) (defs []*project.Scene, opt Options, err error) {
	dir, m, p := r.Dir, r.Manifest, r.Project
	opt = optionsOf(m, given)
	last, reason, err := history.EndOfAll(m.Scenes, r.store.Journal)
	if err != nil {
		return nil, opt, err
	}
	if reason != "" && !opt.Finish && rundir.Summarized(dir) {
		return nil, opt, protocol.Errorf(protocol.KindConflict, "run %s: it has ended already (scene %s: %s); start another", dir, last, reason)
	}
	if opt.Budget != nil {
		if err := checkRaise(m, p, opt.Budget); err != nil {
			return nil, opt, err
		}
	}
	if opt.place, err = opt.placeOf(dir, m); err != nil {
		return nil, opt, protocol.Errorf(protocol.KindNotFound, "project: %w", err)
	}
	if reason != "" { // nobody is asked any more
		opt.OnMiss, opt.Endpoints = MissFail, nil
	}
	if len(m.Endpoints) > 0 && len(opt.Endpoints) == 0 && opt.OnMiss != MissFail {
		return nil, opt, protocol.Errorf(protocol.KindNotFound, "run %s: its models may ask %s, and there is no file of endpoints; name one with --providers", dir, strings.Join(m.Endpoints, ", "))
	}
	if opt.answers, err = m.RecordedAnswers(dir); err != nil {
		return nil, opt, err
	}
	if opt.Tools == tooling.Replay {
		if opt.recorded, err = recorded.Kept(dir); err != nil {
			return nil, opt, err
		}
	}
	if opt.given, err = opt.Config.Again(m.Given, tooling.Manifests(p)); err != nil {
		return nil, opt, err
	}
	if defs, err = pick(p, opt.Scenes); err != nil {
		return nil, opt, err
	}
	if opt, err = opt.withModels(p, defs); err != nil {
		return nil, opt, err
	}
	atEndpoints, err := opt.endpointsAgain(m)
	if err != nil {
		return nil, opt, err
	}
	if opt.Orders, opt.had, err = orders.Joined(dir, m.Run, m.Scenes, opt.Orders); err != nil {
		return nil, opt, err
	}
	opt.raised = opt.Budget != nil || !maps.EqualFunc(atEndpoints, m.AtEndpoints, func(a, b *budget.Budget) bool { return *a == *b })
	// If a kill comes between, or a scene cannot begin, the same command line gives both again.
	if err = r.checkOrders(&opt); err == nil && opt.raised {
		err = m.SetBudgets(dir, opt.Budget, atEndpoints)
	}
	if err == nil && len(opt.Orders) > opt.had {
		err = orders.Keep(dir, opt.Orders)
	}
	return defs, opt, err
}

// begin begins the scenes of an open run, or closes it.
func (r *Runner) begin(defs []*project.Scene, opt Options) error {
	if opt.Restarted {
		r.crashes = maps.Clone(opt.Crashes)
		if r.crashes == nil {
			r.crashes = map[string][]*scenes.Crash{}
		}
	}
	r.wanted = opt.Control
	r.granted = opt.grantedTo(r.Project, r.Dir, r.log)
	r.granted.Has = r.projects
	r.granted.Edition = func(now *granted.Reread) ([]string, error) { return r.edition(now, &opt) }
	r.watch(metrics.Sources{Store: r.store, Dir: r.Dir, Plugins: r.granted.Plugins})
	if err := r.granted.Begin(r.Dir, r.Manifest, own.Files{Grants: opt.Grants, Secrets: opt.Secrets}); err != nil {
		return r.giveUp(err)
	}
	if err := r.start(defs, opt); err != nil {
		r.forget()
		return err
	}
	r.host.stands(r)
	return nil
}

// Runs are those that have begun and have not ended, in no order.
func (h *Host) Runs() []*Runner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(h.runs)), func(r *Runner) bool { return r.starts })
}

// Remove interrupts a run, waits for it as [Runner.Wait] does unless somebody has, and
// takes its series out of the metrics. The run can be resumed, in this host or another.
func (h *Host) Remove(r *Runner) (*rundir.Summary, error) {
	r.Interrupt()
	sum, err := r.Wait()
	r.metrics.Forget()
	return sum, err
}

// Close removes every run and ends the workers. A run that begins meanwhile is removed when it has
// begun. The second Close does nothing.
func (h *Host) Close() (err error) {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	for !closed && slices.ContainsFunc(slices.Collect(maps.Values(h.runs)), func(r *Runner) bool { return r.starts }) {
		h.began.Wait()
	}
	h.mu.Unlock()
	if closed {
		return nil
	}
	for _, r := range h.Runs() {
		_, failed := h.Remove(r)
		err = errors.Join(err, failed)
	}
	h.unwatch()
	h.system.Close()
	return err
}

// enter takes a run in, under its directory.
func (h *Host) enter(r *Runner) error {
	key := runKey(r.Dir)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return protocol.Errorf(protocol.KindCancelled, "run %s: the host is closed", r.Dir)
	case h.runs[key] != nil:
		return protocol.Errorf(protocol.KindConflict, "run %s: it runs in this host already; wait for it, or remove it first", r.Dir)
	case len(h.runs) > 0 && !h.metrics.SeveralRuns():
		return protocol.Errorf(protocol.KindInvalid, "run %s: the metrics of this host are of one run; make them with metrics.ByRun", r.Dir)
	}
	r.metrics = h.metrics.Run("")
	if h.metrics.SeveralRuns() {
		r.metrics = h.metrics.Run(r.Dir)
	}
	h.runs[key], r.starts = r, true
	return nil
}

// stands notes that a run has begun, or could not.
func (h *Host) stands(r *Runner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.starts = false
	h.began.Broadcast()
}

// closes notes that a run is being closed.
func (h *Host) closes(r *Runner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.closes = true
}

// later does something beside a run that is not being closed. Closing waits for it.
func (h *Host) later(r *Runner, do func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !r.closes {
		r.late.Go(do)
	}
	return !r.closes
}

// ended lets a run go that has released everything.
func (h *Host) ended(r *Runner) {
	h.mu.Lock()
	delete(h.runs, runKey(r.Dir))
	h.mu.Unlock()
	h.stands(r)
	if h.metrics.SeveralRuns() {
		r.metrics.Ready() // it is in nobody's way
	}
	if h.only {
		_ = h.Close() // it has no run any more
	}
}

// runKey is the same for every way to write a directory.
func runKey(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return filepath.Clean(dir)
}

// actorName is unique among the scenes of the host.
func (h *Host) actorName(dir, scene string) string {
	if h.only {
		return scene
	}
	return dir + "/" + scene
}

func (h *Host) deadLetter(d actors.DeadLetter) {
	if d.Reason == actors.ReasonStopped {
		return // the scene ended; nothing that counts can be on its way
	}
	h.metrics.DeadLetter(d.Kind)
	if d.Kind == protocol.KindEvent {
		h.metrics.Dropped(d.Reason)
	}
}

// Follow calls yield for every fact of the scene from a seq on and goes on with those
// that become durable, until the run is closed: see persistence.Journal.Follow. It
// may be called from any goroutine while the run has not ended.
func (sc *Scene) Follow(ctx context.Context, from uint64, yield func(protocol.Record) error) error {
	return sc.journal.Follow(ctx, from, yield)
}
