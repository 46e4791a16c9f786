package actors

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// An actor gives its worker to the next one after slice envelopes, or when it
// has held it for sliceTime; the clock is asked once in sliceLook envelopes.
const (
	slice     = 128
	sliceLook = 16
	sliceTime = time.Millisecond
)

// The word of a mailbox: a bit for each lane in which something may have come
// since the worker last took it, and these. The goroutine that sets running has to
// give the mailbox to a worker; only that worker takes bits away. One that waits in the
// pool, or aside, and becomes urgent or is asked something by Proto.Actor, is put
// into the pool once more: the worker that comes to it second finds that it waits
// no more, or runs it before its turn.
const (
	laneBits uint32 = 1<<delivery.Lanes - 1
	asked    uint32 = 1 << 6 // Proto.Actor has posted a message of its own
	running  uint32 = 1 << 7
	stopped  uint32 = 1 << 8
	waits    uint32 = 1 << 9  // in the pool: no worker has it
	urgent   uint32 = 1 << 10 // it goes before others until its queue is empty
)

// mailbox implements actor.Mailbox with lanes. It is 192 bytes, which is a size
// the allocator has; a field more costs 16 bytes an actor. It is three lines of
// the processor's cache: what senders write, what the worker writes, and what
// both read. Mixed, every send would take the worker's line away, and every
// envelope handled the senders'.
type mailbox struct {
	top    [delivery.Lanes]pile
	queued [lanesAbove]atomic.Int32 // envelopes accepted and not yet handled

	out       [delivery.Lanes]*cell // turned, oldest first; whole where held says so
	below     [delivery.Lanes - lanesAbove]atomic.Int32
	id        atomic.Uint32 // Spec.ID; the watcher reads it
	kind      uint8         // Spec.Kind
	held      uint8         // a bit for each lane that has something in out
	streak    uint8         // envelopes handled since a lower lane was last served
	suspended bool

	word    atomic.Uint32
	system  atomic.Pointer[systemCell]
	sup     *Supervisor
	invoker actor.MessageInvoker // nil = Spec.Unlisted

	// The actor behind the mailbox. A restart is a new behaviour in the same
	// actor: one allocation holds queues, address and shell.
	pid      *actor.PID // nil = Spec.Unlisted
	behavior Behavior   // nil between a failure and the restart
}

type systemCell struct {
	next *systemCell
	msg  any
}

// PostUserMessage queues an envelope, or hands it to the dead letters.
func (m *mailbox) PostUserMessage(msg any) {
	env, ok := msg.(*protocol.Envelope)
	if !ok { // Proto.Actor's own lifecycle helpers (PoisonPill) are not used here
		panic(fmt.Sprintf("actors: mailbox got %T; only envelopes cross between actors", msg))
	}
	m.post(env)
}

func (m *mailbox) post(env *protocol.Envelope) {
	v := m.judge(env)
	if v.Action == delivery.Drop {
		m.dead(env, v.Lane, v.Reason)
		return
	}
	if reason := m.admit(v.Lane, env.Kind); reason != "" {
		m.dead(env, v.Lane, reason)
		return
	}
	m.top[v.Lane].push(m.sup.system.cellPools.cell(env, m.kind, v.Lane))
	m.announce(1<<v.Lane | hurry(env, v.Lane))
}

// hurry is the bit of what makes an actor urgent.
func hurry(env *protocol.Envelope, l delivery.Lane) uint32 {
	if l == delivery.Critical || env.Kind != protocol.KindEvent && env.Priority == protocol.Critical {
		return urgent
	}
	return 0
}

// first reports whether the actor goes before others.
func (m *mailbox) first() bool {
	return m.word.Load()&urgent != 0 || m.sup.First&(1<<m.kind) != 0
}

// judge asks the chain about an envelope.
func (m *mailbox) judge(env *protocol.Envelope) delivery.Verdict {
	msg := delivery.Message{Envelope: env}
	if len(m.sup.Middleware) == 0 {
		return delivery.Begin(msg)
	}
	msg.Receiver = m.name()
	if m.sup.Now != nil {
		msg.Now = m.sup.Now()
	}
	return m.sup.plan.Decide(msg)
}

// name is what the outside knows the actor as, within its supervisor.
func (m *mailbox) name() string {
	if m.pid == nil {
		return m.sup.Name(m.kind, m.id.Load())
	}
	return m.pid.Id[len(m.sup.Prefix):]
}

// dead hands an envelope that is not taken to the supervisor and the system.
func (m *mailbox) dead(env *protocol.Envelope, l delivery.Lane, reason string) {
	d := DeadLetter{Envelope: env, Receiver: m.name(), Lane: l, Reason: reason}
	if m.sup.Dead != nil {
		m.sup.Dead(d)
	}
	if hear := m.sup.system.opts.DeadLetter; hear != nil {
		hear(d)
	}
}

// PostSystemMessage queues one of Proto.Actor's own messages. A start is none that anybody
// hears of, so an actor needs no worker before it is told something, and can be visited.
func (m *mailbox) PostSystemMessage(msg any) {
	if _, ok := msg.(*actor.Started); ok {
		return
	}
	c := &systemCell{msg: msg}
	for {
		c.next = m.system.Load()
		if m.system.CompareAndSwap(c.next, c) {
			break
		}
	}
	m.announce(asked)
}

// RegisterHandlers and Start are called once, at spawn.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}
func (m *mailbox) Start() {}

// UserMessageCount is the number of events waiting.
func (m *mailbox) UserMessageCount() int {
	n := 0
	for l := delivery.Critical; l <= delivery.Low; l++ {
		n += int(m.count(l).Load())
	}
	return n
}

// announce says that something was put into the mailbox, and gives the actor to
// a worker, unless one has it. In a queue that is behind it reads only.
func (m *mailbox) announce(bits uint32) {
	for {
		w := m.word.Load()
		if w&(bits|running) == bits|running {
			return
		}
		next := w | bits | running
		if w&running == 0 {
			next |= waits
		}
		if !m.word.CompareAndSwap(w, next) {
			continue
		}
		if w&running == 0 || w&waits != 0 && bits&^w&(urgent|asked) != 0 {
			m.sup.system.pool.push(m)
		}
		return
	}
}

// claim takes the actor out of the pool; false = it is out already.
func (m *mailbox) claim() bool { return m.word.And(^waits)&waits != 0 }

// back says that the actor waits in the pool again.
func (m *mailbox) back() { m.word.Or(waits) }

// seize takes an actor that no worker has, past the pool; false = one has it, or it has stopped.
func (m *mailbox) seize() bool {
	for {
		w := m.word.Load()
		if w&(running|stopped) != 0 {
			return false
		}
		if m.word.CompareAndSwap(w, w|running) {
			return true
		}
	}
}

// process runs the actor until its queue is empty or its slice is used up, and
// reports whether it wants to go on.
func (m *mailbox) process(count *taken) (again bool) {
	m.run(count, nil)
	return m.ends()
}

// ends gives the actor up after a run, and reports whether it wants to go on.
func (m *mailbox) ends() (again bool) {
	if m.word.Load()&stopped != 0 {
		m.close() // what slipped in between the last look and the stop
	}
	return !m.released()
}

// released gives the actor up, unless there is something that it may handle.
func (m *mailbox) released() bool {
	for {
		w := m.word.Load()
		left := uint32(m.held) | w&laneBits
		if m.suspended && w&stopped == 0 {
			left = 0
		}
		if left|w&asked != 0 {
			return false
		}
		if m.giveUp(w) {
			return true
		}
	}
}

// giveUp gives the actor up if nothing came since the word was read.
func (m *mailbox) giveUp(w uint32) bool { return m.word.CompareAndSwap(w, w&^(running|urgent)) }

// run handles what waits, then last, which may be nil and was not queued. It reports whether last
// was handled, or the actor failed at it.
func (m *mailbox) run(count *taken, last *protocol.Envelope) (handled bool) {
	var env *protocol.Envelope
	h := hand{count: count}
	count.begin(m)
	defer func() {
		count.end()
		m.turnRest(&h)
		m.settle(&h)
		if r := recover(); r != nil {
			m.fail(failureOf(r, env), env)
		}
	}()
	var until time.Time
	for i := range slice {
		if (i == 0 || m.sup.trims || m.word.Load()&asked != 0) && !m.ready(&h) {
			return handled
		}
		if i%sliceLook == sliceLook-1 && !inTime(&until) {
			return handled
		}
		if env = m.next(&h); env != nil {
			m.note(&h, i == 0)
		} else if env, last = last, nil; env == nil {
			return handled
		} else {
			handled = true
		}
		count.given.Store(env)
		m.handle(env)
		env = nil
	}
	return handled
}

// fail suspends the actor and tells its supervisor, by way of Proto.Actor if that knows the
// actor by its name.
func (m *mailbox) fail(f *Failure, env *protocol.Envelope) {
	if m.invoker != nil {
		m.invoker.EscalateFailure(f, env)
		return
	}
	m.suspended, f.Of = true, (*Ref)(m)
	m.sup.Failed(m.sup.Prefix+m.name(), f)
}

// ready does what Proto.Actor asks for, and reports whether the actor may handle
// envelopes.
func (m *mailbox) ready(h *hand) bool {
	if m.word.Load()&asked != 0 {
		m.turnRest(h)
		m.runSystem()
	}
	if m.word.Load()&stopped != 0 {
		return false
	}
	if m.sup.trims {
		m.settle(h)
		m.turnRest(h)
		m.trim() // also of a suspended actor, which is bounded like any other
	}
	return !m.suspended
}

// handle does not go through Proto.Actor's context: all that it would add is the
// look for options that nobody sets, at the price of a send.
func (m *mailbox) handle(env *protocol.Envelope) {
	if err := m.behavior.Receive(env); err != nil {
		panic(&Failure{Err: err})
	}
}

// inTime reports whether the actor may go on. The first look begins its time:
// most actors never get that far.
func inTime(until *time.Time) bool {
	now := time.Now()
	if until.IsZero() {
		*until = now.Add(sliceTime)
	}
	return now.Before(*until)
}

func (m *mailbox) runSystem() {
	for {
		c := m.takeSystem()
		if c == nil {
			return
		}
		for ; c != nil; c = c.next {
			switch c.msg.(type) {
			case *actor.SuspendMailbox:
				m.suspended = true
			case *actor.ResumeMailbox:
				if m.word.Load()&stopped == 0 {
					m.restart()
					m.suspended = false
				}
			default: // of an unlisted actor it is a stop
				if m.invoker != nil {
					m.invoker.InvokeSystemMessage(c.msg)
				} else if m.word.Load()&stopped == 0 {
					m.end()
				}
			}
		}
	}
}

// takeSystem takes everything posted so far, oldest first.
func (m *mailbox) takeSystem() *systemCell {
	if m.word.Load()&asked == 0 {
		return nil
	}
	m.word.And(^asked)
	var first *systemCell
	for c := m.system.Swap(nil); c != nil; {
		c.next, first, c = first, c, c.next
	}
	return first
}

// close hands everything that is still queued to the dead letters, and lets
// the senders go that wait for room.
func (m *mailbox) close() {
	m.word.Or(stopped)
	for l := range delivery.Lanes {
		for env := m.pop(l); env != nil; env = m.pop(l) {
			m.discard(env, l, ReasonStopped)
		}
	}
	if m.sup.system.blocked.waiting.Load() > 0 {
		m.sup.system.blocked.wake()
	}
}

func (m *mailbox) discard(env *protocol.Envelope, l delivery.Lane, reason string) {
	m.leave(l, 1)
	m.sup.system.depths.discarded(m.kind, l)
	m.dead(env, l, reason)
}
