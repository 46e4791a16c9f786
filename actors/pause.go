package actors

import (
	"sync"
	"sync/atomic"
)

// pause keeps the ordinary actors of a supervisor from the workers.
type pause struct {
	on    atomic.Bool
	mu    sync.Mutex
	aside []*mailbox // which came to a worker meanwhile, in that order
}

// PauseOrdinary gives workers only to actors that go before others, until ResumeOrdinary: what is
// urgent is then handled within so many slices of others as there are workers,
// however these are scheduled. Any goroutine may call it, also twice.
func (s *Supervisor) PauseOrdinary() {
	if !s.pause.on.Load() {
		s.pause.mu.Lock()
		s.pause.on.Store(true)
		s.pause.mu.Unlock()
	}
}

// ResumeOrdinary ends PauseOrdinary.
func (s *Supervisor) ResumeOrdinary() {
	h := &s.pause
	if !h.on.Load() {
		return
	}
	h.mu.Lock()
	h.on.Store(false)
	aside := h.aside
	h.aside = nil
	h.mu.Unlock()
	if len(aside) > 0 {
		s.system.pool.pushAll(aside)
	}
}

// stepsAside takes a mailbox that a worker has come to out of the pool, when its
// supervisor pauses them. It still waits: a sender that makes it urgent
// meanwhile, or a request to stop, puts it into the pool once more.
func (m *mailbox) stepsAside() bool {
	h := &m.sup.pause
	if !h.on.Load() || m.first() || m.word.Load()&asked != 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.on.Load() {
		return false
	}
	h.aside = append(h.aside, m)
	return true
}
