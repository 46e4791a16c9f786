package actors

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// Options of a System. The zero value works.
type Options struct {
	// Workers drive all actors. Default GOMAXPROCS. More help only handlers
	// that break promise 7.
	Workers int
	// DeadLetter hears of everything that was not delivered, after the
	// supervisor of the actor. It is called by the sender, or by the worker of an
	// actor that stops or drops its oldest, and must not block.
	DeadLetter func(DeadLetter)
	// StuckAfter is how long an actor may be in one Receive, on the wall clock,
	// before Stuck hears of it, once; 0 = nobody looks. A goroutine cannot be ended
	// from outside, so its worker is lost until it returns; then the function that
	// Stuck gave is called. Both are called on the watcher's goroutine.
	StuckAfter time.Duration
	Stuck      func(Stuck) (free func())
	// Logger gets Proto.Actor's own warnings. Default: none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// System owns workers and actors.
type System struct {
	opts      Options
	proto     *actor.ActorSystem
	pool      *pool
	actors    sync.WaitGroup
	stop      *actor.Stop
	resume    *actor.ResumeMailbox
	depths    *depths
	blocked   blocked
	cellPools cellPools
	watcher   *watcher // nil = nobody looks

	// spawning guards next: Proto.Actor makes mailbox and actor while it
	// spawns, and sharing its properties saves some 600 bytes an actor.
	spawning sync.Mutex
	next     *mailbox
}

// NewSystem starts the workers.
func NewSystem(opts Options) *System {
	opts = opts.withDefaults()
	counts := newDepths(opts.Workers)
	s := &System{opts: opts, pool: newPool(counts.workers), depths: counts, stop: &actor.Stop{}, resume: &actor.ResumeMailbox{}}
	s.cellPools.depths = counts
	s.blocked.room.L = &s.blocked.mu
	s.proto = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(warnOnly{opts.Logger.Handler()})
	}))
	s.watcher = s.watch()
	return s
}

// Close stops nothing that still runs: stop the actors first. It waits until
// they are gone, then ends the workers.
func (s *System) Close() {
	s.actors.Wait()
	s.pool.close()
	s.watcher.close()
	s.proto.Shutdown()
}

// Workers is how many workers drive the actors.
func (s *System) Workers() int { return s.opts.Workers }

// Behavior is what an actor does with its envelopes.
type Behavior interface {
	// Receive handles one envelope. An error, like a panic, is a failure.
	Receive(env *protocol.Envelope) error
}

// Stopper is a behavior that has something to end when its actor is stopped.
type Stopper interface{ Stopped() }

// Spec describes an actor.
type Spec struct {
	Name string // begins with the supervisor's Prefix; unique in the system
	// Unlisted: the actor has no Name. [Supervisor.Name] says what its Kind and ID are called, and the
	// caller holds that these are unique among the actors that are told something; the next of an ID may be
	// spawned while the last one stops. An actor that is listed takes some 400 bytes more, of which some
	// stay when it has stopped.
	Unlisted bool
	// First is the behaviour to begin with.
	First Behavior
	// ID is what Supervisor.New and Supervisor.Name are asked with.
	ID uint32
	// Kind is what [System.Depths] counts the actor's mailbox under: a small
	// number of the caller's choice, below [MaxKinds].
	Kind uint8
	// Supervisor hears of failures. Actors that fail together share one.
	Supervisor *Supervisor
}

// called is the name of the actor, listed or not.
func (s *Spec) called() string {
	if s.Unlisted {
		return s.Supervisor.Prefix + s.Supervisor.Name(s.Kind, s.ID)
	}
	return s.Name
}

// check refuses what a mailbox cannot hold.
func (s *Spec) check() error {
	if s.Kind >= MaxKinds {
		return protocol.Errorf(protocol.KindInvalid, "actors: spawn %s: kind %d: want one below %d", s.called(), s.Kind, MaxKinds)
	}
	if !s.Unlisted && !strings.HasPrefix(s.Name, s.Supervisor.Prefix) {
		return protocol.Errorf(protocol.KindInvalid, "actors: spawn %s: want a name that begins with %q", s.Name, s.Supervisor.Prefix)
	}
	return nil
}

// Ref addresses an actor. It stays valid after the actor stopped; what is told
// then is a dead letter.
type Ref mailbox

// Tell queues an envelope. It blocks only in a lane whose policy is Block, when
// that is full, and never in a handler.
func (r *Ref) Tell(env *protocol.Envelope) { (*mailbox)(r).post(env) }

// Waiting is the number of envelopes queued.
func (r *Ref) Waiting() int { return (*mailbox)(r).UserMessageCount() }

// Supervisor is what the actors share that fail together; they are of one
// system. It decides what becomes of failed ones.
type Supervisor struct {
	// Prefix is what the names of its actors begin with; middlewares and dead
	// letters know them by the rest.
	Prefix string
	// Failed is called on a worker and must not block: it sends a message to
	// the actor that decides.
	Failed func(name string, f *Failure)
	// New makes the behaviour at every restart, from the given Kind and ID. An
	// error is a failure.
	New func(kind uint8, id uint32) (Behavior, error)
	// Name is what an unlisted actor is called behind Prefix, when somebody asks. May be nil if there are none.
	Name func(kind uint8, id uint32) string
	// Dead hears of the dead letters of its actors, as Options.DeadLetter. May be
	// nil.
	Dead func(DeadLetter)
	// Lanes bounds each lane for events of every mailbox. A zero Max is
	// DefaultCapacity, a zero Policy refuses.
	Lanes [delivery.Lanes]Capacity
	// Control bounds the control lane and the last one, each; what is beyond is
	// refused. 0 = ControlCapacity.
	Control int32
	// Middleware judges every envelope before it is queued, in order. A mailbox
	// drops and sorts into lanes; an envelope that a middleware wants to delay or to
	// merge is delivered. The chain runs in the sender: a panic in it is the sender's.
	Middleware delivery.Chain
	// First is a set of kinds, a bit each: their actors get a worker before others,
	// as actors do that were sent something critical (promise 13).
	First uint32
	// Now is the time that middlewares are told. Without it each envelope's own
	// time counts.
	Now func() protocol.Time

	running sync.WaitGroup           // its actors
	system  *System                  // this and what follows is set by the first Spawn
	limits  [delivery.Lanes]Capacity // of each lane
	trims   bool                     // a lane drops its oldest
	pause   pause
	plan    delivery.Plan      // of Middleware
	props   *actor.Props       // guarded by the system's spawning, as root
	root    *actor.RootContext // spawns them
}

// HandleFailure implements Proto.Actor's strategy: it decides nothing. The actor
// stays suspended until Restart or Stop.
func (s *Supervisor) HandleFailure(_ *actor.ActorSystem, _ actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	s.Failed(child.Id, failureOf(reason, nil))
}

// Wait returns when all its actors are gone: stop them first. No supervisor has none.
func (s *Supervisor) Wait() {
	if s != nil {
		s.running.Wait()
	}
}

// Spawn starts an actor.
func (s *System) Spawn(spec Spec) (*Ref, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	box := &mailbox{sup: spec.Supervisor, kind: spec.Kind, behavior: spec.First}
	box.id.Store(spec.ID)
	s.actors.Add(1)
	spec.Supervisor.running.Add(1)
	if err := s.spawn(box, spec); err != nil {
		spec.Supervisor.running.Done()
		s.actors.Done()
		return nil, protocol.Errorf(protocol.KindConflict, "actors: spawn %s: %w", spec.called(), err)
	}
	return (*Ref)(box), nil
}

// unlisted is the name of unlisted actors while they are spawned, one at a time: Proto.Actor
// makes none that its registry does not hold. Nothing needs them there, since a caller that
// stops, suspends or resumes an actor asks its mailbox; and the maps of the registry never shrink.
const unlisted = "\x00"

func (s *System) spawn(box *mailbox, spec Spec) (err error) {
	s.spawning.Lock()
	defer s.spawning.Unlock()
	s.next = box
	name := spec.Name
	if spec.Unlisted {
		name = unlisted
	}
	props := spec.Supervisor.properties(s)
	box.pid, err = spec.Supervisor.root.SpawnNamed(props, name)
	s.next = nil
	if spec.Unlisted && err == nil {
		s.proto.ProcessRegistry.LocalPIDs.GetBucket(name).Remove(name)
		box.pid, box.invoker = nil, nil
	}
	return err
}

// properties are shared by all actors of a supervisor; see System.next.
func (s *Supervisor) properties(sys *System) *actor.Props {
	if s.props == nil {
		s.system = sys
		s.plan = s.Middleware.Plan()
		s.bound()
		s.props = actor.PropsFromProducer(func() actor.Actor { return (*shell)(sys.next) },
			actor.WithMailbox(func() actor.Mailbox { return sys.next }))
		s.root = sys.proto.Root.Copy().WithGuardian(s)
	}
	return s.props
}

// bound says what each lane may hold.
func (s *Supervisor) bound() {
	orElse := func(n, otherwise int32) int32 {
		if n <= 0 {
			return otherwise
		}
		return n
	}
	for l := delivery.Critical; l <= delivery.Low; l++ {
		s.limits[l] = Capacity{Max: orElse(s.Lanes[l].Max, DefaultCapacity), Policy: s.Lanes[l].Policy}
		s.trims = s.trims || s.limits[l].Policy == DropOldest
	}
	s.limits[delivery.Control].Max = orElse(s.Control, ControlCapacity)
	s.limits[delivery.Last] = s.limits[delivery.Control]
}

// Restart gives a failed actor a new behaviour and lets it go on with its
// queue. When the behaviour cannot be made, that is the actor's next failure.
func (s *System) Restart(ref *Ref) { (*mailbox)(ref).PostSystemMessage(s.resume) }

// Stop ends an actor after the envelope it handles now; the rest of its queue
// are dead letters. It returns at once. An unlisted actor that no worker has ends in the call.
func (s *System) Stop(ref *Ref) {
	m := (*mailbox)(ref)
	switch {
	case m.word.Load()&stopped != 0:
	case m.invoker == nil && m.seize():
		m.end()
		if m.ends() {
			s.pool.again(m)
		}
	default:
		m.PostSystemMessage(s.stop)
	}
}

// Pass gives an unlisted actor that has nothing to do to another ID, with the behaviour that next makes, which gets the
// last one and may use it again. The caller holds that from then on nobody tells the actor anything that is for the last ID.
// It reports false, and nothing has changed, if a worker has the actor, or something waits for it, or it is suspended or has stopped.
func (s *System) Pass(ref *Ref, id uint32, next func(last Behavior) Behavior) bool {
	m := (*mailbox)(ref)
	if m.invoker != nil || !m.seize() {
		return false
	}
	idle := m.word.Load()&(laneBits|asked) == 0 && m.held == 0 && !m.suspended
	if idle {
		m.id.Store(id)
		m.behavior, m.streak = next(m.behavior), 0
	}
	if m.ends() {
		s.pool.again(m)
	}
	return idle
}

// shell is the mailbox in its other role: Proto.Actor's actor.
type shell mailbox

// Receive implements actor.Actor. Envelopes do not come this way.
func (s *shell) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Stopped); ok {
		(*mailbox)(s).end()
	}
}

// end is the last that an actor does.
func (m *mailbox) end() {
	if b, ok := m.behavior.(Stopper); ok {
		b.Stopped()
	}
	m.behavior = nil
	m.close()
	m.sup.system.actors.Done()
	m.sup.running.Done()
}

// restart makes a new behaviour after a failure. It runs in the actor, so that
// its own failure is one like any other.
func (m *mailbox) restart() {
	m.behavior = nil
	b, err := m.sup.New(m.kind, m.id.Load())
	if err != nil {
		panic(&Failure{Err: err})
	}
	m.behavior = b
}

// warnOnly passes warnings and errors only: Proto.Actor reports every dead letter
// and every recovery as information, and both are counted here.
type warnOnly struct{ slog.Handler }

func (q warnOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}
func (q warnOnly) WithAttrs(a []slog.Attr) slog.Handler { return warnOnly{q.Handler.WithAttrs(a)} }
func (q warnOnly) WithGroup(n string) slog.Handler      { return warnOnly{q.Handler.WithGroup(n)} }
