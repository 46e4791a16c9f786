// Package delivery judges one message on its way to one receiver.
//
// You hold a [Message] and a [Chain] of [Middleware]. [Chain.Decide] decides what
// happens to the message: whether it is delivered, in which lane, and why not. It
// delivers nothing. The event channel (engine/bus) calls it when it routes an
// event, and a mailbox (actors) when it receives an envelope. Both accept the same
// middlewares, including those of a user.
//
// # Promises
//
//  1. The answer depends on the message and the middlewares alone. A middleware
//     that keeps a counter, asks a clock or draws chance breaks this: state from
//     earlier messages belongs to the channel.
//  2. A chain begins with [Begin]: deliver, in the lane of the message's kind and
//     priority. Middlewares are asked in their order; the first drop ends it.
//  3. A drop always has a reason. The built-in ones use the words of
//     event.refused (docs/formats/facts.md).
//  4. The built-in middlewares allocate nothing.
//  5. The [Plan] of a chain gives the same answers as the chain, for less.
//  6. A chain panics with a [Panic], which names the middleware that panics.
//
// # The effect of a verdict
//
//	             the channel, before          a mailbox, when the
//	             the event is a fact          envelope reaches it
//	Deliver      a receiver                   queued in Lane
//	Drop         a mark or event.refused      a dead letter with Reason
//	other Lane   the priority of that lane    queued there
//	Reason kept  a mark on the delivery       nothing: the journal has the channel's
//	Delay        not before Until             delivered at once
//	Merge        with events under Key        delivered on its own
//
// A mailbox has no clock and does not search its queue: a delay or a merge that
// depended on the current queue could not be replayed. The mailbox therefore
// delivers what it cannot delay or merge. A middleware that delays or merges
// belongs to the channel's chain; one that drops may be in both.
//
// # The loop rule
//
// An agent has handled a type once for every link of that type in the chain
// after which it published the next ([Handled]). It would loop if it is about
// to hear a type that it has handled more than MaxRevisits times in the same
// chain.
//
// # Not here
//
// The receivers of an event (engine/bus), rates and windows over several events
// (the channel's state), queues and their capacity (actors).
package delivery
