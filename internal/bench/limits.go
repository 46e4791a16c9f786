package bench

import (
	"fmt"
	"os"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cockroachdb/pebble/v2"

	"tavernsim/actors"
	"tavernsim/protocol"
)

// Limits are what the parts cost alone, in CPU time of all cores, measured in the same process just
// after the run: what the engine cannot be faster than.
type Limits struct {
	ProtoActorSend float64 `json:"proto_actor_send_ns"`    // Proto.Actor, default mailbox, to as many actors
	Send           float64 `json:"send_ns"`                // ours, laned mailbox, to as many actors
	RoundTrip      float64 `json:"msgpack_round_trip_ns"`  // encode and decode one event of about 200 bytes
	PebbleFact     float64 `json:"pebble_append_ns"`       // bare batches of 4,096 facts of the run's size, per fact
	FactsPer       float64 `json:"facts_per_deliberation"` // of the run
	FactBytes      float64 `json:"bytes_per_fact"`         // of the run
	Floor          float64 `json:"floor_ns"`               // two sends, one round trip and the facts of a deliberation
	Ratio          float64 `json:"cpu_per_deliberation_to_floor"`
}

// MeasureLimits measures the parts for the shape of a run.
func MeasureLimits(d Deliberation) (l Limits, err error) {
	l.FactsPer = float64(d.Facts) / float64(d.Deliberations)
	l.FactBytes = d.BytesPer / l.FactsPer
	if l.ProtoActorSend, err = protoActorSend(d.Agents); err != nil {
		return l, err
	}
	if l.Send, err = lanedSend(d.Agents); err != nil {
		return l, err
	}
	if l.RoundTrip, err = roundTrip(); err != nil {
		return l, err
	}
	if l.PebbleFact, err = pebbleFact(int(l.FactBytes)); err != nil {
		return l, err
	}
	l.Floor = 2*l.ProtoActorSend + l.RoundTrip + l.FactsPer*l.PebbleFact
	l.Ratio = over(d.CPUNsPer, l.Floor)
	return l, nil
}

// sends is how many messages are sent to measure one.
const sends = 500_000

type countDown struct{ left *sync.WaitGroup }

// Receive implements actor.Actor.
func (c countDown) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*protocol.Envelope); ok {
		c.left.Done()
	}
}

func protoActorSend(n int) (float64, error) {
	sys := actor.NewActorSystem(actor.WithLoggerFactory(quietLogger))
	defer sys.Shutdown()
	var left sync.WaitGroup
	props := actor.PropsFromProducer(func() actor.Actor { return countDown{&left} })
	pids := make([]*actor.PID, n)
	for i := range pids {
		pids[i] = sys.Root.Spawn(props)
	}
	defer func() {
		for _, p := range pids {
			sys.Root.Stop(p)
		}
	}()
	env := &protocol.Envelope{Kind: protocol.KindEvent}
	return timed(sends, func() {
		left.Add(sends)
		for i := range sends {
			sys.Root.Send(pids[i%n], env)
		}
		left.Wait()
	}), nil
}

type countBehavior struct{ left *sync.WaitGroup }

// Receive implements actors.Behavior.
func (c countBehavior) Receive(*protocol.Envelope) error { c.left.Done(); return nil }

func lanedSend(n int) (float64, error) {
	sys := actors.NewSystem(actors.Options{})
	sup := &actors.Supervisor{Failed: func(string, *actors.Failure) {}}
	var left sync.WaitGroup
	refs := make([]*actors.Ref, n)
	for i := range refs {
		ref, err := sys.Spawn(actors.Spec{Name: fmt.Sprint(i), First: countBehavior{&left}, Supervisor: sup})
		if err != nil {
			return 0, err
		}
		refs[i] = ref
	}
	env := &protocol.Envelope{Kind: protocol.KindEvent}
	ns := timed(sends, func() {
		left.Add(sends)
		for i := range sends {
			refs[i%n].Tell(env)
		}
		left.Wait()
	})
	for _, r := range refs {
		sys.Stop(r)
	}
	sys.Close()
	return ns, nil
}

// trips is how many round trips are made to measure one.
const trips = 200_000

func roundTrip() (float64, error) {
	e := &protocol.Envelope{
		EventHeader: protocol.EventHeader{ID: "e123456", Source: "worker_123", Targets: []string{"worker_456"}, Type: "worker.delivered", TraceID: "t123", Chain: []protocol.Link{{Agent: "worker_1", Type: "worker.delivered"}}, Time: 1}, Kind: protocol.KindEvent, Scene: "deliberation", Body: protocol.NewBody(protocol.Encode(map[string]any{"good": "wood", "amount": int64(3), "text": "three logs, still wet, for whoever comes first"})),
	}
	var buf []byte
	var failed error
	ns := timed(trips, func() {
		for range trips {
			buf = e.AppendMsg(buf[:0])
			got, err := protocol.ReadEnvelope(buf)
			if err == nil {
				_, err = got.Body.Value()
			}
			if err != nil {
				failed = err
			}
		}
	})
	return ns, failed
}

// Facts and batches written to measure one fact.
const (
	batchFacts = 4096
	batches    = 64
)

// pebbleFact appends the same number of bytes in bare batches, one value each.
func pebbleFact(size int) (float64, error) {
	dir, err := os.MkdirTemp("", "simd-limit-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	db, err := pebble.Open(dir, &pebble.Options{MemTableSize: 64 << 20, Logger: silent{}})
	if err != nil {
		return 0, err
	}
	value := make([]byte, size*batchFacts)
	draw := protocol.NewDraw(1)
	for i := range value {
		value[i] = byte(draw.IntN(64))
	}
	var failed error
	ns := timed(batches*batchFacts, func() {
		for i := range batches {
			b := db.NewBatch()
			key := []byte(fmt.Sprintf("b%08d", i))
			if err := b.Set(key, value, nil); err != nil {
				failed = err
			}
			if err := b.Commit(pebble.NoSync); err != nil {
				failed = err
			}
		}
	})
	if err := db.Close(); err != nil && failed == nil {
		failed = err
	}
	return ns, failed
}

// over divides by what is 0 where CPU time is not known, and so is the quotient then.
func over(a, by float64) float64 {
	if by == 0 {
		return 0
	}
	return a / by
}

// timed is the CPU time of one of n, of all cores.
func timed(n int, f func()) float64 {
	start := cpuTime()
	f()
	return float64(cpuTime()-start) / float64(n)
}
