package actors

import (
	"sync/atomic"

	"tavernsim/protocol"
)

// cell is one queued envelope: the only allocation of a send.
type cell struct {
	next atomic.Pointer[cell]
	env  *protocol.Envelope // nil: handed out, see queue.pop
}

// queue is one lane. Anybody pushes; whoever runs the actor pops. Neither waits
// for the other. A push has two steps, taking the tail and linking to it; a
// sender may be suspended between them, and then what it and everybody after it
// pushed cannot be reached, although it counts as sent.
//
//	tail == nil                nothing is queued, and head == nil
//	head == nil, tail != nil   the first push is between its steps
type queue struct{ head, tail atomic.Pointer[cell] }

func (q *queue) push(env *protocol.Envelope) {
	c := &cell{env: env}
	if before := q.tail.Swap(c); before != nil {
		before.next.Store(c)
	} else {
		q.head.Store(c)
	}
}

// ready: pop will find something.
func (q *queue) ready() bool {
	c := q.head.Load()
	return c != nil && (c.env != nil || c.next.Load() != nil)
}

// empty: nothing is queued, nor between the steps of a push. Not ready and not
// empty means that a sender is about to link, and will schedule the actor then.
func (q *queue) empty() bool { return q.tail.Load() == nil }

// pop takes the oldest envelope that can be reached, or nil.
func (q *queue) pop() *protocol.Envelope {
	c := q.head.Load()
	if c != nil && c.env == nil {
		c = q.skip(c)
	}
	if c == nil {
		return nil
	}
	env := c.env
	if next := c.next.Load(); next != nil {
		q.head.Store(next)
		return env
	}
	// The last one that can be reached. Head first: when the tail is nil, the
	// next sender sets head.
	q.head.Store(nil)
	if !q.tail.CompareAndSwap(c, nil) {
		c.env = nil // somebody is about to link to it: it stays as a mark
		q.head.Store(c)
	}
	return env
}

// skip goes past a cell that was handed out and could not be taken away.
func (q *queue) skip(c *cell) *cell {
	next := c.next.Load()
	if next != nil {
		q.head.Store(next)
	}
	return next
}
