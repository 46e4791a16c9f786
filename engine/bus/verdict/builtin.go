package verdict

import "tavernsim/protocol"

// Reasons of the built-in middlewares; the words of event.refused.
const (
	ReasonDepth   = "depth"
	ReasonLoop    = "loop"
	ReasonTTL     = "ttl"
	ReasonUnnamed = "unnamed" // a middleware dropped and did not say why
)

// LoopAction is what becomes of a delivery that would loop.
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

// Loop applies the loop rule of the package doc to events whose receiver is
// known. It costs time by the length of the chain.
type Loop struct {
	MaxRevisits int        // 0 = DefaultMaxRevisits; below 0 = none: an agent hears a type once in a chain
	Action      LoopAction // "" = LoopDrop
}

// Judge implements Middleware.
func (l Loop) Judge(m Message, v Verdict) Verdict {
	if len(m.Chain) == 0 || m.Receiver == "" || m.Kind != protocol.KindEvent {
		return v
	}
	limit := l.MaxRevisits
	if limit == 0 {
		limit = DefaultMaxRevisits
	}
	if Handled(m.Envelope, m.Receiver) <= max(0, limit) {
		return v
	}
	return l.judged(v)
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

// HandledIn counts the links of a type after which the agent published what
// followed; source is who published what follows the last one.
func HandledIn(chain []protocol.Link, source, eventType, agent string) int {
	n := 0
	for i := range chain {
		if chain[i].Type == eventType && handler(chain, source, i) == agent {
			n++
		}
	}
	return n
}

// handler is who reacted to link i: the publisher of what follows.
func handler(chain []protocol.Link, source string, i int) string {
	if i+1 < len(chain) {
		return chain[i+1].Agent
	}
	return source
}

// Depth drops events with more than Max causes.
type Depth struct {
	Max int // 0 = DefaultMaxDepth; below 0 = none
}

// Judge implements Middleware.
func (d Depth) Judge(m Message, v Verdict) Verdict {
	limit := d.Max
	if limit == 0 {
		limit = DefaultMaxDepth
	}
	if m.Depth() > max(0, limit) {
		return v.Drop(ReasonDepth)
	}
	return v
}

// Expiry drops what has expired: at [Message.Now], or, where nobody knows the
// time, at the message's own.
type Expiry struct{}

// Judge implements Middleware.
func (Expiry) Judge(m Message, v Verdict) Verdict {
	if m.Expires != 0 && m.Expires <= max(m.Now, m.Time) {
		return v.Drop(ReasonTTL)
	}
	return v
}

// ByPriority puts events into the lane of their priority. [Begin] does the same:
// it is for chains that take back what an earlier middleware did.
type ByPriority struct{}

// Judge implements Middleware.
func (ByPriority) Judge(m Message, v Verdict) Verdict {
	v.Lane = LaneOf(m.Envelope)
	return v
}

// InOrder keeps events in one lane, whatever their priority: they are handled in
// the order in which they were sent.
type InOrder struct{}

// Judge implements Middleware.
func (InOrder) Judge(m Message, v Verdict) Verdict {
	if m.Kind == protocol.KindEvent {
		v.Lane = Normal
	}
	return v
}
