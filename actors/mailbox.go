package actors

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"tavernsim/engine/bus/verdict"
	"tavernsim/protocol"
)

// StarvationBound: of this many envelopes handled in a row while a lower lane
// waits, at least one comes from it.
const StarvationBound = 64

// An actor gives its worker to the next one after slice envelopes, or when it
// has held it for sliceTime; the clock is asked once in sliceLook envelopes.
const (
	slice     = 128
	sliceLook = 16
	sliceTime = time.Millisecond
)

// Mailbox states. running is held by exactly one worker; everything without an
// atomic below belongs to whoever holds it.
const (
	idle int32 = iota
	running
)

// mailbox implements actor.Mailbox with lanes. It is 192 bytes, which is a size
// the allocator has; a field more costs 16 bytes an actor.
type mailbox struct {
	lanes  [verdict.Lanes]queue
	rest   *cell                    // of the lane that is half turned
	queued [eventLanes]atomic.Int32 // events accepted and not yet handled
	system atomic.Pointer[systemCell]

	state     atomic.Int32
	stopped   atomic.Bool
	id        uint32 // Spec.ID
	suspended bool
	streak    uint8 // envelopes handled since a lower lane was last served
	kind      uint8 // Spec.Kind
	turning   verdict.Lane

	invoker actor.MessageInvoker
	sup     *Supervisor

	// The actor behind the mailbox. A restart is a new behaviour in the same
	// actor: one allocation holds queues, address and shell.
	pid      *actor.PID
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
	m.post(env)
}

func (m *mailbox) post(env *protocol.Envelope) {
	v := m.judge(env)
	if v.Action == verdict.Drop {
		m.dead(env, v.Lane, v.Reason)
		return
	}
	if reason := m.admit(v.Lane); reason != "" {
		m.dead(env, v.Lane, reason)
		return
	}
	m.sup.system.depths.add(m, v.Lane, 1) // before a worker can take it
	m.lanes[v.Lane].push(m.sup.system.blocks.cell(env))
	m.schedule()
}

// judge asks the chain about an envelope.
func (m *mailbox) judge(env *protocol.Envelope) verdict.Verdict {
	msg := verdict.Message{Envelope: env}
	if len(m.sup.Middleware) == 0 {
		return verdict.Begin(msg)
	}
	msg.Receiver = m.name()
	if m.sup.Now != nil {
		msg.Now = m.sup.Now()
	}
	return m.sup.Middleware.Decide(msg)
}

// name is what the outside knows the actor as, within its supervisor.
func (m *mailbox) name() string { return m.pid.Id[len(m.sup.Prefix):] }

// dead hands an envelope that is not taken to whoever listens.
func (m *mailbox) dead(env *protocol.Envelope, l verdict.Lane, reason string) {
	d := DeadLetter{Envelope: env, Receiver: m.name(), Lane: l, Reason: reason}
	if m.sup.Dead != nil {
		m.sup.Dead(d)
	}
	if hear := m.sup.system.opts.DeadLetter; hear != nil {
		hear(d)
	}
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

// UserMessageCount is the number of events waiting.
func (m *mailbox) UserMessageCount() int {
	n := 0
	for l := range m.queued {
		n += int(m.queued[l].Load())
	}
	return n
}

// schedule gives the actor to a worker, unless one has it.
func (m *mailbox) schedule() {
	if m.state.Load() == idle && m.state.CompareAndSwap(idle, running) {
		m.sup.system.pool.push(m)
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
	// A sender that saw running left its envelope to us: look again. Another
	// worker may have the actor by now, so only at what is atomic; the rest is in
	// again.
	if again || m.system.Load() != nil || (!suspended && m.arrived()) {
		m.schedule()
	}
}

// run reports whether envelopes are left that it may handle. If not, nothing is
// half turned: it found every lane empty, or the actor is suspended or stopped.
func (m *mailbox) run(count *taken) (more bool) {
	var env *protocol.Envelope
	var t tab
	defer func() {
		m.settle(&t, count)
		if r := recover(); r != nil {
			m.invoker.EscalateFailure(failureOf(r, env), env)
			more = true
		}
	}()
	var until time.Time
	for i := range slice {
		if m.system.Load() != nil {
			m.runSystem()
		}
		if m.stopped.Load() {
			return false
		}
		if m.sup.trims {
			m.trim() // also of a suspended actor, which is bounded like any other
		}
		if m.suspended {
			return false
		}
		if i%sliceLook == sliceLook-1 && !inTime(&until) {
			return m.waiting()
		}
		var l verdict.Lane
		if env, l = m.next(); env == nil {
			return false
		}
		m.note(&t, l, count, i == 0)
		m.handle(env)
		env = nil
	}
	return m.waiting()
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

// next takes the envelope to handle (promises 3 and 4).
func (m *mailbox) next() (*protocol.Envelope, verdict.Lane) {
	for {
		first, lower := m.look()
		if first == verdict.Lanes {
			return nil, first
		}
		if first != lower && m.streak+1 >= StarvationBound {
			first = lower
		}
		if !m.turned(first) {
			continue
		}
		if m.streak++; first == lower {
			m.streak = 0
		}
		return m.lanes[first].take(), first
	}
}

// look finds the first lane that holds something, and the lowest, which may be
// the same. The last lane counts only when every other is empty. It goes from the
// last to the first: what was sent before an envelope seen in one lane is seen in
// the others then.
func (m *mailbox) look() (first, lower verdict.Lane) {
	first, lower = verdict.Lanes, verdict.Lanes
	last := m.lanes[verdict.Last].holds()
	for l := verdict.Last; l > 0; {
		l--
		if !m.lanes[l].holds() {
			continue
		}
		if first = l; lower == verdict.Lanes {
			lower = l
		}
	}
	if last && first == verdict.Lanes {
		return verdict.Last, verdict.Last
	}
	return first, lower
}

// waiting is for whoever holds the actor; arrived is for anybody, and sees only
// what was sent since the worker last took what there was.
func (m *mailbox) waiting() bool {
	for l := range m.lanes {
		if m.lanes[l].holds() {
			return true
		}
	}
	return false
}

func (m *mailbox) arrived() bool {
	for l := range m.lanes {
		if m.lanes[l].top.Load() != nil {
			return true
		}
	}
	return false
}

// close hands everything that is still queued to the dead letters, and lets
// those who wait for room go.
func (m *mailbox) close() {
	m.stopped.Store(true)
	for l := range m.lanes {
		for env := m.pop(verdict.Lane(l)); env != nil; env = m.pop(verdict.Lane(l)) {
			m.discard(env, verdict.Lane(l), ReasonStopped)
		}
	}
	if m.sup.system.blocked.waiting.Load() > 0 {
		m.sup.system.blocked.wake()
	}
}

func (m *mailbox) discard(env *protocol.Envelope, l verdict.Lane, reason string) {
	m.leave(l, 1)
	m.sup.system.depths.add(m, l, -1)
	m.dead(env, l, reason)
}
