package outside

import (
	"container/list"
	"context"
	"slices"
	"sync"
)

// slots bounds the model calls that are out. Who finds none free waits, and gets
// one in the order in which it came, urgent ones before all others.
type slots struct {
	mu     sync.Mutex
	size   int
	out    int
	urgent list.List // of *waiter
	others list.List
}

// waiter is a call that waits for a slot.
type waiter struct {
	ready chan struct{} // closed when it has one
	in    *list.List    // nil when it waits no more
	at    *list.Element
}

// Haste is how urgent the calls of one deliberation are: make one with
// [NewHaste], give it with each of them, and [Runner.Hurry] it when they become
// urgent. The lock of the slots guards it.
type Haste struct {
	urgent bool
	places []*waiter // that wait
}

// NewHaste is that of a deliberation that begins.
func NewHaste(urgent bool) *Haste { return &Haste{urgent: urgent} }

func newSlots(n int) *slots { return &slots{size: n} }

// take waits for a slot; false = ctx ended first.
func (s *slots) take(ctx context.Context, h *Haste) bool {
	p := s.enter(h)
	select {
	case <-p.ready:
		return true
	case <-ctx.Done():
		return s.leave(h, p)
	}
}

// enter gives a slot or a place to wait.
func (s *slots) enter(h *Haste) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &waiter{ready: make(chan struct{})}
	if s.out < s.size {
		s.out++
		close(p.ready)
		return p
	}
	if h.places = append(h.places, p); h.urgent {
		p.wait(&s.urgent)
	} else {
		p.wait(&s.others)
	}
	return p
}

func (p *waiter) wait(in *list.List) { p.in, p.at = in, in.PushBack(p) }

// leave gives up waiting, unless a slot came at the same moment.
func (s *slots) leave(h *Haste, p *waiter) (got bool) {
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

// hurry makes the calls of a deliberation urgent, also those that wait.
func (s *slots) hurry(h *Haste) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.urgent = true
	for _, p := range h.places {
		if p.in == &s.others {
			p.in.Remove(p.at)
			p.wait(&s.urgent)
		}
	}
}

func (s *slots) urgentNow(h *Haste) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.urgent
}

// load is how many calls are out, and how many wait.
func (s *slots) load() (out, queued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out, s.urgent.Len() + s.others.Len()
}
