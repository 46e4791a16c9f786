// Package bus decides who hears an event. It is the machine of a scene's event
// channel; it delivers nothing.
//
// You hold a [State], made by [New] from the scene's configuration and its
// subscribers: agents by ordinal, 0 to n-1, each with an instance id. You owe
// [State.Apply] every fact that [State.Decide] and [State.Change] returned, in
// order, once it is to be kept; what was decided and not applied did not happen.
//
// # Promises
//
//  1. Decide changes nothing, and its answer depends on the state and the input
//     alone. Folding the facts over a new State, or over a snapshot, gives the
//     same state.
//  2. One fact per published event, in the order given: event.routed or
//     event.refused. A refusal carries its reason, the causal chain and the
//     body, so that it can be published again.
//  3. A receiver is named at most once per event, however many of its
//     subscriptions match, in the order of ordinals. The publisher hears its own
//     event when it subscribed to it.
//  4. An event costs time by the subscriptions that match its type, as runs of
//     neighbouring ordinals, not by all there are. A filter that reads self
//     costs one evaluation per subscriber of that filter, except in the shape
//     "X === self.instance_id && …", which costs one; any other filter costs one
//     evaluation, however many share it.
//  5. A filter that fails at run time does not match; the failures are counted
//     in the fact and described in the Verdict.
//  6. Everything is bounded: see [Config]. What is beyond a bound is refused.
//
// # The loop rule
//
// An agent has handled a type once for every link of that type in the chain
// after which it published the next. When it would hear a type that it has
// handled more than MaxRevisits times in the same chain, the channel drops the
// delivery, lowers the event's priority for it, or only marks it.
//
// # Not here
//
// Mailboxes, lanes, throttling of deliveries, redelivery, dead letters (they
// are the refusals, listed by whoever reads the journal).
//
// The package imports engine/expr, the language of filters.
package bus
