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

	workers []*worker
}

// grab is how many mailboxes a worker takes at once: fewer locks when many
// actors are ready, little enough that the other workers find some too.
const grab = 32

// newPool starts a worker for each of the given counts, which is its own.
func newPool(counts []*taken) *pool {
	p := &pool{}
	p.ready.L = &p.mu
	for _, count := range counts {
		p.workers = append(p.workers, &worker{count: count})
	}
	for _, w := range p.workers {
		p.done.Go(func() { p.work(w) })
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

// worker is what one of them has taken. It takes from the front; others take there,
// too, rather than wait behind an actor that does not return.
type worker struct {
	count *taken
	batch [grab]*mailbox
	end   int32        // of the batch; changed by the worker, under the pool's lock
	next  atomic.Int32 // of the batch
}

// pop gives the next mailbox of the batch; nil = it has none. Others than the worker
// hold the pool's lock.
func (w *worker) pop() *mailbox {
	if i := w.next.Load(); i >= w.end {
		return nil
	}
	if i := w.next.Add(1) - 1; i < w.end {
		return w.batch[i]
	}
	return nil
}

// work runs mailboxes. After each comes an urgent one, if there is one; of four in
// a row at least one is ordinary, if there is one.
func (p *pool) work(w *worker) {
	var last *mailbox
	for p.take(w, last) {
		last = nil
		for m := w.pop(); m != nil; m = w.pop() {
			again := !m.stepsAside() && m.claim() && m.process(w.count)
			if again && w.next.Load() >= w.end {
				last = m
			} else if again {
				p.again(m)
			}
			if m := p.takeAhead(); m != nil && m.claim() && m.process(w.count) {
				p.again(m)
			}
		}
	}
}

// take puts back the mailbox that wants to go on, behind the others, and waits
// for mailboxes; false means the pool is closed. No worker is woken for the one
// put back: the worker that puts it there takes it, when there is no other.
func (p *pool) take(w *worker, back *mailbox) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if back != nil {
		back.back()
		p.put(back, back.first())
	}
	clear(w.batch[:w.end])
	for {
		w.end = int32(p.fill(w.batch[:]))
		w.next.Store(0)
		switch {
		case w.end > 0:
			return true
		case p.closed:
			return false
		}
		p.idle++
		p.ready.Wait()
		p.idle--
	}
}

// fill takes an urgent mailbox and an ordinary one, or half of those that wait, or
// one that another worker has taken and not come to.
func (p *pool) fill(into []*mailbox) (n int) {
	if p.ahead.len > 0 {
		into[0] = p.popAhead()
		n, into = 1, into[1:2]
	} else {
		into = into[:min(len(into), max(1, p.queue.len/2))]
	}
	for i := range min(len(into), p.queue.len) {
		into[i] = p.queue.pop()
		n++
	}
	if n > 0 {
		return n
	}
	for _, w := range p.workers {
		if into[0] = w.pop(); into[0] != nil {
			return 1
		}
	}
	return 0
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
