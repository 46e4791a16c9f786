package actors

import (
	"sync"
	"sync/atomic"
)

// pool runs mailboxes on a fixed number of workers. Proto.Actor's default
// dispatcher starts a goroutine per wake-up: a burst to N idle actors would be
// N goroutines.
type pool struct {
	mu     sync.Mutex
	ready  sync.Cond
	ahead  ring // of urgent mailboxes
	urgent atomic.Int32
	queue  ring
	idle   int
	closed bool
	done   sync.WaitGroup
}

// grab is how many mailboxes a worker takes at once: fewer locks when many
// actors are ready, little enough that the other workers find some too.
const grab = 32

// newPool starts a worker for each of the given counts, which is its own.
func newPool(workers []*taken) *pool {
	p := &pool{}
	p.ready.L = &p.mu
	for _, count := range workers {
		p.done.Go(func() { p.work(count) })
	}
	return p
}

func (p *pool) push(m *mailbox) {
	first := m.first()
	p.mu.Lock()
	p.put(m, first)
	wake := p.idle > 0
	p.mu.Unlock()
	if wake {
		p.ready.Signal()
	}
}

// pushAll is push for many.
func (p *pool) pushAll(list []*mailbox) {
	p.mu.Lock()
	for _, m := range list {
		p.put(m, m.first())
	}
	wake := p.idle > 0
	p.mu.Unlock()
	if wake {
		p.ready.Broadcast()
	}
}

// put queues a mailbox; the lock is held.
func (p *pool) put(m *mailbox, first bool) {
	if !first {
		p.queue.push(m)
		return
	}
	p.ahead.push(m)
	p.urgent.Store(int32(p.ahead.len))
}

// work runs mailboxes. After each comes an urgent one, if there is one; of four in
// a row at least one is ordinary, if there is one.
func (p *pool) work(count *taken) {
	var batch [grab]*mailbox
	var last *mailbox
	for {
		n := p.take(batch[:], last)
		if n == 0 {
			return
		}
		last = nil
		for i, m := range batch[:n] {
			batch[i] = nil
			if again := !m.stepsAside() && m.claim() && m.process(count); again && i == n-1 {
				last = m
			} else if again {
				p.again(m)
			}
			if m := p.takeAhead(); m != nil && m.claim() && m.process(count) {
				p.again(m)
			}
		}
	}
}

// take puts back the mailbox that wants to go on, behind the others, and waits
// for mailboxes; 0 means the pool is closed. Nobody is woken for the one put
// back: who puts it there takes it, when there is no other.
func (p *pool) take(into []*mailbox, back *mailbox) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if back != nil {
		back.back()
		p.put(back, back.first())
	}
	for p.queue.len+p.ahead.len == 0 {
		if p.closed {
			return 0
		}
		p.idle++
		p.ready.Wait()
		p.idle--
	}
	if p.ahead.len > 0 {
		into[0] = p.popAhead()
		return 1 + p.fill(into[1:2])
	}
	return p.fill(into[:min(len(into), max(1, p.queue.len/2))])
}

// fill takes ordinary mailboxes, as many as there are.
func (p *pool) fill(into []*mailbox) int {
	n := min(len(into), p.queue.len)
	for i := range n {
		into[i] = p.queue.pop()
	}
	return n
}

// again puts back a mailbox that wants to go on.
func (p *pool) again(m *mailbox) {
	m.back()
	p.push(m)
}

// takeAhead gives an urgent mailbox; nil = there is none.
func (p *pool) takeAhead() *mailbox {
	if p.urgent.Load() == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ahead.len == 0 {
		return nil
	}
	return p.popAhead()
}

func (p *pool) popAhead() *mailbox {
	p.urgent.Store(int32(p.ahead.len - 1))
	return p.ahead.pop()
}

// close lets the workers finish what is queued and waits for them.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.ready.Broadcast()
	p.done.Wait()
}

// ring is a growing circular queue.
type ring struct {
	buf  []*mailbox
	head int
	len  int
}

func (r *ring) push(m *mailbox) {
	if r.len == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.len)&(len(r.buf)-1)] = m
	r.len++
}

func (r *ring) pop() *mailbox {
	m := r.buf[r.head]
	r.buf[r.head] = nil
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.len--
	return m
}

func (r *ring) grow() {
	next := make([]*mailbox, max(64, 2*len(r.buf)))
	for i := range r.len {
		next[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
	}
	r.buf, r.head = next, 0
}
