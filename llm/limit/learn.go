package limit

import (
	"cmp"
	"strings"
	"time"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// breaker is the circuit of an endpoint: after 5 failures in a row within 10 s, of more than one call, it is
// open and nothing leaves for a while. Then one call tries. An endpoint that answers all but one question, however often it
// is sent, is not down. Failures that come at once end
// before answers that left with them: they must also be a quarter of the calls that are still out.
type breaker struct {
	open    bool
	until   time.Duration
	pause   time.Duration // of this opening
	probing bool          // the one call is out

	failures [5]time.Duration
	n        int   // failures since the last success
	first    *Call // that failed of these
	several  bool  // others failed, too
}

const (
	breakerWindow = 10 * time.Second
	mostOpen      = time.Minute
)

// failed counts a failure of a call, beside so many calls that are out, and opens the circuit if it is one too many.
func (b *breaker) failed(now time.Duration, c *Call, out int) {
	b.first = cmp.Or(b.first, c)
	b.several = b.several || b.first != c
	b.failures[b.n%len(b.failures)] = now
	b.n++
	oldest := b.failures[b.n%len(b.failures)]
	switch {
	case b.open && c.probe:
		b.pause = min(2*b.pause, mostOpen)
	case !b.open && b.several && b.n >= max(len(b.failures), out/4) && now-oldest <= breakerWindow:
		b.open, b.pause = true, breakerWindow
	default:
		return
	}
	b.until, b.probing = now+b.pause, false
}

// trouble tells failures by load from those that an endpoint has by chance, however
// little is sent to it. Of calls that left together refusals end first and answers last: in
// the order of ends the share is wrong, unless it is of more ends than are out.
type trouble struct {
	n      int
	usual  float64 // share of failures among the last 128 ends or so, at least 4 times the most that were out
	recent float64 // among the last 16 or so, at least the most that were out
	most   float64 // calls that were out; forgotten by one in 8 ends
}

const usualEnds = 128

// more counts an end, of one of so many calls that are out, and reports whether it is a failure of more
// than usual. Without failures before it, the first one is if few are out.
func (t *trouble) more(failed bool, out int) (more bool) {
	x := 0.0
	if failed {
		x = 1
	}
	t.most = max(float64(out), t.most-1.0/8)
	t.n = min(t.n+1, int(max(usualEnds, 4*t.most)))
	t.recent += (x - t.recent) / max(16, t.most)
	more = failed && t.recent > 2*min(t.usual, 0.25)+0.05
	t.usual += (x - t.usual) / float64(t.n)
	return more
}

// learn draws the conclusions from the end of an attempt.
func (m *Machine) learn(now time.Duration, c *Call, e End) {
	said := func() {
		m.said = protocol.Short(strings.Join(strings.Fields(strings.TrimPrefix(e.Said, m.name+": ")), " "), 160)
	}
	shuts := e.RetryAfter > 0
	switch e.Outcome {
	case llm.OutcomeRateLimited:
		more := m.trouble.more(true, m.out)
		free := m.refused(c)
		m.counts(c, more || !free && e.RetryAfter == 0)
		if shuts = shuts && (more || m.rates.nothingLeft(now)); more {
			m.shrink(now, c, e.RetryAfter == 0)
		}
		m.answers(c)
	case llm.OutcomeTimeout:
		more := m.trouble.more(true, m.out)
		if m.counts(c, more); more {
			m.shrink(now, c, false)
		}
		m.failed(now, c)
		said()
	case llm.OutcomeServerError, llm.OutcomeTruncated:
		c.load++
		m.failed(now, c)
		said()
	case llm.OutcomeQuota, llm.OutcomeAuth:
		m.close(e.Outcome)
	case llm.OutcomeCancelled, llm.OutcomeUnavailable, llm.OutcomeBudget, llm.OutcomeClosed: // nothing was learnt
		if c.probe {
			m.breaker.probing = false
		}
	default:
		m.trouble.more(false, m.out)
		m.answered++
		m.answers(c)
		m.succeeded(c)
	}
	if shuts && e.Outcome.AskAgain() {
		said()
		m.shut, m.opening = max(m.shut, now+min(e.RetryAfter, maxShut)), 1
	}
}

// counts notes a failure by load, for which the pauses of the call grow. It may be chance if enough has ended to say so.
func (m *Machine) counts(c *Call, load bool) {
	if load || m.trouble.n < usualEnds {
		c.load++
	}
}

// failed counts a failure for the circuit. Of calls that left together time-outs end last, all in a row: an
// answer to a call that left as late says that the endpoint did not fail then.
func (m *Machine) failed(now time.Duration, c *Call) {
	if c.probe || c.left > m.proved {
		m.breaker.failed(now, c, m.out)
	}
}

// answers closes the circuit: the endpoint answers.
func (m *Machine) answers(c *Call) {
	m.proved = max(m.proved, c.left)
	if m.breaker.open {
		m.opening = 1
	}
	m.breaker = breaker{}
}

// succeeded widens the gate: while it opens, by one for every call that left since; then
// by one for as many successes as it is wide, if all its slots were used. A fixed one that refusals made narrower grows by
// one for 8.
func (m *Machine) succeeded(c *Call) {
	if m.opening > 0 {
		if c.left >= m.shut {
			m.opening++
		}
		if m.opening >= m.width {
			m.opening = 0
		}
		return
	}
	if m.width >= m.opt.Concurrency || m.out < m.width-m.kept() {
		return
	}
	after := m.width
	if m.opt.Fixed { // what the user has set is right again sooner
		after = min(after, firstWidth)
	}
	if m.good++; m.good >= after {
		m.width++
		m.good = 0
	}
}

// shrink makes the gate narrower, once for the calls that left before it did. A fixed one becomes narrower only by
// refusals that say no time: nothing else spreads the calls then.
func (m *Machine) shrink(now time.Duration, c *Call, bare bool) {
	if m.opt.Fixed && !bare || c.left <= m.shrunk {
		return
	}
	m.width, m.good, m.shrunk = max(1, m.width*7/10), 0, now
}

// close refuses everything until Reopen.
func (m *Machine) close(o llm.Outcome) {
	why := "the endpoint is closed until its key is read again (SIGUSR1): "
	if o == llm.OutcomeQuota {
		why += "its quota is used up"
	} else {
		why += "it refuses the key"
	}
	m.closed = &llm.Failure{Outcome: o, Message: why}
	for len(m.timers) > 0 {
		m.refuse(m.timers[0], o, why)
	}
}

// mostFree is how many refusals of a call do not count among its attempts, at most.
const mostFree = 16

// refused notes that a call was refused. Where the endpoint has answered others since the call arrived, or was last
// refused, the refusal is none of its attempts: the endpoint is full, and the call will have its turn. free reports that.
func (m *Machine) refused(c *Call) (free bool) {
	others := m.answered > c.seen
	if c.seen = m.answered; !others || m.opt.Retries == 0 || c.free == mostFree {
		return false
	}
	c.free++
	return true
}
