package bench

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"tavernsim/actors"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// BenchmarkMailbox sends the same event to many actors and to one: with
// Proto.Actor's default mailbox, with ours, and with ours behind the full chain. The
// three take turns in every iteration; "x-default" are the ratios to the first.
func BenchmarkMailbox(b *testing.B) {
	for _, n := range []int{100_000, 1} {
		b.Run(fmt.Sprintf("actors=%d", n), func(b *testing.B) {
			def := &side{run: protoCrowd(b, n, 1_000_000).round}
			bare := &side{run: ourCrowd(b, n, 1_000_000, nil).round}
			chain := &side{run: ourCrowd(b, n, 1_000_000, fullChain()).round}
			alternate(b, def, bare, chain)
			def.report(b, "default")
			bare.report(b, "ours")
			chain.report(b, "chain")
			b.ReportMetric(ratio(bare, def), "ours-x-default")
			b.ReportMetric(ratio(chain, def), "chain-x-default")
		})
	}
}

// Whatever the machine's mood, a message through the full chain costs its cell.
func TestAMessageCostsItsCell(t *testing.T) {
	for _, n := range []int{1, 200} {
		s := &side{run: ourCrowd(t, n, 4000, fullChain()).round}
		s.run()
		s.once()
		if s.alloc[0] > 1.2 {
			t.Errorf("%d actors: %.2f allocations for one message through the chain, want the cell", n, s.alloc[0])
		}
	}
}

// fullChain is every middleware that a mailbox can have of the engine's own.
func fullChain() delivery.Chain {
	return delivery.Chain{delivery.Loop{}, delivery.Depth{}, delivery.Expiry{}}
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
	done                  sync.WaitGroup
}

func newCrowd(n, messages int) *crowd {
	senders := runtime.GOMAXPROCS(0)
	return &crowd{actors: n, senders: senders, each: max(1, messages/n/senders)}
}

func (c *crowd) target() target {
	quota := c.senders * c.each
	return target{left: quota, quota: quota, done: &c.done}
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

// ourCrowd spawns actors of ours.
func ourCrowd(tb testing.TB, n, messages int, chain delivery.Chain) *crowd {
	c := newCrowd(n, messages)
	refs := spawn(tb, n, &actors.Supervisor{Middleware: chain}, func() actors.Behavior { t := c.target(); return &t })
	c.send = func(i int, env *protocol.Envelope) { refs[i].Tell(env) }
	return c
}

// spawn starts n actors, which the test's end stops.
func spawn(tb testing.TB, n int, sup *actors.Supervisor, made func() actors.Behavior) []*actors.Ref {
	sys := actors.NewSystem(actors.Options{})
	refs := make([]*actors.Ref, 0, n)
	tb.Cleanup(func() {
		for _, r := range refs {
			sys.Stop(r)
		}
		sys.Close()
	})
	for i := range n {
		ref, err := sys.Spawn(actors.Spec{Name: fmt.Sprint("a", i), ID: uint32(i), First: made(), Supervisor: sup})
		if err != nil {
			tb.Fatal(err)
		}
		refs = append(refs, ref)
	}
	return refs
}

// protoCrowd spawns actors with Proto.Actor's own mailbox and dispatcher.
func protoCrowd(tb testing.TB, n, messages int) *crowd {
	c := newCrowd(n, messages)
	pids, root := spawnProto(tb, n, func() actor.Actor { return &protoTarget{c.target()} })
	c.send = func(i int, env *protocol.Envelope) { root.Send(pids[i], env) }
	return c
}

func spawnProto(tb testing.TB, n int, made actor.Producer) ([]*actor.PID, *actor.RootContext) {
	sys := actor.NewActorSystem(actor.WithLoggerFactory(quietLogger))
	props := actor.PropsFromProducer(made)
	pids := make([]*actor.PID, n)
	for i := range pids {
		pids[i] = sys.Root.Spawn(props)
	}
	tb.Cleanup(func() {
		for _, p := range pids {
			sys.Root.Stop(p)
		}
		sys.Shutdown()
	})
	return pids, sys.Root
}

// nothing is an actor without state.
type nothing struct{}

// Receive implements actors.Behavior.
func (nothing) Receive(*protocol.Envelope) error { return nil }

// protoNothing is the same for Proto.Actor.
type protoNothing struct{}

// Receive implements actor.Actor.
func (protoNothing) Receive(actor.Context) {}

// BenchmarkIdle is the resident memory of one actor without state, of ours and of
// Proto.Actor's. Measure it with -benchtime 1x: what one round leaves is in the next.
func BenchmarkIdle(b *testing.B) {
	const n = 1_000_000
	var ours, def float64
	for b.Loop() {
		ours = growth(n, func() { spawn(b, n, &actors.Supervisor{}, func() actors.Behavior { return nothing{} }) })
		def = growth(n, func() { spawnProto(b, n, func() actor.Actor { return protoNothing{} }) })
	}
	b.ReportMetric(ours, "B/actor")
	b.ReportMetric(def, "default-B/actor")
	b.ReportMetric(ours/def, "x-default")
}

// growth is what the process grows by, after a collection that gave everything back
// to the system.
func growth(n int, f func()) float64 {
	debug.FreeOSMemory()
	before := residentBytes()
	f()
	debug.FreeOSMemory()
	return float64(residentBytes()-before) / float64(n)
}
