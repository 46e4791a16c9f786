package limit

import (
	"strings"
	"time"

	"tavernsim/llm"
	"tavernsim/protocol"
)

// breaker is the circuit of an endpoint: after 5 failures in a row within 10 s it is
// open and nothing leaves for a while. Then one call tries.
type breaker struct {
	open    bool
	until   time.Duration
	pause   time.Duration // of this opening
	probing bool          // the one call is out

	failures [5]time.Duration
	n        int // failures since the last success
}

const (
	breakerWindow = 10 * time.Second
	mostOpen      = time.Minute
)

// failed counts a failure and opens the circuit if it is one too many.
func (b *breaker) failed(now time.Duration, probe bool) {
	b.failures[b.n%len(b.failures)] = now
	b.n++
	oldest := b.failures[b.n%len(b.failures)]
	switch {
	case b.open && probe:
		b.pause = min(2*b.pause, mostOpen)
	case !b.open && b.n >= len(b.failures) && now-oldest <= breakerWindow:
		b.open, b.pause = true, breakerWindow
	default:
		return
	}
	b.until, b.probing = now+b.pause, false
}

// trouble tells failures by load from those that an endpoint has by chance, however
// little is sent to it.
type trouble struct {
	n      int
	usual  float64 // share of failures among the last 128 ends or so
	recent float64 // among the last 16
}

// more counts an end and reports whether it is a failure of more than usual. Without
// failures before it, the first one is.
func (t *trouble) more(failed bool) (more bool) {
	x := 0.0
	if failed {
		x = 1
	}
	t.n = min(t.n+1, 128)
	t.recent += (x - t.recent) / 16
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
		more := m.trouble.more(true)
		if shuts = shuts && (more || m.rates.nothingLeft(now)); more {
			m.shrink(now, c)
		}
		m.answers()
	case llm.OutcomeTimeout:
		if m.trouble.more(true) {
			m.shrink(now, c)
		}
		m.breaker.failed(now, c.probe)
		said()
	case llm.OutcomeServerError, llm.OutcomeTruncated:
		m.breaker.failed(now, c.probe)
		said()
	case llm.OutcomeQuota, llm.OutcomeAuth:
		m.close(e.Outcome)
	case llm.OutcomeCancelled, llm.OutcomeUnavailable, llm.OutcomeBudget, llm.OutcomeClosed: // nothing was learnt
		if c.probe {
			m.breaker.probing = false
		}
	default:
		m.trouble.more(false)
		m.answers()
		m.succeeded(c)
	}
	if shuts && e.Outcome.AskAgain() {
		said()
		m.shut, m.opening = max(m.shut, now+min(e.RetryAfter, maxShut)), 1
	}
}

// answers closes the circuit: the endpoint answers.
func (m *Machine) answers() {
	if m.breaker.open {
		m.opening = 1
	}
	m.breaker = breaker{}
}

// succeeded widens the gate: while it opens, by one for every call that left since; then
// by one for as many successes as it is wide, if all its slots were used.
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
	if m.opt.Fixed || m.width >= m.opt.Concurrency || m.out < m.width-m.kept() {
		return
	}
	if m.good++; m.good >= m.width {
		m.width++
		m.good = 0
	}
}

// shrink makes the gate narrower, once for the calls that left before it did.
func (m *Machine) shrink(now time.Duration, c *Call) {
	if m.opt.Fixed || c.left < m.shrunk {
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
