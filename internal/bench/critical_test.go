package bench

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tavernsim/actors"
	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

const (
	low     = 1_000_000 // low messages in front of every critical one
	lowWork = 250       // rounds of work for a low message: half a microsecond or so
	lag     = 4096      // more low messages than are counted may wait: a turn settles at its end
)

// BenchmarkCritical sends critical messages, one after the other, to an actor behind
// a backlog of low ones, which is filled up before each. It reports the wall time from
// the send to the handler, and how much of it was the actor's own work on low messages.
func BenchmarkCritical(b *testing.B) {
	p := &probed{entered: make(chan struct{}), gate: make(chan struct{}), arrived: make(chan arrival, 1)}
	sup := &actors.Supervisor{Middleware: fullChain()}
	sup.Lanes[delivery.Low].Max = low + lag
	ref := spawn(b, 1, sup, func() actors.Behavior { return p })[0]
	perLow := p.drain(ref)
	p.fill(ref)
	p.gate <- struct{}{}
	var wall, own []time.Duration
	least := low
	for b.Loop() {
		for range low - ref.Waiting() {
			tell(ref, protocol.Low, "")
		}
		least = min(least, ref.Waiting())
		before, sent := p.low.Load(), time.Now()
		tell(ref, protocol.Critical, "")
		a := <-p.arrived
		wall, own = append(wall, a.at.Sub(sent)), append(own, time.Duration(float64(a.low-before)*perLow))
	}
	p.empty(ref)
	for _, share := range []struct {
		name string
		of   float64
	}{{"p50-ns", .5}, {"p99-ns", .99}, {"max-ns", 1}} {
		b.ReportMetric(percentile(wall, share.of), share.name)
		b.ReportMetric(percentile(own, share.of), "own-"+share.name)
	}
	b.ReportMetric(perLow, "low-ns")
	b.ReportMetric(float64(least), "least-low")
}

// probed is an actor behind a backlog.
type probed struct {
	entered, gate chan struct{}
	arrived       chan arrival
	low           atomic.Int64 // handled
	sum           uint64       // of the work
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
		p.entered <- struct{}{}
		<-p.gate
	case env.Priority == protocol.Low:
		p.work()
		p.low.Store(p.low.Load() + 1)
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

func tell(ref *actors.Ref, p protocol.Priority, what string) {
	ref.Tell(&protocol.Envelope{EventHeader: protocol.EventHeader{Type: what, Priority: p}, Kind: protocol.KindEvent})
}

// fill queues low messages behind one that waits at the gate.
func (p *probed) fill(ref *actors.Ref) {
	tell(ref, protocol.High, "gate")
	<-p.entered
	env := &protocol.Envelope{EventHeader: protocol.EventHeader{Priority: protocol.Low}, Kind: protocol.KindEvent}
	for range low {
		ref.Tell(env)
	}
}

// empty waits until everything was handled.
func (p *probed) empty(ref *actors.Ref) {
	ref.Tell(&protocol.Envelope{Kind: protocol.KindWake})
	<-p.arrived
}

// drain is what the actor takes for one low message of a backlog.
func (p *probed) drain(ref *actors.Ref) float64 {
	p.fill(ref)
	return timed(low, func() {
		p.gate <- struct{}{}
		p.empty(ref)
	})
}

// percentile of durations, in nanoseconds.
func percentile(list []time.Duration, p float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return float64(list[min(len(list)-1, int(p*float64(len(list))))])
}
