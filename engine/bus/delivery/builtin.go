package delivery

import "tavernsim/protocol"

// Reasons of the built-in middlewares; the words of event.refused.
const (
	ReasonDepth   = "depth"
	ReasonLoop    = "loop"
	ReasonTTL     = "ttl"
	ReasonUnnamed = "unnamed" // a middleware dropped the message without a reason
)

// LoopAction is the action for a delivery that would loop.
type LoopAction string

const (
	LoopDrop         LoopAction = "drop"         // not delivered
	LoopDeprioritize LoopAction = "deprioritize" // delivered at low priority
	LoopWarn         LoopAction = "warn"         // delivered and marked
)

// Defaults of the built-in middlewares.
const (
	DefaultMaxDepth    = 32
	DefaultMaxRevisits = 2
)

// Loop applies the loop rule of the package doc to events whose receiver is known. Its
// time is proportional to the length of the chain.
type Loop struct {
	MaxRevisits int        // 0 = DefaultMaxRevisits; below 0 = none: an agent hears a type once in a chain
	Action      LoopAction // "" = LoopDrop
}

// Judge implements Middleware.
func (l Loop) Judge(m Message, v Verdict) Verdict {
	if limit := l.limit(); len(m.Chain) <= limit || !loops(m.Envelope, m.Receiver, limit) {
		return v
	}
	return l.judged(v)
}

func (l Loop) limit() int { return limitOf(l.MaxRevisits, DefaultMaxRevisits) }

func limitOf(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return max(0, n)
}

func (l Loop) judged(v Verdict) Verdict {
	switch l.Action {
	case LoopDeprioritize:
		return v.In(Low, ReasonLoop)
	case LoopWarn:
		return v.Marked(ReasonLoop)
	}
	return v.Drop(ReasonLoop)
}

// Handled counts how often an agent has reacted to the type of an event within
// the event's chain.
func Handled(e *protocol.Envelope, agent string) int {
	return HandledIn(e.Chain, e.Source, e.Type, agent)
}

// HandledIn counts the links of a type after which the agent published the next event
// of the chain; source published the event after the last link.
func HandledIn(chain []protocol.Link, source, eventType, agent string) int {
	n := 0
	for i := range chain {
		if i > 0 && chain[i].Agent == agent && chain[i-1].Type == eventType {
			n++
		}
	}
	if last := len(chain) - 1; last >= 0 && source == agent && chain[last].Type == eventType {
		n++
	}
	return n
}

// Depth drops events with more than Max causes.
type Depth struct {
	Max int // 0 = DefaultMaxDepth; below 0 = none
}

func (d Depth) Judge(m Message, v Verdict) Verdict {
	if m.Depth() > d.limit() {
		return v.Drop(ReasonDepth)
	}
	return v
}

func (d Depth) limit() int { return limitOf(d.Max, DefaultMaxDepth) }

// Expiry drops events that have expired at [Message.Now] or, if that is 0, at the time
// of the message.
type Expiry struct{}

func (Expiry) Judge(m Message, v Verdict) Verdict {
	if expired(m.Envelope, m.Now) {
		return v.Drop(ReasonTTL)
	}
	return v
}

// InOrder puts events of all priorities and observations into one lane, so that an
// agent handles them in the order in which they were sent.
type InOrder struct{}

func (InOrder) Judge(m Message, v Verdict) Verdict {
	if m.Kind == protocol.KindEvent || m.Kind == protocol.KindObserve {
		v.Lane = Normal
	}
	return v
}
