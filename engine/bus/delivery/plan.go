package delivery

import (
	"math"

	"tavernsim/protocol"
)

// Plan is a chain that is asked often. Most messages break no rule; whether one
// does is found for all of the engine's own middlewares at the head of the chain
// together, and only the others are asked one by one. The answer is that of the
// chain. The zero value is an empty chain.
type Plan struct {
	chain Chain
	head  int // middlewares at the head that are the engine's own

	// A message within these is delivered by all of them, in the lane of its
	// priority or in the one for events in order.
	depth    int
	revisits int
	expiry   bool
	inOrder  bool
}

// Plan makes a chain ready.
func (c Chain) Plan() Plan {
	p := Plan{chain: c, depth: math.MaxInt, revisits: math.MaxInt}
	for p.head < len(c) && p.takes(c[p.head]) {
		p.head++
	}
	return p
}

// takes reports whether a middleware is the engine's own.
func (p *Plan) takes(mw Middleware) bool {
	switch mw := mw.(type) {
	case Loop:
		p.revisits = min(p.revisits, mw.limit())
	case Depth:
		p.depth = min(p.depth, mw.limit())
	case Expiry:
		p.expiry = true
	case ByPriority:
		p.inOrder = false
	case InOrder:
		p.inOrder = true
	default:
		return false
	}
	return true
}

// Decide is [Chain.Decide].
func (p *Plan) Decide(m Message) Verdict {
	if p.head == 0 || p.breaks(&m) {
		return p.chain.Decide(m)
	}
	v := Begin(m)
	if p.inOrder {
		v = InOrder{}.Judge(m, v)
	}
	if p.head == len(p.chain) {
		return v
	}
	return p.chain[p.head:].finish(m, v)
}

// breaks reports whether one of the rules at the head has something to say.
func (p *Plan) breaks(m *Message) bool {
	e := m.Envelope
	return len(e.Chain) > p.depth ||
		p.expiry && expired(e, m.Now) ||
		len(e.Chain) > p.revisits && loops(e, m.Receiver, p.revisits)
}

// expired is the rule of [Expiry].
func expired(e *protocol.Envelope, now protocol.Time) bool {
	return e.Expires != 0 && e.Expires <= max(now, e.Time)
}

// loops is the rule of [Loop], for a chain of more links than the limit: nobody
// has handled a type more often than there are links.
func loops(e *protocol.Envelope, receiver string, limit int) bool {
	return receiver != "" && e.Kind == protocol.KindEvent && Handled(e, receiver) > limit
}
