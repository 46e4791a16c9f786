package delivery

import "tavernsim/protocol"

// Lane is a queue within a mailbox. Lower numbers are served first.
type Lane uint8

// Lanes in the order in which they are served.
const (
	Control Lane = iota // everything that is no event
	Critical
	High
	Normal
	Low
	Last // what must find everything that was sent before it handled
	Lanes
)

func (l Lane) String() string {
	if l < Lanes {
		return [...]string{"control", "critical", "high", "normal", "low", "wake"}[l]
	}
	return "unknown"
}

// LaneOf is the lane of a message that no middleware moves: events by priority,
// everything else is control, but for wakes and snapshots, which go last.
func LaneOf(env *protocol.Envelope) Lane {
	switch env.Kind {
	case protocol.KindWake, protocol.KindSnapshot:
		return Last
	case protocol.KindEvent:
		return ForPriority(env.Priority)
	}
	return Control
}

// ForPriority is the lane of events of a priority. One that does not exist
// counts as the nearest that does.
func ForPriority(p protocol.Priority) Lane {
	return Normal - Lane(min(max(p, protocol.Low), protocol.Critical))
}

// Priority is the reverse of ForPriority: what an event moved to this lane is
// worth. Control counts as critical, the last lane as low.
func (l Lane) Priority() protocol.Priority {
	return protocol.Priority(Normal) - protocol.Priority(min(max(l, Critical), Low))
}

// Action is what becomes of a message.
type Action uint8

const (
	Deliver Action = iota
	Drop           // not at all
	Delay          // not before Verdict.Until
	Merge          // with the one that waits under [Verdict.Key]: the newest stays
)

func (a Action) String() string {
	if int(a) < 4 {
		return [...]string{"deliver", "drop", "delay", "merge"}[a]
	}
	return "unknown"
}

// Message is one message on its way to one receiver. Nobody may change it.
type Message struct {
	*protocol.Envelope
	Receiver string        // instance id of an agent, or the name of another actor; "" = not known
	Now      protocol.Time // of the scene's clock; 0 = not known: the message's own time counts
}

// Verdict is what becomes of a message. The zero value delivers it in the
// control lane; begin with [Begin].
//
// It is four fields and four words, which is what the compiler keeps in
// registers: a fifth makes a chain of four cost 120 ns and not 20.
type Verdict struct {
	Action Action
	Lane   Lane
	Reason string        // of a drop; the key of a merge; otherwise a mark on the delivery
	Until  protocol.Time // of a delay
}

// Key names what a merge replaces: one message waits under a key for a receiver.
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

// In moves the message to a lane and says why.
func (v Verdict) In(l Lane, reason string) Verdict {
	v.Lane, v.Reason = l, reason
	return v
}

// Marked delivers the message, and says that something was noticed.
func (v Verdict) Marked(reason string) Verdict {
	v.Reason = reason
	return v
}

// Delay asks to hold the message back; of two delays the later counts. Only the
// channel can.
func (v Verdict) Delay(until protocol.Time) Verdict {
	v.Action, v.Until = Delay, max(v.Until, until)
	return v
}

// Merge asks to replace the message that waits under the same key for the same
// receiver. Only the channel can.
func (v Verdict) Merge(key string) Verdict {
	v.Action, v.Reason = Merge, key
	return v
}

// Middleware judges a message. It gets the verdict of those before it and
// returns its own: v unchanged when it has nothing to say. It may be asked by
// many goroutines at once, and must be a pure function of its configuration and
// its arguments. It keeps nothing of the message.
type Middleware interface {
	Judge(m Message, v Verdict) Verdict
}

// Func is a function as a Middleware.
type Func func(m Message, v Verdict) Verdict

// Judge implements Middleware.
func (f Func) Judge(m Message, v Verdict) Verdict { return f(m, v) }

// Chain asks middlewares in their order. It is a Middleware itself.
type Chain []Middleware

// Judge implements Middleware. Once a message is dropped, nobody else is asked.
func (c Chain) Judge(m Message, v Verdict) Verdict {
	for _, mw := range c {
		if v.Action == Drop {
			break
		}
		v = mw.Judge(m, v)
	}
	return v
}

// Begin is the verdict before any middleware was asked.
func Begin(m Message) Verdict { return Verdict{Lane: LaneOf(m.Envelope)} }

// Decide is the chain's verdict about a message. One that names no lane there is
// ends in the last but one: a middleware's defect costs order and no message.
func (c Chain) Decide(m Message) Verdict { return c.finish(m, Begin(m)) }

// finish is the verdict after those before the chain.
func (c Chain) finish(m Message, v Verdict) Verdict {
	v = c.Judge(m, v)
	if v.Lane >= Lanes {
		v.Lane = Low
	}
	if v.Action == Drop && v.Reason == "" {
		v.Reason = ReasonUnnamed
	}
	return v
}
