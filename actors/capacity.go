package actors

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// Policy says what a lane does with an envelope beyond its capacity.
type Policy uint8

const (
	// Refuse makes the new envelope a dead letter, "queue_full".
	Refuse Policy = iota
	// DropOldest makes the oldest of the lane a dead letter, "dropped_oldest".
	// The receiver takes it away when it next looks at its queue; until then up
	// to twice the capacity wait, and beyond that the new one is refused.
	DropOldest
	// Block makes the sender wait for room. A worker never waits: what it sends
	// from a handler is refused instead, because the receiver may need that very
	// worker to get on.
	Block
)

func (p Policy) String() string {
	if p <= Block {
		return [...]string{"refuse", "drop_oldest", "block"}[p]
	}
	return "unknown"
}

// Capacity bounds one lane for events of every mailbox.
type Capacity struct {
	Max    int32 // envelopes waiting; 0 = DefaultCapacity
	Policy Policy
}

// DefaultCapacity of a lane for events. It is a safety net: what a machine may
// hold is bounded by the machine, where it is reproducible.
const DefaultCapacity = 1 << 20

// ControlCapacity of the control lane, of the last one, and for what is no event in
// any other. What is no event is
// an answer or an order for which a sender waits: it is refused only when its
// senders are out of hand. It is twice what the largest scene sends at once, an
// answer from every agent.
const ControlCapacity = 1 << 21

// lanesAbove are counted in the mailbox's first line, the others in its second.
const lanesAbove = 4

// count is the number of envelopes that wait in a lane.
func (m *mailbox) count(l delivery.Lane) *atomic.Int32 {
	if l < lanesAbove {
		return &m.queued[l]
	}
	return &m.below[l-lanesAbove]
}

// admit counts an envelope in, or says why it may not wait.
func (m *mailbox) admit(l delivery.Lane, kind protocol.Kind) (reason string) {
	if m.word.Load()&stopped != 0 {
		return ReasonStopped
	}
	count, limit := m.count(l), &m.sup.limits[l]
	n := count.Add(1)
	if n <= limit.Max || n <= ControlCapacity && kind != protocol.KindEvent && delivery.Critical <= l && l <= delivery.Low {
		return ""
	}
	if limit.Policy == DropOldest && n <= limit.twice() {
		return ""
	}
	count.Add(-1)
	if limit.Policy == Block && !onWorker() {
		return m.sup.system.blocked.wait(m, count, limit.Max)
	}
	return ReasonQueueFull
}

func (c *Capacity) twice() int32 {
	if c.Max > 1<<30 {
		return 1<<31 - 1
	}
	return 2 * c.Max
}

// trim takes away the oldest of lanes that hold more than they should.
func (m *mailbox) trim() {
	for l := delivery.Critical; l <= delivery.Low; l++ {
		limit, count := &m.sup.limits[l], m.count(l)
		for limit.Policy == DropOldest && count.Load() > limit.Max {
			env := m.pop(l)
			if env == nil {
				break
			}
			m.discard(env, l, ReasonDroppedOldest)
		}
	}
}

// Envelopes that a worker may take before it says so: the counters are shared
// with the senders. In a small lane the room is told at once.
const (
	handMost  = 32
	smallLane = 1024
)

// onto settles what the hand has of another lane.
func (m *mailbox) onto(h *hand, l delivery.Lane) {
	if h.lane != l {
		m.settle(h)
		h.lane = l
	}
}

// note counts an envelope that was taken. The first of a slice is told at once: a
// handler may be looked at while it is at work.
func (m *mailbox) note(h *hand, first bool) {
	if h.n++; first || h.n == handMost || m.sup.limits[h.lane].Max < smallLane {
		m.settle(h)
	}
}

func (m *mailbox) settle(h *hand) {
	if h.n == 0 {
		return
	}
	m.leave(h.lane, h.n)
	h.count.add(m.kind, h.lane, h.n)
	h.n = 0
}

// leave counts envelopes out.
func (m *mailbox) leave(l delivery.Lane, n int32) {
	m.sup.system.blocked.taken(m.count(l).Add(-n), &m.sup.limits[l])
}

// blocked are the senders that wait for room. The lock is taken only when there
// are any.
type blocked struct {
	mu      sync.Mutex
	room    sync.Cond
	waiting atomic.Int32
}

// wait returns when the envelope was counted in, or the actor stopped.
func (b *blocked) wait(m *mailbox, count *atomic.Int32, limit int32) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Add(1) // before the look at the lane: the receiver looks in the other order
	defer b.waiting.Add(-1)
	for {
		if m.word.Load()&stopped != 0 {
			return ReasonStopped
		}
		if n := count.Load(); n < limit {
			if count.CompareAndSwap(n, n+1) {
				return ""
			}
			continue
		}
		b.room.Wait()
	}
}

// taken tells the waiting senders that a lane has room again: at half its capacity,
// so that they are not woken for every envelope.
func (b *blocked) taken(n int32, limit *Capacity) {
	if limit.Policy == Block && n <= limit.Max/2 && b.waiting.Load() > 0 {
		b.wake()
	}
}

func (b *blocked) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room.Broadcast()
}

// onWorker reports whether the caller is a handler. It reads the stack, and is
// asked only by a sender that would have to wait.
func onWorker() bool {
	pcs := make([]uintptr, 64)
	n := runtime.Callers(1, pcs)
	for n == len(pcs) {
		pcs = make([]uintptr, 2*len(pcs))
		n = runtime.Callers(1, pcs)
	}
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "actors.(*pool).work") {
			return true
		}
		if !more {
			return false
		}
	}
}

// DeadLetter is an envelope that no mailbox took.
type DeadLetter struct {
	*protocol.Envelope
	Receiver string // the actor's name without Supervisor.Prefix
	Lane     delivery.Lane
	Reason   string // one of the Reason... constants, or a middleware's
}

// Reasons of dead letters that are the mailbox's own. A middleware's drop
// carries the middleware's reason.
const (
	ReasonQueueFull     = "queue_full"
	ReasonDroppedOldest = "dropped_oldest"
	ReasonStopped       = "stopped"
)
