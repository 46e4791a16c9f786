package bench

import (
	"sync/atomic"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// Parts of the measurement of critical messages.
const (
	probes  = 1000
	floods  = 64_000
	lowWork = 250  // rounds of work for a low message: half a microsecond or so
	lag     = 4096 // more low messages than are counted may wait: a turn settles at its end
)

// probed is an actor behind a backlog.
type probed struct {
	gate    chan struct{}
	arrived chan arrival
	low     atomic.Int64 // handled
	flood   int          // critical messages of the second part that are still to come
	sum     uint64       // of the work
}

// arrival is when a critical message was handled, and how many low ones before.
type arrival struct {
	at  time.Time
	low int64
}

// Receive implements actors.Behavior.
func (p *probed) Receive(env *protocol.Envelope) error {
	switch {
	case env.Type == "gate":
		<-p.gate
	case env.Priority == protocol.Low:
		p.work()
		p.low.Store(p.low.Load() + 1)
	case env.Type == "flood":
		if p.flood--; p.flood == 0 {
			p.arrived <- arrival{time.Now(), p.low.Load()}
		}
	default:
		p.arrived <- arrival{time.Now(), p.low.Load()}
	}
	return nil
}

// work is what a handler does: a backlog of messages that cost nothing is gone
// before it can be probed.
func (p *probed) work() {
	x := p.sum | 1
	for range lowWork {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	p.sum = x
}

// backlog is the actor with those who send to it.
type backlog struct {
	*probed
	ref *actors.Ref
	n   int
}

// critical puts a backlog of low messages before an actor and sends critical
// ones into it: one after the other, then more than it can handle.
func critical(n int) (Critical, error) {
	out := Critical{Backlog: n, Probes: probes}
	sys := actors.NewSystem(actors.Options{})
	b := &backlog{n: n, probed: &probed{arrived: make(chan arrival, 1), flood: floods}}
	sup := &actors.Supervisor{Middleware: FullChain()}
	sup.Lanes[delivery.Low].Max = int32(n + lag)
	var err error
	if b.ref, err = sys.Spawn(actors.Spec{Name: "probed", First: b.probed, Supervisor: sup}); err != nil {
		sys.Close()
		return out, err
	}
	out.LowNs = b.drain()
	b.probe(&out)
	out.LowShare = b.share()
	sys.Stop(b.ref)
	sys.Close()
	return out, nil
}

func (b *backlog) tell(p protocol.Priority, what string) {
	b.ref.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: what, Priority: p}, Kind: protocol.KindEvent})
}

// fill queues low messages behind one that waits at the gate, and counts anew.
func (b *backlog) fill() (open func()) {
	b.gate = make(chan struct{})
	b.tell(protocol.High, "gate")
	low := &protocol.Envelope{EventHeader: protocol.EventHeader{Priority: protocol.Low}, Kind: protocol.KindEvent}
	for range b.n {
		b.ref.Tell(low)
	}
	return func() { close(b.gate) }
}

// refill makes up for what was handled since.
func (b *backlog) refill() {
	for range b.n - b.ref.Waiting() {
		b.tell(protocol.Low, "")
	}
}

// empty waits until everything was handled.
func (b *backlog) empty() arrival {
	b.ref.Tell(&protocol.Envelope{Kind: protocol.KindWake})
	return <-b.arrived
}

// drain is what the actor takes for one low message of a backlog.
func (b *backlog) drain() float64 {
	open := b.fill()
	return timed(b.n, func() {
		open()
		b.empty()
	})
}

func (b *backlog) probe(out *Critical) {
	b.fill()()
	wall, own := make([]time.Duration, 0, probes), make([]time.Duration, 0, probes)
	out.Left = b.n
	for range probes {
		b.refill()
		out.Left = min(out.Left, b.ref.Waiting())
		before, sent := b.low.Load(), time.Now()
		b.tell(protocol.Critical, "")
		a := <-b.arrived
		wall = append(wall, a.at.Sub(sent))
		own = append(own, time.Duration(float64(a.low-before)*out.LowNs))
	}
	b.empty()
	out.P50, out.P99, out.Max = percentile(wall, .5), percentile(wall, .99), percentile(wall, 1)
	out.OwnP99, out.OwnMax = percentile(own, .99), percentile(own, 1)
}

// share is how much of its turns the low lane gets while critical messages
// never run out.
func (b *backlog) share() float64 {
	open := b.fill()
	for range floods {
		b.tell(protocol.Critical, "flood")
	}
	before := b.low.Load()
	open()
	a := <-b.arrived
	b.empty()
	low := float64(a.low - before)
	return low / (low + floods)
}
