package outside

import (
	"context"
	"sync/atomic"

	"tavernsim/llm/gate"
)

// phase is what a call waits for.
type phase uint8

const (
	finds   phase = iota // the log, for an answer that it has or will have
	waits                // the gate
	follows              // another call that is alike
	keeps                // the log, which keeps the request
	hands                // the log, which keeps that another endpoint takes it over
	out                  // the executor
	lands                // the log, which keeps the answer
	ended
)

// move changes the phase; false = the call has gone on without its caller.
func (c *call) move(from, to phase) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != from {
		return false
	}
	c.become(to)
	return true
}

// become changes the phase; the lock is held.
func (c *call) become(to phase) {
	if c.at != nil && (c.phase == waits || c.phase == follows) {
		c.at.Add(-1)
	}
	if c.phase = to; c.at != nil && (to == waits || to == follows) {
		c.at.Add(1)
	}
}

type peopleKey struct{}

// AsksPerson says that a call waits for a person until done is called. Its executor can make the call again from the start, and the
// person is asked again then. ctx is that of the call.
func AsksPerson(ctx context.Context) (done func()) {
	n, ok := ctx.Value(peopleKey{}).(*atomic.Int64)
	if !ok {
		return func() {}
	}
	n.Add(1)
	return func() { n.Add(-1) }
}

// waitingAt counts the calls that wait at a gate, or for another call there.
func (r *Runner) waitingAt(g *gate.Gate) *atomic.Int64 {
	n, known := r.waiting.Load(g)
	if !known {
		n, _ = r.waiting.LoadOrStore(g, new(atomic.Int64))
	}
	return n.(*atomic.Int64)
}

// Stranded reports whether all requests that are under way wait at gates of endpoints that take none now, or for persons
// who can be asked again ([AsksPerson]). paced = some wait for the rate of an endpoint.
func (r *Runner) Stranded() (all, paced bool) {
	under, stranded, held := r.under.Load(), r.people.Load(), r.held.Load()
	r.waiting.Range(func(g, n any) bool {
		here := n.(*atomic.Int64).Load()
		s, _, _ := g.(*gate.Gate).Stalled()
		if s.Why != "" || held {
			stranded += here
		}
		paced = paced || s.Paced && here > 0
		return true
	})
	return under > 0 && stranded >= under, paced
}

// Hold lets no request leave any more that waits at a gate: it waits until its deliberation ends. Those that are out end as others do.
func (r *Runner) Hold() { r.held.Store(true) }
