// Package bus decides which agents hear an event, and when. It is the machine of a
// scene's event channel; it delivers nothing.
//
// You hold a [State], made by [New] from the scene's configuration and its
// subscribers: agents by ordinal, 0 to n-1, each with an instance id. You ask
// [State.Decide] about one [Request] at a time, and must pass its facts to
// [State.Apply], in order, before the next request; a decision that is not applied
// did not happen. Before each request, and at [State.NextDue], you must call
// [State.Release] until it returns nil.
//
// # Promises
//
//  1. Decide and Release change nothing, and their answers depend on the state
//     and the input alone. Folding the facts over a new State, or over a
//     snapshot, gives the same state.
//  2. Every published event gives one fact, in the given order: event.routed or
//     event.refused. A refusal contains its reason, the causal chain and the
//     body, so that the event can be published again.
//  3. A fact names a receiver at most once per event, however many of its
//     subscriptions match, in the order of ordinals: either among the receivers
//     that hear it at once, or in one hold. A publisher with a matching
//     subscription hears its own event.
//  4. The time for an event depends on the subscriptions that match its type, as
//     runs of neighbouring ordinals, not on all subscriptions. The time for a
//     change of the world depends on the patterns that it touches. A filter that
//     reads self costs one evaluation per subscriber of that filter, except in
//     the forms "X === self.instance_id && …", which costs one, and
//     "X === self.place && …", which costs those in that place. Any other filter
//     costs one evaluation, however many subscribers share it.
//  5. A filter that fails at run time does not match. The fact counts the
//     failures, and the Verdict describes them.
//  6. A held event is released once: at its time, or when its subscription has
//     been quiet, at the latest after Most. If it expired meanwhile, the release
//     has a mark.
//  7. Everything is bounded: see [Config] and the constants. The channel refuses
//     what exceeds a bound; an event that a debounce has no room to hold is heard
//     at once.
//  8. The channel keeps nothing per subscriber, except changes made while the
//     scene runs, and values that filters with self asked for.
//  9. The id of an event of a turn names publisher, turn and the number of the event
//     in the turn, and depends on nothing else; the id of any other event is
//     its number. Ids are unique. You give the requests of a turn one after the
//     other, with no snapshot between them. A trace has the id of the event that began it.
//  10. A change of an agent's subscriptions costs the number of its own subscriptions. At worst it
//     moves the runs of agents with the same subscription: in memory or, if an event has
//     them, into a copy.
//
// # The chain
//
// docs/formats/events.md lists the rules, their order and the loop rule
// (engine/bus/delivery).
//
// # Not here
//
// Mailboxes and lanes (actors), inboxes and acknowledgement (engine/agent), dead
// letters (views that list the refusals).
//
// The package imports engine/expr, the language of filters, engine/world, the
// grammar of paths, and its own parts: delivery (middleware), throttle (rates),
// paths (the index of patterns), filter, team (groups), naming (ids).
package bus
