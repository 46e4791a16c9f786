package limit

import (
	"container/heap"
	"container/list"
	"fmt"
	"time"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// Call is one request, from its arrival to its end. The caller sets the first fields
// before Arrive and keeps its hands off the call until it has ended; the machine owns
// the rest.
type Call struct {
	Scene    string // whose calls of one rank keep their order
	Group    string // of calls that together have a share of the slots; "" = of none
	Share    int64  // of the group, in thousandths of the slots
	Class    Class
	Rank     Rank
	Tokens   int64         // upper bound, those of the answer included
	Start    time.Duration // it leaves no earlier
	Deadline time.Duration // it leaves no later
	Once     bool          // it is sent again only if it was certainly not carried out
	Draw     protocol.Draw // of this request alone: for the pauses before it is sent again
	Owner    any           // the caller's

	number   uint64 // of its arrival
	attempts int    // begun
	free     int    // of these, refused while the endpoint answered others
	seen     int    // answers of the endpoint when it arrived, or was last refused
	load     int    // of these, that failed, and by load as far as the machine knows
	state    state
	at       time.Duration // its timer's
	timer    int           // place among the timers
	lane     *lane
	part     *part
	place    *list.Element
	left     time.Duration // began its last attempt
	counted  uint64        // in the rates
	probe    bool          // the circuit waits for it
	kept     bool          // it may be in a slot that is kept for interactive calls
}

type state uint8

const (
	stateNew state = iota
	statePausing
	stateQueued
	stateOut
	stateEnded
)

// Attempts is how often the call has left.
func (c *Call) Attempts() int { return c.attempts }

// Waits reports whether the call has arrived and not left.
func (c *Call) Waits() bool { return c.state == statePausing || c.state == stateQueued }

// Output is what becomes of a call: it leaves, or it is refused and has ended.
type Output struct {
	*Call
	Refused error // an *llm.Failure; nil = the call leaves
}

// End is how an attempt ended.
type End struct {
	Outcome    llm.Outcome
	RetryAfter time.Duration
	Tokens     int64  // that it took; 0 = nobody knows
	Said       string // what a failure says, without secrets
	Unsent     bool   // nothing of the request left
}

// Machine is the state of one endpoint's admission.
type Machine struct {
	name    string
	opt     Options
	queues  queues
	timers  timers
	rates   rates
	breaker breaker
	trouble trouble
	out     int
	groups  map[string]int // of these, by their groups
	others  int            // of these: not interactive when they left

	answered int           // calls
	width    int           // calls that may be out
	good     int           // successes since it changed
	shrunk   time.Duration // when it last became smaller
	proved   time.Duration // when the last of the calls left that the endpoint answered

	shut    time.Duration // nothing leaves before
	opening int           // calls that may be out while the gate opens again; 0 = it is open
	closed  *llm.Failure  // the endpoint takes nothing until Reopen
	said    string        // by the last failure for which the gate may be shut, in one line

	arrived uint64
	wake    time.Duration // when something may leave again; 0 = nobody knows
	paced   bool          // because a rate is used up until then
	outputs []Output
}

const (
	firstWidth = 8
	firstPause = 500 * time.Millisecond // before the first repetition, at most
	mostPause  = 30 * time.Second
	maxShut    = time.Hour
)

// New makes the machine of an endpoint. Its time begins at 0.
func New(name string, o Options) *Machine {
	o = o.WithDefaults()
	m := &Machine{name: name, opt: o, width: o.Concurrency, rates: newRates(o.Requests, o.Tokens), shrunk: -1, proved: -1}
	if !o.Fixed {
		m.width = min(firstWidth, o.Concurrency)
	}
	return m
}

// Take gives the outputs since it was last called. They are valid until the next input.
func (m *Machine) Take() []Output {
	out := m.outputs
	m.outputs = m.outputs[:0]
	return out
}

// Next is the time of the next Wake; false = there is none unless something comes in.
func (m *Machine) Next() (time.Duration, bool) {
	next := m.wake
	if len(m.timers) > 0 && (next == 0 || m.timers[0].at < next) {
		next = m.timers[0].at
	}
	return next, next > 0
}

// Wake lets time pass.
func (m *Machine) Wake(now time.Duration) {
	for len(m.timers) > 0 && m.timers[0].at <= now {
		c := m.timers[0]
		switch {
		case c.Deadline <= now:
			m.refuse(c, llm.OutcomeTimeout, m.why(now))
		default: // its pause is over
			m.enqueue(c, c.attempts > 0)
		}
	}
	m.release(now)
}

// why says what the calls that wait are waiting for.
func (m *Machine) why(now time.Duration) string {
	if s := m.Stalled(now); s.Why != "" {
		return "no slot in time: the endpoint " + s.Why
	}
	return "no slot in time"
}

// Stall is why no call leaves.
type Stall struct {
	Why   string        // what the endpoint does; "" = it takes calls
	Until time.Duration // when a call may leave; a time that has passed means that one tries now
	Paced bool          // calls leave at a rate, and the next one waits for its turn
}

// Stalled says why no call leaves now.
func (m *Machine) Stalled(now time.Duration) (s Stall) {
	switch {
	case m.breaker.open:
		s = Stall{Why: fmt.Sprintf("has failed %d times in a row", m.breaker.n), Until: m.breaker.until}
	case now < m.shut:
		s = Stall{Why: "asks to wait", Until: m.shut}
	case m.queues.n > 0 && m.paced && now < m.wake:
		return Stall{m.rates.lacking(), m.wake, true}
	default:
		return s
	}
	if m.said != "" {
		s.Why += " (" + m.said + ")"
	}
	return s
}

// Arrive takes a new call.
func (m *Machine) Arrive(now time.Duration, c *Call) {
	m.arrived++
	c.number, c.seen = m.arrived, m.answered
	switch {
	case m.closed != nil:
		m.refuse(c, m.closed.Outcome, m.closed.Message)
	case len(m.timers) >= m.opt.Queue && !m.makeRoom(c.Class):
		m.refuse(c, llm.OutcomeUnavailable, "too many requests wait")
	case c.Start > now:
		m.pause(c, c.Start)
	case m.queues.n == 0 && !m.full(c) && m.admits(now, c): // nobody is overtaken
		m.let(now, c)
		return
	default:
		m.enqueue(c, false)
	}
	m.Wake(now)
}

// makeRoom refuses the newest call of the lowest class, if that is below a class.
func (m *Machine) makeRoom(class Class) bool {
	c := m.queues.newest(class)
	if c != nil {
		m.refuse(c, llm.OutcomeUnavailable, "too many requests wait, and this one was the newest of the lowest class")
	}
	return c != nil
}

// Leave takes a call back that waits; false = it is out, or has ended.
func (m *Machine) Leave(now time.Duration, c *Call) bool {
	if !c.Waits() {
		return false
	}
	m.end(c)
	m.Wake(now)
	return true
}

// Raise gives a call a higher class. One that waits in a queue goes to the end of the
// new one.
func (m *Machine) Raise(now time.Duration, c *Call, class Class) {
	queued := c.state == stateQueued
	if class >= c.Class {
		return
	}
	if queued {
		m.queues.remove(c)
	}
	if c.Class = class; queued {
		m.queues.push(c, false)
	}
	m.Wake(now)
}

// Hint takes what the endpoint said about its limits with the answer to a call that
// left at sent.
func (m *Machine) Hint(now, sent time.Duration, h Hints) {
	m.rates.hint(now, sent, h)
	m.Wake(now)
}

// Reopen lets calls through again after the endpoint was closed.
func (m *Machine) Reopen(now time.Duration) {
	m.closed, m.shut, m.breaker = nil, 0, breaker{}
	m.Wake(now)
}

// End takes the end of an attempt; true = the call waits for another one.
func (m *Machine) End(now time.Duration, c *Call, e End) (again bool) {
	if c.state != stateOut {
		return false
	}
	if e.Tokens > 0 {
		m.rates.add(c.counted, amount{0, e.Tokens - c.Tokens})
	}
	m.learn(now, c, e)
	if m.out--; !c.kept {
		m.others--
	}
	if c.Group != "" {
		if m.groups[c.Group]--; m.groups[c.Group] == 0 {
			delete(m.groups, c.Group)
		}
	}
	c.state = stateEnded
	if again = m.repeats(c, e); again {
		m.pause(c, now+min(e.RetryAfter, maxShut)+m.jitter(c))
		if again = c.at < c.Deadline; !again {
			m.end(c)
		}
	}
	m.Wake(now)
	return again
}

// repeats reports whether another attempt may follow.
func (m *Machine) repeats(c *Call, e End) bool {
	return e.Outcome.AskAgain() && c.attempts-c.free <= m.opt.Retries && m.closed == nil && (!c.Once || e.Outcome == llm.OutcomeRateLimited || e.Unsent)
}

// jitter is the pause before the next attempt, drawn evenly. Its bound doubles with each attempt that failed by load: by chance
// the next one fails as seldom at once as later, and others wait for the call.
func (m *Machine) jitter(c *Call) time.Duration {
	most := min(firstPause<<min(max(c.load-1, 0), 10), mostPause)
	d := c.Draw.Sub(uint64(c.attempts))
	return time.Duration(d.Float64() * float64(most))
}

func (m *Machine) enqueue(c *Call, front bool) {
	c.state = stateQueued
	m.queues.push(c, front)
	m.setTimer(c, c.Deadline)
}

// pause lets a call wait for its time, before it joins its queue.
func (m *Machine) pause(c *Call, until time.Duration) {
	c.state = statePausing
	m.setTimer(c, min(until, c.Deadline))
}

func (m *Machine) setTimer(c *Call, at time.Duration) {
	if c.at = at; c.timer < len(m.timers) && m.timers[c.timer] == c {
		heap.Fix(&m.timers, c.timer)
	} else {
		heap.Push(&m.timers, c)
	}
}

// end takes a call out of everything.
func (m *Machine) end(c *Call) {
	if c.state == stateQueued {
		m.queues.remove(c)
	}
	if c.Waits() {
		heap.Remove(&m.timers, c.timer)
	}
	c.state = stateEnded
}

func (m *Machine) refuse(c *Call, o llm.Outcome, why string) {
	m.end(c)
	m.outputs = append(m.outputs, Output{c, &llm.Failure{Outcome: o, Message: m.name + ": " + why}})
}

// release lets calls out while there is room.
func (m *Machine) release(now time.Duration) {
	m.wake, m.paced = 0, false
	for m.queues.n > 0 {
		c := m.queues.next(m.others >= m.allowed()-m.kept(), m.full)
		if c == nil || !m.admits(now, c) {
			return
		}
		m.queues.serve(c)
		heap.Remove(&m.timers, c.timer)
		m.let(now, c)
	}
}

// admits reports whether a call may leave now. If not, it sets when that changes by
// itself.
func (m *Machine) admits(now time.Duration, c *Call) bool {
	if !m.open(now) || m.out >= m.allowed() || c.Class > Interactive && m.others >= m.allowed()-m.kept() {
		return false
	}
	ok, again := m.rates.fits(now, c.Tokens)
	if !ok {
		m.wake, m.paced = again, true
	}
	return ok
}

func (m *Machine) let(now time.Duration, c *Call) {
	c.state, c.left, c.probe, c.kept = stateOut, now, m.breaker.open, c.Class == Interactive
	c.counted = m.rates.leave(now, c.Tokens)
	c.attempts++
	if m.out++; !c.kept {
		m.others++
	}
	if c.Group != "" {
		if m.groups == nil {
			m.groups = map[string]int{}
		}
		m.groups[c.Group]++
	}
	m.breaker.probing = c.probe
	m.outputs = append(m.outputs, Output{Call: c})
}

// open reports whether calls may leave, if there is a slot. It sets when that changes by
// itself.
func (m *Machine) open(now time.Duration) bool {
	switch {
	case now < m.shut:
		m.wake = m.shut
		return false
	case m.breaker.open && now < m.breaker.until:
		m.wake = m.breaker.until
		return false
	}
	return !m.breaker.open || !m.breaker.probing
}

// full reports whether the group of a call has its share of the slots: one at least.
func (m *Machine) full(c *Call) bool {
	return c.Group != "" && m.groups[c.Group] >= max(1, int(int64(m.allowed())*c.Share/1000))
}

func (m *Machine) allowed() int {
	if m.opening > 0 {
		return min(m.opening, m.width)
	}
	return m.width
}

// kept is how many slots only interactive calls may use.
func (m *Machine) kept() int { return m.allowed() * m.opt.Kept / 100 }

// Load is a summary for metrics.
type Load struct {
	Out     int
	Limit   int // calls that may be out
	Waiting [classes]int
	Shut    int // 1 = the circuit is open, or the endpoint is closed
}

// Add adds another load.
func (l *Load) Add(o Load) {
	l.Out, l.Limit, l.Shut = l.Out+o.Out, l.Limit+o.Limit, l.Shut+o.Shut
	for i, n := range o.Waiting {
		l.Waiting[i] += n
	}
}

// Width is how many calls the endpoint is thought to take at once, whether the gate is open or not. It costs
// the same however many wait.
func (m *Machine) Width() int { return m.width }

// Load summarises the machine. Calls that pause count as waiting in their class. It looks at each call that waits.
func (m *Machine) Load() Load {
	l := Load{Out: m.out, Limit: m.allowed()}
	if m.breaker.open || m.closed != nil {
		l.Shut = 1
	}
	for _, c := range m.timers {
		l.Waiting[c.Class-Interactive]++
	}
	return l
}

// Rates are the requests and tokens that may leave in a minute, by the options or what the endpoint
// said; 0 = no limit.
func (m *Machine) Rates() (requests, tokens int64) { return m.rates.bound(0), m.rates.bound(1) }
