package delivery

import (
	"math"

	"tavernsim/protocol"
)

// Plan is a chain prepared for many messages. Most messages break no rule, so it
// checks the engine's own middlewares at the head of the chain together and asks only
// the others one by one. It gives the answers of the chain. The zero value is an
// empty chain.
type Plan struct {
	chain Chain
	head  int // middlewares at the head that are the engine's own

	// Limits of the middlewares at the head. They deliver a message within all limits.
	depth    int
	revisits int
	expiry   bool
	inOrder  bool
}

// Plan prepares a chain.
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
	return p.chain.finish(p.head, m, v)
}

// breaks reports whether a message breaks one of the rules at the head.
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

// loops is the rule of [Loop].
func loops(e *protocol.Envelope, receiver string, limit int) bool {
	return receiver != "" && e.Kind == protocol.KindEvent && Handled(e, receiver) > limit
}
