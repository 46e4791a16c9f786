package actors

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"tavernsim/engine/bus/verdict"
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

// Capacity bounds one lane for events of every mailbox. The control lane and the
// last one have none: what is no event is bounded by what its senders have in
// flight, and one that was refused would be waited for in vain.
type Capacity struct {
	Max    int32 // envelopes waiting; 0 = DefaultCapacity
	Policy Policy
}

// DefaultCapacity of a lane. It is a safety net: what a machine may hold is
// bounded by the machine, where it is reproducible.
const DefaultCapacity = 1 << 20

// eventLanes are the lanes that are counted: from the critical to the low.
const eventLanes = verdict.Low - verdict.Critical + 1

// counted is the place of a lane in mailbox.queued.
func counted(l verdict.Lane) (i int, ok bool) {
	return int(l) - int(verdict.Critical), l >= verdict.Critical && l <= verdict.Low
}

// admit counts an envelope in, or says why it may not wait.
func (m *mailbox) admit(l verdict.Lane) (reason string) {
	if m.stopped.Load() {
		return ReasonStopped
	}
	i, ok := counted(l)
	if !ok {
		return ""
	}
	limit := &m.sup.Lanes[l]
	n := m.queued[i].Add(1)
	if n <= limit.Max {
		return ""
	}
	if limit.Policy == DropOldest && n <= limit.twice() {
		return ""
	}
	m.queued[i].Add(-1)
	if limit.Policy == Block && !onWorker() {
		return m.sup.system.blocked.wait(m, i, limit.Max)
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
	for l := verdict.Critical; l <= verdict.Low; l++ {
		limit := &m.sup.Lanes[l]
		i, _ := counted(l)
		for limit.Policy == DropOldest && m.queued[i].Load() > limit.Max {
			env := m.pop(l)
			if env == nil {
				break
			}
			m.discard(env, l, ReasonDroppedOldest)
		}
	}
}

// tab is what a worker took from one lane and has not told yet: the counters are
// shared with the senders, and telling costs as much as the rest of a send.
type tab struct {
	lane verdict.Lane
	n    int32
}

// Envelopes that may be on a tab; in a small lane the room is told at once.
const (
	tabMost   = 16
	smallLane = 1024
)

// note puts an envelope on the tab. The first of a slice is told at once: a
// handler may be looked at while it is at work.
func (m *mailbox) note(t *tab, l verdict.Lane, count *taken, first bool) {
	if t.lane != l {
		m.settle(t, count)
		t.lane = l
	}
	if t.n++; first || t.n == tabMost || m.sup.Lanes[l].Max < smallLane {
		m.settle(t, count)
	}
}

func (m *mailbox) settle(t *tab, count *taken) {
	if t.n == 0 {
		return
	}
	m.leave(t.lane, t.n)
	count.add(m.kind, t.lane, t.n)
	t.n = 0
}

// leave counts envelopes out.
func (m *mailbox) leave(l verdict.Lane, n int32) {
	if i, ok := counted(l); ok {
		m.sup.system.blocked.taken(m.queued[i].Add(-n), &m.sup.Lanes[l])
	}
}

// blocked are the senders that wait for room. The lock is taken only when there
// are any.
type blocked struct {
	mu      sync.Mutex
	room    sync.Cond
	waiting atomic.Int32
}

// wait returns when the envelope was counted in, or the actor stopped.
func (b *blocked) wait(m *mailbox, lane int, limit int32) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Add(1) // before the look at the lane: the receiver looks in the other order
	defer b.waiting.Add(-1)
	for {
		if m.stopped.Load() {
			return ReasonStopped
		}
		if n := m.queued[lane].Load(); n < limit {
			if m.queued[lane].CompareAndSwap(n, n+1) {
				return ""
			}
			continue
		}
		b.room.Wait()
	}
}

// taken tells those who wait that a lane has room again: at half its capacity,
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
// asked only by who would have to wait.
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
	Lane     verdict.Lane
	Reason   string // one of the Reason... constants, or a middleware's
}

// Reasons of dead letters that are the mailbox's own. A middleware's drop
// carries the middleware's reason.
const (
	ReasonQueueFull     = "queue_full"
	ReasonDroppedOldest = "dropped_oldest"
	ReasonStopped       = "stopped"
)
