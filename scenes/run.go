package scenes

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/agenda"
	"tavernsim/engine/agent"
	"tavernsim/engine/control"
	"tavernsim/engine/schedule/chain"
	"tavernsim/engine/world"
	"tavernsim/internal/metrics"
	"tavernsim/internal/until"
	"tavernsim/llm"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/persistence"
	"tavernsim/persistence/format"
	"tavernsim/protocol"
	"tavernsim/scenes/history"
	"tavernsim/scenes/links"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/outside"
	"tavernsim/scenes/seats"
	"tavernsim/scenes/series"
	"tavernsim/scenes/shadows"
	"tavernsim/scenes/timing"
)

// Options of one running scene. Its facts do not depend on them, except on the model.
type Options struct {
	// Raised: the budgets are others than those that the scene had when it stopped.
	Raised bool

	// Snapshots decides when a snapshot is taken while the scene runs. Another one is
	// taken when the scene stops before its end.
	Snapshots machines.SnapshotPolicy
	// ModelCalls bounds the model calls in flight, unless the provider brings the gates of
	// its endpoints; default 64.
	ModelCalls int
	// Class is that of the scene's requests among those of other scenes, at the gates
	// that they share. What handles a critical event is urgent at least.
	Class limit.Class
	// Pictures reads the pictures of requests to models; nil = such requests fail.
	Pictures outside.Pictures
	// Executors carry out the calls of external tools (setup.Options.External).
	Executors []outside.Entry
	// Orders from outside that the scene has from its beginning, each with its wave or
	// time. Others come by [Run.Order].
	Orders []*machines.Order
	// Desk is told of questions to people; may be nil.
	Desk Desk
	// Control are the commands with which the scene begins; see [Run.Control]. It is paused
	// and paced after its first wave.
	Control []control.Command
	// Links is the place of the scene among linked ones; nil = it is linked to none.
	Links *links.Member
	// Crashes are the failures of the scene before this restart. The first wave keeps
	// them as facts.
	Crashes []*Crash
	// Folding gets the progress of the restoring; may be nil.
	Folding func(done, total uint64)

	Model llm.Provider
	// Effects opens the journal of the scene's effects (outside.JournalID) in the
	// scene's store. Start calls it if some executor is not instant. nil = requests
	// are not recorded, and made again after a kill.
	Effects func() (outside.Journal, error)
	System  *actors.System
	// Name is unique among the scenes of the system; "" = the scene's id.
	Name    string
	Metrics *metrics.Scene
	Log     *slog.Logger
	Latency *timing.Latency // gets the wall time of every deliberation; may be nil
	// ColdWakes gets how long passive agents took, on the wall clock, from being told something
	// until their actors had their state; may be nil.
	ColdWakes *timing.Latency

	// Serial adds up what of the scene runs on one core; may be nil.
	Serial *timing.Serial

	// Mailbox bounds the events in each lane of every mailbox, as a safety net: the
	// machine of an agent bounds its inbox.
	Mailbox actors.Capacity

	// PassivateAfter takes the place of the scene's passivate_after; 0 = that.
	PassivateAfter time.Duration
	// PassiveFile opens an empty file for the states of passive agents that are more than
	// PassiveMemory; nil = all lie in memory.
	PassiveFile   func() (seats.File, error)
	PassiveMemory int64 // bytes; 0 = 64 MiB

	// Schedule says which turns run ahead of the committed run; the facts are the same.
	Schedule Schedule
	// Lie shows turns that run ahead something else: tests hold by it that nothing but speed
	// depends on them.
	Lie func(agent string, w *agent.Wake)

	wrap    func(actor string, b actors.Behavior) actors.Behavior // tests make services fail with it
	largest int                                                   // tests make few bytes too many with it: seats.Options.Largest
}

// Journal is the part of *persistence.Journal that a live scene uses. Only the stage
// calls Append, AppendSheaf and CloseWaveLater; any goroutine may call the rest.
type Journal interface {
	history.Journal
	Append(at protocol.Time, actor, kind string, data []byte) (uint64, error)
	AppendSheaf(*format.Sheaf) error
	CloseWaveLater(done func(persistence.Wave, error)) (uint64, error)
	Note(data []byte)
	SaveSnapshot(wave uint64, states iter.Seq2[string, []byte]) error
	Pending() uint64
	Err() error
}

// Outcome is how a scene's run ended.
type Outcome struct {
	machines.Outcome
	Wave  persistence.Wave
	State *machines.StageState
	// Control are commands with which the scene begins again as people wanted it: see Options.Control.
	Control []control.Command
}

// Run is a running scene.
type Run struct {
	scene    *scene
	stage    *stage
	stageSup *actors.Supervisor
	Progress *Progress

	done chan Outcome
	wait func() Outcome // waits and shuts down, once
	stop func()         // ends what the scene has asked for

	wallTime *time.Timer // ends the scene; nil without a limit of wall time
	stops    sync.Once   // somebody told it to stop
}

// Progress are counters of a running scene. Any goroutine may read them.
type Progress struct {
	Deliberations atomic.Int64
	Failed        atomic.Int64
	Events        atomic.Int64
	ModelCalls    atomic.Int64
	Refused       atomic.Int64
	Waves         atomic.Int64
	Facts         atomic.Int64
	Bytes         atomic.Int64
	Now           atomic.Int64 // protocol.Time
	Begun         atomic.Int64
	End           atomic.Int64 // scene time limit; 0 = none
	Held          atomic.Bool  // a caller paused it (Run.Control)
}

func (p *Progress) wave(st *stage) {
	t, d := &st.machine.Tally, st.machine.Agenda
	p.Deliberations.Store(t.Deliberations)
	p.Failed.Store(t.Failed)
	p.Events.Store(t.EventsRouted)
	p.ModelCalls.Store(t.ModelCalls)
	p.Facts.Store(t.Facts)
	p.Waves.Store(int64(d.Wave))
	p.Now.Store(int64(d.Now))
	p.Begun.Store(int64(d.Begun()))
	if end, reason := st.machine.TimeLimit(); reason != "" {
		p.End.Store(int64(end))
	}
}

// doStart begins the scene, once.
const doStart = "start"

// Start runs a scene from where its open journal ends.
func Start(made *setup.Scene, journal Journal, opt Options) (*Run, error) {
	sc, err := newScene(made, journal, opt)
	if err != nil {
		return nil, err
	}
	r := &Run{scene: sc, Progress: &Progress{}, done: make(chan Outcome, 1)}
	r.wait = sync.OnceValue(r.finish)
	sc.context.Begin(context.Background(), until.NoTime, nil)
	r.stop = func() { sc.context.End(nil) }
	if err := r.launch(); err != nil {
		r.shutdown()
		return nil, err
	}
	r.control(doStart)
	if d := sc.Stop.WallTime.Std(); d > 0 {
		r.wallTime = time.AfterFunc(d, func() { r.stopAfterWave(agenda.StoppedByWallTime) })
	}
	return r, nil
}

// launch restores the machines and starts the actors.
func (r *Run) launch() error {
	sc := r.scene
	sc.seats = sc.newSeats()
	state, err := sc.restore(sc.options.Folding)
	if err != nil {
		return err
	}
	if state.Agenda.Ended != "" {
		return protocol.Errorf(protocol.KindConflict, "scene %s: the run has ended already (%s); fork it or start another", sc.ID, state.Agenda.Ended)
	}
	if err := r.openEffects(state); err != nil {
		return err
	}
	sc.sup = sc.supervisor(r.actorFailed)
	r.stageSup = sc.supervisor(r.stageFailed)
	if state.Agenda.Started {
		sc.latest.Store(int64(state.Agenda.Now))
	}
	durable, view := sc.journal.Durable(), state.Shown()
	sc.orders.Past = state.Ordered
	planned, err := sc.orders.Planned(sc.options.Orders, state.Agenda.Wave, func(o *machines.Order) error { return machines.CheckOrder(sc.Scene, o.Intervened, o.Had) })
	if err != nil {
		return err
	}
	machine := machines.NewStage(state.StageState, machines.StageConfig{Stop: sc.Stop, Snapshots: sc.options.Snapshots, Raised: sc.options.Raised, Orders: planned, Gated: len(sc.options.Control) > 0 || sc.options.Links != nil}, machines.Kept{Wave: durable.Number, Bytes: durable.Total}, view)
	for _, agent := range sc.outside.Log.Agents() {
		sc.resumes(state.Spending, agent)
	}
	sc.shown.Store(view)
	if err := r.runAhead(state, machine.OrderDue()); err != nil {
		return err
	}
	over, end := context.WithCancel(context.Background())
	r.stage = &stage{
		scene: sc, clock: time.Now, machine: machine, progress: r.Progress, series: series.New(sc.Simulation().Report), report: r.ended,
		rests: make(chan struct{}, 1), over: over, end: end, measured: measured{phase: metrics.PhaseTurns},
		doing: timing.NewDoing(sc.doers(), sc.Class, sc.Size(), doingOf(state.Agenda)),
	}
	if state.Agenda.Started { // an order may name a wave or a time that has passed
		r.Progress.wave(r.stage)
	}
	for i := range sc.options.Control {
		c := &sc.options.Control[i]
		if err := errors.Join(sc.checkCommand(c), r.stage.gate.state.Command(c, control.Moment{})); err != nil {
			return err
		}
	}
	if sc.Clock == agenda.Virtual && sc.outside.Log != nil {
		if r.stage.paths, err = shadows.Paths(sc.Scene); err != nil {
			return err
		}
	}
	r.stage.publishBudgets()
	sc.marks = timing.NewMarks(sc.Size())
	sc.stage, err = sc.system.Spawn(actors.Spec{
		Name: sc.actorName(setup.ActorStage), Kind: kindScene, Supervisor: r.stageSup,
		First: sc.wrapped(setup.ActorStage, r.stage),
	})
	if err != nil {
		return err
	}
	r.stage.self = sc.stage
	if err := sc.spawnServices(state); err != nil {
		return err
	}
	if err := errors.Join(r.spawnGatherers(), sc.layAgents(state)); err != nil {
		return err
	}
	sc.metrics.Became(metrics.SceneRunning)
	sc.startTasks(state)
	sc.joinLinks(machine)
	return nil
}

// actorFailed sends a failure to the stage. It runs on a worker.
func (r *Run) actorFailed(name string, f *actors.Failure) {
	env := carrying(protocol.KindFailed, f)
	env.Source = name[len(r.scene.actorName("")):]
	r.scene.stage.Tell(env)
}

// stageFailed ends the run after a failure of the stage. Waves that are not durable
// are lost.
func (r *Run) stageFailed(_ string, f *actors.Failure) {
	r.scene.metrics.ActorGivenUp(setup.ActorScene)
	r.scene.metrics.Became(metrics.SceneFailed)
	r.ended(Outcome{
		Wave: r.scene.journal.Durable(), State: r.stage.machine.StageState, Outcome: machines.Outcome{Reason: agenda.StoppedByFailure,
			Err: &Crash{Scene: r.scene.ID, Text: f.Error(), Stack: f.Stack, MaxRestarts: r.scene.Simulation().Limits.MaxRestarts, Backoff: r.scene.Simulation().Limits.RestartBackoff.Std()}},
	})
}

// Crash is a failure of the stage, after which the scene has stopped. The caller
// restarts it from the journal, with backoff, or gives it up.
type Crash struct {
	Scene       string
	Text        string
	Stack       []string
	MaxRestarts int           // in a row, of simulation.limits
	Backoff     time.Duration // before the first restart
}

func (c *Crash) Error() string {
	var text strings.Builder
	text.WriteString("scene " + c.Scene + " failed: " + c.Text)
	for _, frame := range c.Stack {
		text.WriteString("\n    " + frame)
	}
	return text.String()
}

// DiskFailure is why a scene stopped whose journal cannot be written, or whose passive agents cannot be read. The durable
// waves are safe; the caller starts the scene again when the disk works.
type DiskFailure struct {
	Scene string
	Cause error // of kind limit when the disk is full
	// Sleepers: it is the file of passive agents that cannot be read, and the journal has all that is in it.
	Sleepers bool
}

func (f *DiskFailure) Error() string {
	if f.Sleepers {
		return "scene " + f.Scene + ": " + f.Cause.Error()
	}
	return "scene " + f.Scene + ": the journal cannot be written: " + f.Cause.Error()
}

// Unwrap gives the kind.
func (f *DiskFailure) Unwrap() error { return f.Cause }

func (r *Run) ended(o Outcome) {
	r.stage.end()
	select {
	case r.done <- o:
	default: // the first outcome counts
	}
}

func (r *Run) control(do string) {
	r.scene.stage.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: do}, Kind: protocol.KindControl})
}

// Pause lets deliberations finish, makes the state durable and wakes no agent until
// Resume.
func (r *Run) Pause() { r.control(string(machines.DoPause)) }

// WaitPaused returns true when the scene rests with everything durable. It returns
// false if the scene ends or ctx is done before.
func (r *Run) WaitPaused(ctx context.Context) bool {
	select {
	case <-r.stage.rests:
		return true
	case <-r.stage.over.Done():
	case <-ctx.Done():
	}
	return false
}

// Resume ends a pause.
func (r *Run) Resume() { r.control(string(machines.DoResume)) }

// Terminate ends the scene gracefully; its end workflow runs.
func (r *Run) Terminate() { r.control(agenda.StoppedByRequest) }

// Interrupt stops the scene after the open wave, or before it, if it waits for endpoints that take no request, or for their rates.
// The scene has not ended: when it is resumed, it continues with the same facts.
func (r *Run) Interrupt() { r.stopAfterWave(agenda.StoppedByInterrupt) }

// ModelGates are those of the endpoints that the scene asks.
func (r *Run) ModelGates() []*gate.Gate { return r.scene.ModelGates() }

// Wait returns when the scene has stopped and its actors are gone. It may be called
// again, and by several goroutines.
func (r *Run) Wait() Outcome { return r.wait() }

// settles is how long an interrupted run waits for answers to requests of turns that ran ahead.
const settles = 10 * time.Second

func (r *Run) finish() Outcome {
	o := <-r.done
	if r.scene.ahead != nil && o.Err == nil && !o.Final && o.Reason != agenda.StoppedByWallTime { // it is resumed: what turns ahead have asked is kept
		r.scene.ahead.Close()
		r.scene.outside.Settle(settles)
	}
	r.shutdown()
	if r.stage != nil {
		o.Control = r.stage.gate.state.Commands()
	}
	return o
}

func (r *Run) shutdown() {
	if r.wallTime != nil {
		r.wallTime.Stop()
	}
	sc := r.scene
	sc.ahead.Close()
	r.stop()
	var gatherers []*actors.Ref
	if r.stage != nil {
		gatherers = r.stage.gatherers
	}
	for _, ref := range slices.Concat([]*actors.Ref{sc.stage}, gatherers, sc.services) {
		if ref != nil {
			sc.system.Stop(ref)
		}
	}
	sc.seats.End()
	r.stageSup.Wait()
	sc.sup.Wait()
	sc.tasks.closePeople()
	sc.saving.Wait() // also after a failure: the journal is closed next
	sc.seats.Free()
	sc.outside.Wait()
	if err := sc.outside.Log.Close(); err != nil {
		sc.log.Warn("effects", "scene", sc.ID, "err", err)
	}
}

// World is the current world document.
func (r *Run) World() *world.Document { return r.scene.shown.Load().World() }

// Series are the values of a reported path over time: at most maxSamples numbers, NaN
// where the path held none, with the seconds of scene time at which they were taken;
// nil if it never held a number.
func (r *Run) Series(path string) (seconds, values []float64) { return r.stage.series.Values(path) }

// Paths are the calls of models that the scene waited for, since it was started, by the wall clock; nil =
// it waits for none. You call it when the scene has stopped.
func (r *Run) Paths() (*chain.Shown, *setup.Scene) {
	if r.stage == nil || r.stage.paths == nil {
		return nil, r.scene.Scene
	}
	s := r.stage.paths.Show()
	return &s, r.scene.Scene
}
