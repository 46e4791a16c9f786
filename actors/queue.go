package actors

import (
	"math/bits"
	"sync/atomic"

	"tavernsim/engine/bus/delivery"
	"tavernsim/protocol"
)

// StarvationBound: of this many envelopes handled in a row while a lower lane
// waits, at least one comes from it.
const StarvationBound = 64

// cell is one queued envelope.
type cell struct {
	next *cell
	env  *protocol.Envelope
}

// pile is where senders put what they send to a lane, newest first. The
// worker that runs the actor takes all of it and turns it. So a send is one atomic step, and
// taking costs none.
type pile struct{ atomic.Pointer[cell] }

func (p *pile) push(c *cell) {
	for {
		c.next = p.Load()
		if p.CompareAndSwap(c.next, c) {
			return
		}
	}
}

// hand is what a worker has of the mailbox that it runs, and tells nobody while
// it does: what is shared costs as much as the rest of an envelope.
type hand struct {
	count *taken

	lane delivery.Lane // of the envelopes that it took and has not settled
	n    int32

	rest    *cell // of the lane that is half turned
	turning delivery.Lane
	half    uint8 // the bit of that lane; 0 = none
}

// next takes the envelope to handle (promises 3 and 4), or nil. Its lane is in
// the hand.
func (m *mailbox) next(h *hand) *protocol.Envelope {
	for {
		first, lower := m.look(h)
		if first == delivery.Lanes {
			return nil
		}
		if env := m.choose(h, first, lower); env != nil {
			return env
		}
	}
}

// choose takes the envelope to handle after a look, or turns its lane and returns
// nil. Look again then: something urgent may have come, and what one sender sent
// before it sent what is in the last lane now.
func (m *mailbox) choose(h *hand, first, lower delivery.Lane) *protocol.Envelope {
	if first != lower && m.streak+1 >= StarvationBound {
		first = lower
	}
	if m.held&(1<<first) == 0 {
		m.turn(h, first)
		return nil
	}
	if m.streak++; first == lower {
		m.streak = 0
	}
	m.onto(h, first)
	return m.take(first)
}

// look finds the first lane that may hold something, and the lowest, which may be
// the same. The last lane counts only when every other is empty. It is one look
// at what senders say: all lanes are seen as they were at the same moment.
func (m *mailbox) look(h *hand) (first, lower delivery.Lane) {
	full := uint8(m.word.Load()&laneBits) | m.held | h.half
	if events := full &^ (1 << delivery.Last); events != 0 {
		return delivery.Lane(bits.TrailingZeros8(events)), delivery.Lane(bits.Len8(events)) - 1
	}
	if full != 0 {
		return delivery.Last, delivery.Last
	}
	return delivery.Lanes, delivery.Lanes
}

// turnStep is how many cells are turned before the other lanes are looked at: a
// backlog of a million takes milliseconds to turn, and something urgent may have
// come.
const turnStep = 256

// turn makes the oldest of a lane ready to be taken, or does a part of that work.
func (m *mailbox) turn(h *hand, l delivery.Lane) {
	switch h.half {
	case 1 << l:
		m.turnStep(h)
	case 0:
		h.rest, h.turning, h.half = m.grab(l), l, 1<<l
		m.turnStep(h)
	default: // another lane is half way
		m.turnAll(l)
	}
}

// grab takes what senders have put into a lane. A sender that comes after it says so again.
func (m *mailbox) grab(l delivery.Lane) *cell {
	m.word.And(^(1 << l))
	return m.top[l].Swap(nil)
}

func (m *mailbox) turnStep(h *hand) {
	c, out := h.rest, m.out[h.turning]
	for n := 0; c != nil && n < turnStep; n++ {
		c.next, out, c = out, c, c.next
	}
	h.rest, m.out[h.turning] = c, out
	if c == nil {
		m.hold(h.turning)
		h.half = 0
	}
}

// hold says that a lane is turned. One that was announced and had been taken
// already holds nothing.
func (m *mailbox) hold(l delivery.Lane) {
	if m.out[l] != nil {
		m.held |= 1 << l
	}
}

// turnRest turns what is half turned: between two runs nothing is.
func (m *mailbox) turnRest(h *hand) {
	for h.half != 0 {
		m.turnStep(h)
	}
}

func (m *mailbox) turnAll(l delivery.Lane) {
	out := m.out[l]
	for c := m.grab(l); c != nil; {
		c.next, out, c = out, c, c.next
	}
	m.out[l] = out
	m.hold(l)
}

// pop takes the oldest of a lane, or nil. Nothing is half turned.
func (m *mailbox) pop(l delivery.Lane) *protocol.Envelope {
	if m.held&(1<<l) == 0 {
		m.turnAll(l)
	}
	if m.held&(1<<l) == 0 {
		return nil
	}
	return m.take(l)
}

// take takes the oldest of a lane that is held.
func (m *mailbox) take(l delivery.Lane) *protocol.Envelope {
	c := m.out[l]
	if m.out[l] = c.next; c.next == nil {
		m.held &^= 1 << l
	}
	env := c.env
	*c = cell{} // its neighbours may wait still
	return env
}
