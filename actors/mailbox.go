package actors

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"tavernsim/engine/bus/verdict"
	"tavernsim/protocol"
)

// StarvationBound: of this many envelopes handled in a row while a lower lane
// waits, at least one comes from it.
const StarvationBound = 64

// slice is how many envelopes an actor may handle before it gives its worker
// to the next actor.
const slice = 128

// cell is one queued envelope: the only allocation of a send.
type cell struct {
	next *cell
	env  *protocol.Envelope
	lane verdict.Lane
}

type fifo struct{ head, tail *cell }

func (q *fifo) push(c *cell) {
	c.next = nil
	if q.tail == nil {
		q.head = c
	} else {
		q.tail.next = c
	}
	q.tail = c
}

func (q *fifo) pop() *cell {
	c := q.head
	if c == nil {
		return nil
	}
	if q.head = c.next; q.head == nil {
		q.tail = nil
	}
	c.next = nil
	return c
}

// Mailbox states. running is held by exactly one worker; everything without an
// atomic below belongs to whoever holds it.
const (
	idle int32 = iota
	running
)

// mailbox implements actor.Mailbox with lanes. Senders push onto one lock-free
// stack; the worker that runs the actor takes the whole stack at once and sorts
// it into lanes. An idle mailbox holds no queue memory.
type mailbox struct {
	incoming  atomic.Pointer[cell]
	system    atomic.Pointer[systemCell]
	state     atomic.Int32
	queued    atomic.Int32 // envelopes accepted and not yet handled
	suspended bool
	stopped   atomic.Bool
	streak    uint8  // envelopes handled since a lower lane was last served
	kind      uint8  // Spec.Kind
	prefix    uint16 // of the actor's name, before Spec.Receiver

	one   *cell                // the only envelope queued: it needs no lane
	lanes *[verdict.Lanes]fifo // nil until two wait at once

	invoker actor.MessageInvoker
	owner   *System

	// The actor behind the mailbox. A restart is a new behaviour in the same
	// actor: one allocation holds queue, address and shell.
	ref      Ref
	make     func(id uint32) (Behavior, error)
	id       uint32
	behavior Behavior // nil between a failure and the restart
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
	v := m.judge(env)
	if v.Action != verdict.Drop && m.stopped.Load() {
		v = v.Drop(ReasonStopped)
	}
	if v.Action != verdict.Drop && m.queued.Add(1) > m.owner.opts.Capacity {
		m.queued.Add(-1)
		v = v.Drop(ReasonQueueFull)
	}
	if v.Action == verdict.Drop {
		m.owner.dead(env, v.Reason)
		return
	}
	m.owner.depths.add(m.kind, v.Lane, 1) // before a worker can take it
	c := &cell{env: env, lane: v.Lane}
	for {
		c.next = m.incoming.Load()
		if m.incoming.CompareAndSwap(c.next, c) {
			break
		}
	}
	m.schedule()
}

// judge asks the chain about an envelope.
func (m *mailbox) judge(env *protocol.Envelope) verdict.Verdict {
	msg := verdict.Message{Envelope: env}
	if len(m.owner.opts.Middleware) == 0 {
		return verdict.Begin(msg)
	}
	msg.Receiver = m.ref.pid.Id[m.prefix:]
	if m.owner.opts.Now != nil {
		msg.Now = m.owner.opts.Now()
	}
	return m.owner.opts.Middleware.Decide(msg)
}

// PostSystemMessage queues one of Proto.Actor's own messages.
func (m *mailbox) PostSystemMessage(msg any) {
	c := &systemCell{msg: msg}
	for {
		c.next = m.system.Load()
		if m.system.CompareAndSwap(c.next, c) {
			break
		}
	}
	m.schedule()
}

// RegisterHandlers and Start are called once, at spawn.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}
func (m *mailbox) Start() {}

// UserMessageCount is the number of envelopes waiting.
func (m *mailbox) UserMessageCount() int { return int(m.queued.Load()) }

func (m *mailbox) schedule() {
	if m.state.CompareAndSwap(idle, running) {
		m.owner.pool.push(m)
	}
}

// process runs the actor until its queue is empty or its slice is used up.
func (m *mailbox) process(count *taken) {
	again := m.run(count)
	if m.stopped.Load() {
		m.close() // what slipped in between the last look and the stop
	}
	suspended := m.suspended
	m.state.Store(idle)
	// A sender that saw running left its envelope to us: look again.
	if again || m.system.Load() != nil || (!suspended && m.incoming.Load() != nil) {
		m.schedule()
	}
}

// run reports whether envelopes are left that it may handle.
func (m *mailbox) run(count *taken) (more bool) {
	var env *protocol.Envelope
	defer func() {
		if r := recover(); r != nil {
			m.invoker.EscalateFailure(failureOf(r, env), env)
			more = true
		}
	}()
	for range slice {
		m.runSystem()
		if m.suspended || m.stopped.Load() {
			return false
		}
		m.collect()
		c := m.next()
		if c == nil {
			return false
		}
		m.queued.Add(-1)
		count.one(m.kind, c.lane)
		env = c.env
		m.invoker.InvokeUserMessage(env)
		env = nil
	}
	return m.waiting()
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
				m.restart()
				m.suspended = false
			default:
				m.invoker.InvokeSystemMessage(c.msg)
			}
		}
	}
}

// takeSystem takes everything posted so far, oldest first.
func (m *mailbox) takeSystem() *systemCell {
	if m.system.Load() == nil {
		return nil
	}
	var first *systemCell
	for c := m.system.Swap(nil); c != nil; {
		c.next, first, c = first, c, c.next
	}
	return first
}

// collect moves what senders have pushed into the lanes, oldest first.
func (m *mailbox) collect() {
	if m.incoming.Load() == nil {
		return
	}
	var first *cell
	for c := m.incoming.Swap(nil); c != nil; {
		c.next, first, c = first, c, c.next
	}
	if m.lanes == nil {
		if first.next == nil {
			m.one = first
			return
		}
		m.lanes = new([verdict.Lanes]fifo)
	}
	for c := first; c != nil; {
		next := c.next
		m.lanes[c.lane].push(c)
		c = next
	}
}

// next takes the envelope to handle (promise 3).
func (m *mailbox) next() *cell {
	if c := m.one; c != nil {
		m.one = nil
		return c
	}
	if m.lanes == nil {
		return nil
	}
	first, lower := verdict.Lanes, verdict.Lanes
	for l := range verdict.Last {
		if m.lanes[l].head == nil {
			continue
		}
		if first == verdict.Lanes {
			first = l
		} else {
			lower = l // ends as the lowest one that waits
		}
	}
	if first == verdict.Lanes {
		return m.nextWake()
	}
	if lower == verdict.Lanes {
		m.streak = 0
	} else if m.streak++; m.streak >= StarvationBound {
		m.streak, first = 0, lower
	}
	return m.lanes[first].pop()
}

// nextWake serves the last lane and gives the queue memory back when it empties.
func (m *mailbox) nextWake() *cell {
	c := m.lanes[verdict.Last].pop()
	if c == nil {
		m.lanes = nil
	}
	return c
}

func (m *mailbox) waiting() bool {
	if m.incoming.Load() != nil {
		return true
	}
	return m.lanes != nil && m.queued.Load() > 0
}

// close hands everything that is still queued to the dead letters.
func (m *mailbox) close() {
	m.stopped.Store(true)
	m.collect()
	if m.one != nil {
		m.discard(m.one)
		m.one = nil
	}
	if m.lanes == nil {
		return
	}
	for l := range m.lanes {
		for c := m.lanes[l].pop(); c != nil; c = m.lanes[l].pop() {
			m.discard(c)
		}
	}
	m.lanes = nil
}

func (m *mailbox) discard(c *cell) {
	m.queued.Add(-1)
	m.owner.depths.add(m.kind, c.lane, -1)
	m.owner.dead(c.env, ReasonStopped)
}

// Failure is why an actor stopped in the middle of an envelope.
type Failure struct {
	Err   error
	Stack []string // "package.Function file.go:12", innermost first; nil for a returned error
	Kind  protocol.Kind
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

func failureOf(r any, env *protocol.Envelope) *Failure {
	f, ok := r.(*Failure)
	if !ok {
		err, isErr := r.(error)
		if !isErr {
			err = fmt.Errorf("%v", r)
		}
		f = &Failure{Err: protocol.Errorf(protocol.KindInternal, "panic: %w", err), Stack: stack()}
	}
	if env != nil {
		f.Kind = env.Kind
	}
	return f
}

// maxFrames bounds a recorded stack.
const maxFrames = 16

// stack names the frames between the panic and the mailbox. It holds no
// addresses and no goroutine numbers, so the same failure has the same stack.
func stack() []string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var out []string
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked, out = true, nil
		case strings.Contains(f.Function, "actor.(*actorContext)"):
			return out
		case panicked && !strings.HasPrefix(f.Function, "runtime.") && len(out) < maxFrames:
			out = append(out, fmt.Sprintf("%s %s:%d", shortFunc(f.Function), base(f.File), f.Line))
		}
		if !more {
			return out
		}
	}
}

func shortFunc(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }
func base(s string) string      { return s[strings.LastIndexByte(s, '/')+1:] }
