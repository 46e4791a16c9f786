package delivery

import "tavernsim/protocol"

// Lane is a queue within a mailbox. Lower numbers are served first.
type Lane uint8

// Lanes in the order in which they are served.
const (
	Control Lane = iota // everything except events
	Critical
	High
	Normal
	Low
	Last // messages that must be handled after everything sent before them
	Lanes
)

func (l Lane) String() string {
	if l < Lanes {
		return [...]string{"control", "critical", "high", "normal", "low", "wake"}[l]
	}
	return "unknown"
}

// LaneOf is the default lane of a message: events by priority, wakes and snapshots
// last, everything else control.
func LaneOf(env *protocol.Envelope) Lane {
	switch env.Kind {
	case protocol.KindWake, protocol.KindSnapshot:
		return Last
	case protocol.KindEvent:
		return ForPriority(env.Priority)
	}
	return Control
}

// ForPriority is the lane of a priority. A number outside of the priorities counts as
// the nearest one.
func ForPriority(p protocol.Priority) Lane {
	return Normal - Lane(min(max(p, protocol.Low), protocol.Critical))
}

// Priority is the inverse of ForPriority: the priority of an event in this lane.
// Control counts as critical, the last lane as low.
func (l Lane) Priority() protocol.Priority {
	return protocol.Priority(Normal) - protocol.Priority(min(max(l, Critical), Low))
}

// Action is what happens to a message.
type Action uint8

const (
	Deliver Action = iota
	Drop           // not at all
	Delay          // not before Verdict.Until
	Merge          // replaces the message that waits under [Verdict.Key]
)

func (a Action) String() string {
	if int(a) < 4 {
		return [...]string{"deliver", "drop", "delay", "merge"}[a]
	}
	return "unknown"
}

// Message is one message to one receiver. It is read-only.
type Message struct {
	*protocol.Envelope
	Receiver string        // instance id of an agent, or the name of another actor; "" = unknown
	Now      protocol.Time // of the scene's clock; 0 = unknown: the message's own time counts
}

// Verdict is what happens to a message. The zero value delivers it in the control
// lane; begin with [Begin].
//
// The compiler keeps its four fields in registers. A fifth field makes a chain of four
// take 120 ns instead of 20.
type Verdict struct {
	Action Action
	Lane   Lane
	Reason string        // of a drop; the key of a merge; otherwise a mark on the delivery
	Until  protocol.Time // of a delay
}

// Key is the key of a merge: for a receiver, one message waits under it.
func (v Verdict) Key() string {
	if v.Action == Merge {
		return v.Reason
	}
	return ""
}

// Drop refuses the message.
func (v Verdict) Drop(reason string) Verdict {
	v.Action, v.Reason = Drop, reason
	return v
}

// In moves the message to a lane, for a reason.
func (v Verdict) In(l Lane, reason string) Verdict {
	v.Lane, v.Reason = l, reason
	return v
}

// Marked delivers the message with a mark.
func (v Verdict) Marked(reason string) Verdict {
	v.Reason = reason
	return v
}

// Delay holds the message back; of two delays the later counts. Only the channel
// carries it out.
func (v Verdict) Delay(until protocol.Time) Verdict {
	v.Action, v.Until = Delay, max(v.Until, until)
	return v
}

// Merge replaces the message that waits under the same key for the same receiver. Only
// the channel carries it out.
func (v Verdict) Merge(key string) Verdict {
	v.Action, v.Reason = Merge, key
	return v
}

// Middleware judges a message. It gets the verdict of the middlewares before it and
// returns its own, or v unchanged. It must be a pure function of its configuration and
// its arguments, safe for concurrent use, and must not keep the message.
type Middleware interface {
	Judge(m Message, v Verdict) Verdict
}

// Func is a function as a Middleware.
type Func func(m Message, v Verdict) Verdict

// Judge implements Middleware.
func (f Func) Judge(m Message, v Verdict) Verdict { return f(m, v) }

// Chain asks middlewares in their order. It is a Middleware itself.
type Chain []Middleware

// Check refuses a chain with nothing in a place of it: the channel would fail with the first event.
func (c Chain) Check() error {
	for i, mw := range c {
		if f, is := mw.(Func); mw == nil || is && f == nil {
			return protocol.Errorf(protocol.KindInvalid, "middleware %d of %d is nil; want a delivery.Middleware, or leave it out", i+1, len(c))
		}
		inner, _ := mw.(Chain)
		if err := inner.Check(); err != nil {
			return protocol.Errorf(protocol.KindInvalid, "in middleware %d of %d: %w", i+1, len(c), err)
		}
	}
	return nil
}

// Judge implements Middleware. The first drop ends the chain. It panics with a [Panic] if a
// middleware does.
func (c Chain) Judge(m Message, v Verdict) Verdict { return c.from(0, m, v) }

func (c Chain) from(at int, m Message, v Verdict) Verdict {
	defer func() {
		if p := recover(); p != nil {
			panic(c.panicked(at, p))
		}
	}()
	for ; at < len(c) && v.Action != Drop; at++ {
		v = c[at].Judge(m, v)
	}
	return v
}

// Begin is the verdict before the first middleware.
func Begin(m Message) Verdict { return Verdict{Lane: LaneOf(m.Envelope)} }

// Decide is the chain's verdict about a message. If it names a lane that does not
// exist, the message goes into the last lane but one: a defect of a middleware costs
// order but no message.
func (c Chain) Decide(m Message) Verdict { return c.finish(0, m, Begin(m)) }

// finish continues from the verdict of the middlewares before a place of the chain.
func (c Chain) finish(at int, m Message, v Verdict) Verdict {
	v = c.from(at, m, v)
	if v.Lane >= Lanes {
		v.Lane = Low
	}
	if v.Action == Drop && v.Reason == "" {
		v.Reason = ReasonUnnamed
	}
	return v
}
