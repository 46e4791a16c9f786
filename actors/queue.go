package actors

import (
	"sync"
	"sync/atomic"

	"tavernsim/engine/bus/verdict"
	"tavernsim/protocol"
)

// cell is one queued envelope: the only allocation of a send. Lending cells from
// a pool was slower: a backlog empties it.
type cell struct {
	next *cell
	env  *protocol.Envelope
}

// queue is one lane: senders push onto a stack; whoever runs the actor takes the
// whole stack and turns it. So a send is one atomic step, after which what was
// sent can be seen, and taking costs none.
type queue struct {
	top atomic.Pointer[cell] // newest first
	out *cell                // older than all of top, oldest first
}

func (q *queue) push(c *cell) {
	for {
		c.next = q.top.Load()
		if q.top.CompareAndSwap(c.next, c) {
			return
		}
	}
}

func (q *queue) holds() bool { return q.out != nil || q.top.Load() != nil }

// turnStep is how many cells are turned before the other lanes are looked at: a
// backlog of a million takes milliseconds to turn, and something urgent may have
// come.
const turnStep = 256

// turned reports whether the oldest of a lane that holds something can be taken;
// if not, a part of the work is done.
func (m *mailbox) turned(l verdict.Lane) bool {
	q := &m.lanes[l]
	switch {
	case m.rest != nil && m.turning == l:
	case q.out != nil:
		return true
	case m.rest != nil: // another lane is half way
		for c := q.top.Swap(nil); c != nil; {
			c.next, q.out, c = q.out, c, c.next
		}
		return true
	default:
		m.rest, m.turning = q.top.Swap(nil), l
	}
	for range turnStep {
		c := m.rest
		m.rest, c.next, q.out = c.next, q.out, c
		if m.rest == nil {
			return true
		}
	}
	return false
}

// pop takes the oldest of a lane, or nil.
func (m *mailbox) pop(l verdict.Lane) *protocol.Envelope {
	q := &m.lanes[l]
	if !q.holds() {
		return nil
	}
	for !m.turned(l) {
	}
	return q.take()
}

// take takes the oldest of a lane that is turned.
func (q *queue) take() *protocol.Envelope {
	c := q.out
	q.out = c.next
	env := c.env
	*c = cell{} // its neighbours may wait still
	return env
}

// block is cells that are allocated together: one by one, they and the garbage
// they leave cost as much as the rest of a send.
type block struct {
	cells [blockCells]cell
	used  int
}

const blockCells = 16

// blocks lends what is left of a block to one sender at a time.
type blocks struct{ pool sync.Pool }

func (s *blocks) cell(env *protocol.Envelope) *cell {
	b, ok := s.pool.Get().(*block)
	if !ok {
		b = new(block)
	}
	c := &b.cells[b.used]
	c.env = env
	if b.used++; b.used < blockCells {
		s.pool.Put(b)
	}
	return c
}
