package actors

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"tavernsim/engine/bus/verdict"
	"tavernsim/protocol"
)

// Options of a System. The zero value works.
type Options struct {
	// Workers drive all actors. Default GOMAXPROCS. More help only handlers
	// that break promise 6.
	Workers int
	// Capacity bounds the envelopes waiting in one mailbox; beyond it they are
	// dead letters ("queue_full"). Default 1,048,576. It is a safety net: what a
	// machine may hold is bounded by the machine, where it is reproducible.
	Capacity int32
	// Middleware judges every envelope before it is queued, in order. A mailbox
	// drops and sorts into lanes; what asks to delay or to merge is delivered.
	Middleware verdict.Chain
	// Now is the time that middlewares are told. Without it each envelope's own
	// time counts.
	Now func() protocol.Time
	// DeadLetter hears of everything that was not delivered. It is called by
	// the sender and must not block.
	DeadLetter func(env *protocol.Envelope, reason string)
	// Logger gets Proto.Actor's own warnings. Default: none.
	Logger *slog.Logger
}

// Reasons of dead letters that are the mailbox's own. A middleware's drop
// carries the middleware's reason.
const (
	ReasonQueueFull = "queue_full"
	ReasonStopped   = "stopped"
)

// System owns workers and actors.
type System struct {
	opts   Options
	proto  *actor.ActorSystem
	pool   *pool
	actors sync.WaitGroup
	root   *actor.RootContext
	depths *depths

	// spawning guards next: Proto.Actor makes mailbox and actor while it
	// spawns, and sharing its properties saves some 600 bytes an actor.
	spawning sync.Mutex
	next     *mailbox
}

// NewSystem starts the workers.
func NewSystem(opts Options) *System {
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	if opts.Capacity <= 0 {
		opts.Capacity = 1 << 20
	}
	logger := opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	counts := newDepths(opts.Workers)
	s := &System{opts: opts, pool: newPool(counts.workers), depths: counts}
	s.proto = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(quiet{logger.Handler()})
	}))
	s.root = s.proto.Root
	return s
}

// Close stops nothing that still runs: stop the actors first. It waits until
// they are gone, then ends the workers.
func (s *System) Close() {
	s.actors.Wait()
	s.pool.close()
	s.proto.Shutdown()
}

func (s *System) dead(env *protocol.Envelope, reason string) {
	if s.opts.DeadLetter != nil {
		s.opts.DeadLetter(env, reason)
	}
}

// Behavior is what an actor does with its envelopes.
type Behavior interface {
	// Receive handles one envelope. An error, like a panic, is a failure.
	Receive(env *protocol.Envelope) error
}

// Spec describes an actor.
type Spec struct {
	Name string // unique in the system
	// Receiver is what middlewares know the actor as: the end of Name. Default
	// the whole of it.
	Receiver string
	// First is the behaviour to begin with.
	First Behavior
	// New makes the behaviour at every restart, from the given ID. An error is a
	// failure. Actors of one kind share one function.
	New func(id uint32) (Behavior, error)
	ID  uint32
	// Kind is what [System.Depths] counts the actor's mailbox under: a small
	// number of the caller's choice, below [MaxKinds].
	Kind uint8
	// Supervisor hears of failures. Actors that fail together may share one.
	Supervisor *Supervisor
}

// prefix is how much of the name stands before Receiver.
func (s *Spec) prefix() uint16 {
	if s.Receiver == "" {
		return 0
	}
	return uint16(len(s.Name) - len(s.Receiver))
}

// check refuses what a mailbox cannot hold.
func (s *Spec) check() error {
	if s.Kind >= MaxKinds {
		return protocol.Errorf(protocol.KindInvalid, "actors: spawn %s: kind %d: want one below %d", s.Name, s.Kind, MaxKinds)
	}
	if !strings.HasSuffix(s.Name, s.Receiver) || len(s.Name)-len(s.Receiver) > math.MaxUint16 {
		return protocol.Errorf(protocol.KindInvalid, "actors: spawn %s: receiver %q: want the end of the name", s.Name, s.Receiver)
	}
	return nil
}

// Ref addresses an actor. It stays valid after the actor stopped; what is told
// then is a dead letter.
type Ref struct {
	pid *actor.PID
	box *mailbox
}

// Tell queues an envelope. It never blocks.
func (r *Ref) Tell(env *protocol.Envelope) { r.box.PostUserMessage(env) }

// Waiting is the number of envelopes queued.
func (r *Ref) Waiting() int { return r.box.UserMessageCount() }

// Supervisor decides what becomes of failed actors. Failed is called on a
// worker and must not block: it sends a message to whoever decides.
type Supervisor struct {
	Failed func(name string, f *Failure)

	mu    sync.Mutex
	proto actor.Supervisor
	props *actor.Props // guarded by the system's spawning; one system per supervisor
}

// HandleFailure implements Proto.Actor's strategy: it decides nothing. The actor
// stays suspended until Restart or Stop.
func (s *Supervisor) HandleFailure(_ *actor.ActorSystem, proto actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	s.mu.Lock()
	s.proto = proto
	s.mu.Unlock()
	s.Failed(child.Id, failureOf(reason, nil))
}

// Spawn starts an actor.
func (s *System) Spawn(spec Spec) (*Ref, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	box := &mailbox{owner: s, make: spec.New, id: spec.ID, kind: spec.Kind, prefix: spec.prefix(), behavior: spec.First}
	s.actors.Add(1)
	if err := s.spawn(box, spec); err != nil {
		s.actors.Done()
		return nil, protocol.Errorf(protocol.KindConflict, "actors: spawn %s: %w", spec.Name, err)
	}
	return &box.ref, nil
}

func (s *System) spawn(box *mailbox, spec Spec) error {
	s.spawning.Lock()
	defer s.spawning.Unlock()
	s.next = box
	pid, err := s.root.SpawnNamed(spec.Supervisor.properties(s), spec.Name)
	s.next = nil
	box.ref = Ref{pid: pid, box: box}
	return err
}

// properties are shared by all actors of a supervisor; see System.next.
func (s *Supervisor) properties(sys *System) *actor.Props {
	if s.props == nil {
		s.props = actor.PropsFromProducer(func() actor.Actor { return (*shell)(sys.next) },
			actor.WithMailbox(func() actor.Mailbox { return sys.next }), actor.WithGuardian(s))
	}
	return s.props
}

// Restart gives a failed actor a new behaviour and lets it go on with its
// queue. When the behaviour cannot be made, that is the actor's next failure.
func (s *System) Restart(ref *Ref, sup *Supervisor) {
	sup.mu.Lock()
	proto := sup.proto
	sup.mu.Unlock()
	proto.ResumeChildren(ref.pid)
}

// Stop ends an actor after the envelope it handles now; the rest of its queue
// are dead letters. It returns at once.
func (s *System) Stop(ref *Ref) { s.root.Stop(ref.pid) }

// shell is the mailbox in its other role: Proto.Actor's actor.
type shell mailbox

// Receive implements actor.Actor.
func (s *shell) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *protocol.Envelope:
		if err := s.behavior.Receive(msg); err != nil {
			panic(&Failure{Err: err})
		}
	case *actor.Stopped:
		s.behavior = nil
		(*mailbox)(s).close()
		s.owner.actors.Done()
	}
}

// restart makes a new behaviour after a failure. It runs in the actor, so that
// its own failure is one like any other.
func (m *mailbox) restart() {
	m.behavior = nil
	b, err := m.make(m.id)
	if err != nil {
		panic(&Failure{Err: err})
	}
	m.behavior = b
}

// quiet passes warnings and errors only: Proto.Actor reports every dead letter
// and every recovery as information, and both are counted here.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}
func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }
func (q quiet) WithGroup(n string) slog.Handler      { return quiet{q.Handler.WithGroup(n)} }
