package actors

import (
	"sync"
	"sync/atomic"
)

// hold keeps the ordinary actors of a supervisor from the workers.
type hold struct {
	on    atomic.Bool
	mu    sync.Mutex
	aside []*mailbox // which came to a worker meanwhile, in that order
}

// Hold gives workers only to actors that go before others, until LetGo: what is
// urgent is then handled within so many slices of others as there are workers,
// however these are scheduled. May be called by anybody, also when it is held.
func (s *Supervisor) Hold() {
	if !s.hold.on.Load() {
		s.hold.mu.Lock()
		s.hold.on.Store(true)
		s.hold.mu.Unlock()
	}
}

// LetGo ends Hold.
func (s *Supervisor) LetGo() {
	h := &s.hold
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
// supervisor is held. It still waits: who makes it urgent meanwhile, or asks it to
// stop, puts it into the pool once more.
func (m *mailbox) stepsAside() bool {
	h := &m.sup.hold
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
