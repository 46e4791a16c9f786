package outside

import (
	"container/list"
	"context"
	"slices"
	"sync"
)

// slots bounds the requests of an executor that are out. A call that finds none
// free waits, and gets one in the order in which it came, urgent calls first.
type slots struct {
	mu     *sync.Mutex // one for all executors: an Urgency has calls of several
	size   int
	out    int
	urgent list.List // of *waiter
	others list.List
}

// waiter is a call that waits for a slot.
type waiter struct {
	of    *slots
	ready chan struct{} // closed when it has one
	in    *list.List    // nil when it no longer waits
	at    *list.Element
}

// Urgency is how urgent the requests of one deliberation are: make one with
// [NewUrgency], give it with each of them, and [Runner.MakeUrgent] it when they become
// urgent. The lock of the runner guards it.
type Urgency struct {
	urgent bool
	places []*waiter // that wait
}

// NewUrgency makes the urgency of a deliberation that begins.
func NewUrgency(urgent bool) *Urgency { return &Urgency{urgent: urgent} }

func newSlots(mu *sync.Mutex, n int) *slots { return &slots{mu: mu, size: n} }

// enter takes a slot, or a place in the queue; nil = it has a slot.
func (s *slots) enter(h *Urgency) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out < s.size {
		s.out++
		return nil
	}
	p := &waiter{of: s, ready: make(chan struct{})}
	if h.places = append(h.places, p); h.urgent {
		p.wait(&s.urgent)
	} else {
		p.wait(&s.others)
	}
	return p
}

// take waits for the slot; false = ctx ended first.
func (p *waiter) take(ctx context.Context, h *Urgency) bool {
	select {
	case <-p.ready:
		return true
	case <-ctx.Done():
		return p.of.leave(h, p)
	}
}

func (p *waiter) wait(in *list.List) { p.in, p.at = in, in.PushBack(p) }

// leave ends the wait for a slot, unless the call got one at the same moment.
func (s *slots) leave(h *Urgency, p *waiter) (got bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.in == nil {
		return true
	}
	p.in.Remove(p.at)
	p.in = nil
	h.places = slices.DeleteFunc(h.places, func(o *waiter) bool { return o == p })
	return false
}

// give passes a slot on, or back.
func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range []*list.List{&s.urgent, &s.others} {
		if e := l.Front(); e != nil {
			p := l.Remove(e).(*waiter)
			p.in = nil
			close(p.ready)
			return
		}
	}
	s.out--
}

// MakeUrgent makes the requests of a deliberation urgent, also those that wait.
func (r *Runner) MakeUrgent(h *Urgency) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.urgent = true
	for _, p := range h.places {
		if s := p.of; p.in == &s.others {
			p.in.Remove(p.at)
			p.wait(&s.urgent)
		}
	}
}

// Urgent reports whether the requests of a deliberation are.
func (r *Runner) Urgent(h *Urgency) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return h.urgent
}

// load counts the calls with a slot, and those that wait.
func (s *slots) load() (out, queued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out, s.urgent.Len() + s.others.Len()
}
