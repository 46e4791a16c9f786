// Package bus decides who hears an event, and when. It is the machine of a
// scene's event channel; it delivers nothing.
//
// You hold a [State], made by [New] from the scene's configuration and its
// subscribers: agents by ordinal, 0 to n-1, each with an instance id. You ask
// [State.Decide] about one [Request] at a time and owe [State.Apply] its facts,
// in order, before you ask again; what was decided and not applied did not
// happen. You owe [State.Release] a call, until it returns nil, at every moment
// at which you ask anything, and at [State.NextDue].
//
// # Promises
//
//  1. Decide and Release change nothing, and their answers depend on the state
//     and the input alone. Folding the facts over a new State, or over a
//     snapshot, gives the same state.
//  2. One fact per published event, in the order given: event.routed or
//     event.refused. A refusal carries its reason, the causal chain and the
//     body, so that it can be published again.
//  3. A receiver is named at most once per event, however many of its
//     subscriptions match, in the order of ordinals: among those who hear it at
//     once, or in one hold. The publisher hears its own event when it subscribed
//     to it.
//  4. An event costs time by the subscriptions that match its type, as runs of
//     neighbouring ordinals, not by all there are; a change of the world by the
//     patterns that it touches. A filter that reads self costs one evaluation
//     per subscriber of that filter, except in the shape
//     "X === self.instance_id && …", which costs one; any other filter costs one
//     evaluation, however many share it.
//  5. A filter that fails at run time does not match; the failures are counted
//     in the fact and described in the Verdict.
//  6. What is held is released once: at its moment, or when its subscription has
//     been quiet, at the latest after Most. What expired meanwhile is a mark.
//  7. Everything is bounded: see [Config] and the constants. What is beyond a
//     bound is refused; what a debounce has no room to hold is heard at once.
//
// # The chain
//
// Form, depth, expiry, size, schema and throttle judge the event; subscriptions,
// the loop rule, the scene's middleware and debounce its receivers; the room of
// the moment comes last. docs/formats/events.md describes each.
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
// Mailboxes and lanes (actors), inboxes and acknowledgement (engine/agent), dead
// letters (they are the refusals, listed by whoever reads the journal).
//
// The package imports engine/expr, the language of filters, engine/world, the
// grammar of paths, and its own parts: verdict (middleware), throttle (rates),
// paths (the index of patterns).
package bus
