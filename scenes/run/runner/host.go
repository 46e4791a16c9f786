package runner

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"

	"tavernsim/actors"
	"tavernsim/internal/metrics"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/outside"
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

	mu     sync.Mutex         // guards what follows
	runs   map[string]*Runner // by directory, from Add to the end of Wait
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
	defs, err := pick(p, opt.Scenes)
	if err != nil {
		return nil, err
	}
	if err := check(p, defs, opt); err != nil {
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
	if opt.Orders, err = placed(opt.Orders, m.Scenes); err != nil {
		return nil, err
	}
	dir, err := rundir.Make(opt.Dir, opt.ProjectDir, m, p, opt.answers, opt.recorded.Keep, func(dir string) error { return orders.Keep(dir, opt.Orders) })
	if err != nil {
		return nil, err
	}
	return h.begin(dir, p, m, defs, opt)
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
	if opt.Budget != nil {
		if err := raise(dir, m, p, opt.Budget); err != nil {
			return nil, err
		}
	}
	opt = optionsOf(m, opt)
	if opt.place, err = opt.placeOf(dir, m); err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "project: %w", err)
	}
	if opt.answers, err = m.RecordedAnswers(dir); err != nil {
		return nil, err
	}
	if opt.Tools == tooling.Replay {
		if opt.recorded, err = recorded.Kept(dir); err != nil {
			return nil, err
		}
	}
	if opt.given, err = opt.Config.Again(m.Given, tooling.Manifests(p)); err != nil {
		return nil, err
	}
	defs, err := pick(p, opt.Scenes)
	if err != nil {
		return nil, err
	}
	if opt, err = opt.withModels(p, defs); err != nil {
		return nil, err
	}
	changed, err := opt.changeEndpoints(dir, m)
	if err != nil {
		return nil, err
	}
	opt.raised = changed || opt.Budget != nil
	if err := opt.addOrders(dir, m); err != nil {
		return nil, err
	}
	return h.begin(dir, p, m, defs, opt)
}

func (h *Host) begin(dir string, p *project.Project, m *rundir.Manifest, defs []*project.Scene, opt Options) (*Runner, error) {
	r, err := h.open(dir, p, m, opt)
	if err != nil {
		return nil, err
	}
	if err := r.granted.Begin(dir, m, own.Files{Grants: opt.Grants, Secrets: opt.Secrets}); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if err := r.start(defs, opt); err != nil {
		if h.metrics.SeveralRuns() {
			r.metrics.Forget()
		}
		return nil, err
	}
	return r, nil
}

// Runs are those that have not ended, in no order.
func (h *Host) Runs() (runs []*Runner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.runs {
		runs = append(runs, r)
	}
	return runs
}

// Remove interrupts a run, waits for it as [Runner.Wait] does unless somebody has, and
// takes its series out of the metrics. The run can be resumed, in this host or another.
func (h *Host) Remove(r *Runner) (*rundir.Summary, error) {
	r.Interrupt()
	sum, err := r.Wait()
	r.metrics.Forget()
	return sum, err
}

// Close removes every run and ends the workers. The second Close does nothing.
func (h *Host) Close() (err error) {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
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
	h.runs[key] = r
	return nil
}

// ended lets a run go that has released everything.
func (h *Host) ended(r *Runner) {
	h.mu.Lock()
	delete(h.runs, runKey(r.Dir))
	h.mu.Unlock()
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
