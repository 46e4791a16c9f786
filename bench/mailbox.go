package bench

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"tavernsim/actors"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// MailboxOptions say what to measure.
type MailboxOptions struct {
	Agents   int // actors that are sent to
	Messages int // of each round and side, rounded to the same number for each actor
	Rounds   int // each side has one turn in each
	Idle     int // actors that do nothing; 0 = not measured
	Backlog  int // low messages in front of the critical ones; 0 = not measured
}

// Mailbox is what a message costs on its way into an actor.
type Mailbox struct {
	Agents   int      `json:"agents"`
	Messages int      `json:"messages"`
	Senders  int      `json:"senders"`
	Rounds   int      `json:"rounds"`
	Many     Sends    `json:"many"`
	Hot      Sends    `json:"hot"`
	Idle     Idle     `json:"idle"`
	Critical Critical `json:"critical"`
}

// Sends compares the ways to send: the same senders, pointer and number of
// messages. The ratios are of CPU time, medians and extremes over the rounds, to
// Proto.Actor's default mailbox in the same round.
type Sends struct {
	Actors     int     `json:"actors"`
	Default    Spread  `json:"proto_actor_default"`
	Bare       Spread  `json:"bare"`
	Chain      Spread  `json:"chain"`
	BareRatio  float64 `json:"bare_to_default"`
	ChainRatio float64 `json:"chain_to_default"`

	BareRange  [2]float64 `json:"bare_to_default_range"`
	ChainRange [2]float64 `json:"chain_to_default_range"`
}

// Idle is the resident memory of one actor without state.
type Idle struct {
	Actors  int     `json:"actors"`
	Bytes   float64 `json:"bytes"`
	Default float64 `json:"proto_actor_default_bytes"`
}

// Critical is what becomes of critical messages behind many low ones.
type Critical struct {
	Backlog  int     `json:"low_queued"`
	Left     int     `json:"low_queued_min"` // at any probe
	Probes   int     `json:"probes"`
	LowNs    float64 `json:"low_ns"`     // the actor's work for one low message
	P50      float64 `json:"p50_ns"`     // wall time from the send to the handler
	P99      float64 `json:"p99_ns"`     //
	Max      float64 `json:"max_ns"`     //
	OwnP99   float64 `json:"own_p99_ns"` // the actor's own work in between
	OwnMax   float64 `json:"own_max_ns"`
	LowShare float64 `json:"low_share"` // of what is handled while critical messages never run out
}

// FullChain is every middleware that a mailbox can have of the engine's own.
func FullChain() delivery.Chain {
	return delivery.Chain{delivery.Loop{}, delivery.Depth{}, delivery.Expiry{}, delivery.ByPriority{}}
}

// RunMailbox measures.
func RunMailbox(o MailboxOptions) (Mailbox, error) {
	senders := runtime.GOMAXPROCS(0)
	m := Mailbox{Agents: o.Agents, Senders: senders, Rounds: o.Rounds}
	var err error
	if o.Idle > 0 {
		if m.Idle, err = idleActors(o.Idle); err != nil {
			return m, err
		}
	}
	if m.Many, m.Messages, err = compareSends(o.Agents, o.Messages, o.Rounds, senders); err != nil {
		return m, err
	}
	if m.Hot, _, err = compareSends(1, o.Messages, o.Rounds, senders); err != nil {
		return m, err
	}
	if o.Backlog > 0 {
		m.Critical, err = critical(o.Backlog)
	}
	return m, err
}

// sampleEvent has what every event of a scene has, and more causes than an agent
// may hear a type again, so that the loop rule has to look at them.
func sampleEvent() *protocol.Envelope {
	return &protocol.Envelope{
		EventHeader: protocol.EventHeader{ID: "e123456", Source: "worker_123", Type: "worker.delivered", TraceID: "t123", Time: 1, Chain: []protocol.Link{{Agent: "worker_1", Type: "worker.delivered"}, {Agent: "worker_2", Type: "worker.asked"}, {Agent: "worker_3", Type: "worker.delivered"}}}, Kind: protocol.KindEvent, Scene: "bench", Expires: 1 << 60, Body: protocol.NewBody(protocol.Encode(map[string]any{"good": "wood", "amount": int64(3)})),
	}
}

// target counts down what it expects; only its own actor touches it.
type target struct {
	left  int
	quota int
	done  *sync.WaitGroup
}

func (t *target) hit() {
	if t.left--; t.left == 0 {
		t.left = t.quota
		t.done.Done()
	}
}

// Receive implements actors.Behavior.
func (t *target) Receive(*protocol.Envelope) error { t.hit(); return nil }

// protoTarget is the same for Proto.Actor.
type protoTarget struct{ target }

// Receive implements actor.Actor.
func (t *protoTarget) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*protocol.Envelope); ok {
		t.hit()
	}
}

// crowd is as many actors of one kind, and the way to send to them.
type crowd struct {
	actors, senders, each int // each sender sends each actor so many
	send                  func(i int, env *protocol.Envelope)
	done                  *sync.WaitGroup
}

// round sends everything, from all senders at once, and waits until it is
// handled.
func (c *crowd) round() int {
	c.done.Add(c.actors)
	var senders sync.WaitGroup
	env := sampleEvent()
	for s := range c.senders {
		senders.Go(func() {
			at := s * c.actors / c.senders // not all to the same actor at once
			for range c.each * c.actors {
				c.send(at, env)
				if at++; at == c.actors {
					at = 0
				}
			}
		})
	}
	senders.Wait()
	c.done.Wait()
	return c.actors * c.senders * c.each
}

func (c *crowd) target() target {
	quota := c.senders * c.each
	return target{left: quota, quota: quota, done: c.done}
}

func newCrowd(n, messages, senders int) *crowd {
	return &crowd{actors: n, senders: senders, each: max(1, messages/n/senders), done: &sync.WaitGroup{}}
}

// ourCrowd spawns actors of ours; close ends them.
func ourCrowd(n, messages, senders int, chain delivery.Chain) (c *crowd, close func(), err error) {
	c = newCrowd(n, messages, senders)
	sys := actors.NewSystem(actors.Options{})
	sup := &actors.Supervisor{Middleware: chain}
	refs := make([]*actors.Ref, 0, n)
	close = func() { stopAll(sys, refs) }
	for i := range n {
		t := c.target()
		ref, err := sys.Spawn(actors.Spec{Name: fmt.Sprint("a", i), ID: uint32(i), First: &t, Supervisor: sup})
		if err != nil {
			close()
			return nil, nil, err
		}
		refs = append(refs, ref)
	}
	c.send = func(i int, env *protocol.Envelope) { refs[i].Tell(env) }
	return c, func() { stopAll(sys, refs) }, nil
}

func stopAll(sys *actors.System, refs []*actors.Ref) {
	for _, r := range refs {
		sys.Stop(r)
	}
	sys.Close()
}

// protoCrowd spawns actors with Proto.Actor's own mailbox and dispatcher.
func protoCrowd(n, messages, senders int) (c *crowd, close func()) {
	c = newCrowd(n, messages, senders)
	sys := actor.NewActorSystem(actor.WithLoggerFactory(quietLogger))
	props := actor.PropsFromProducer(func() actor.Actor { return &protoTarget{c.target()} })
	pids := make([]*actor.PID, n)
	for i := range pids {
		pids[i] = sys.Root.Spawn(props)
	}
	c.send = func(i int, env *protocol.Envelope) { sys.Root.Send(pids[i], env) }
	return c, func() {
		for _, p := range pids {
			sys.Root.Stop(p)
		}
		sys.Shutdown()
	}
}

// compareSends measures the three ways to n actors.
func compareSends(n, messages, rounds, senders int) (Sends, int, error) {
	def, closeDef := protoCrowd(n, messages, senders)
	defer closeDef()
	bare, closeBare, err := ourCrowd(n, messages, senders, nil)
	if err != nil {
		return Sends{}, 0, err
	}
	defer closeBare()
	chain, closeChain, err := ourCrowd(n, messages, senders, FullChain())
	if err != nil {
		return Sends{}, 0, err
	}
	defer closeChain()
	sides := []*side{{run: def.round}, {run: bare.round}, {run: chain.round}}
	for _, s := range sides {
		s.run() // the first touch of the actors' memory belongs to nobody
	}
	alternate(rounds, sides...)
	out := Sends{Actors: n, Default: sides[0].spread(), Bare: sides[1].spread(), Chain: sides[2].spread()}
	out.BareRatio, out.BareRange = ratio(sides[1], sides[0]), ratioRange(sides[1], sides[0])
	out.ChainRatio, out.ChainRange = ratio(sides[2], sides[0]), ratioRange(sides[2], sides[0])
	return out, def.actors * senders * def.each, nil
}

// nothing is an actor without state.
type nothing struct{}

// Receive implements actors.Behavior.
func (nothing) Receive(*protocol.Envelope) error { return nil }

// protoNothing is the same for Proto.Actor.
type protoNothing struct{}

// Receive implements actor.Actor.
func (protoNothing) Receive(actor.Context) {}

// idleActors measures what the process grows by, after a collection that gave
// everything back to the system.
func idleActors(n int) (Idle, error) {
	out := Idle{Actors: n}
	sys := actors.NewSystem(actors.Options{})
	sup := &actors.Supervisor{}
	refs := make([]*actors.Ref, n)
	var failed error
	out.Bytes = growth(n, func() {
		for i := range refs {
			if refs[i], failed = sys.Spawn(actors.Spec{Name: fmt.Sprint("a", i), ID: uint32(i), First: nothing{}, Supervisor: sup}); failed != nil {
				refs = refs[:i]
				return
			}
		}
	})
	stopAll(sys, refs)
	if failed != nil {
		return out, failed
	}
	out.Default = idleProto(n)
	return out, nil
}

// idleProto leaves its actors to the garbage collector: nothing of theirs runs.
func idleProto(n int) float64 {
	sys := actor.NewActorSystem(actor.WithLoggerFactory(quietLogger))
	defer sys.Shutdown()
	props := actor.PropsFromProducer(func() actor.Actor { return protoNothing{} })
	pids := make([]*actor.PID, n)
	bytes := growth(n, func() {
		for i := range pids {
			pids[i] = sys.Root.Spawn(props)
		}
	})
	runtime.KeepAlive(pids)
	return bytes
}

func growth(n int, f func()) float64 {
	debug.FreeOSMemory()
	before := residentBytes()
	f()
	debug.FreeOSMemory()
	return float64(residentBytes()-before) / float64(n)
}
