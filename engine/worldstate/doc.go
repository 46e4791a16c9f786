// Package worldstate is the machine of the world state service, the only owner of a scene's
// world. It decides about all changes of the world.
//
// A [Machine] contains the rules. A [State] is a value: the world document, the
// memory of state commands (idempotency keys, timers), and the leases.
// [Machine.Decide] takes the requests of a wave in the scene's order and returns
// facts and the next state; [Machine.Apply] folds a fact. The facts name the agent that
// gets an answer, the answer, and whether it wakes the agent ([protocol.Answering]).
//
// A [Request] has one of four forms: a plain change (package world), a batch of
// state commands (package statecmd), a request for a lease, the end of a lease.
//
// # Promises
//
//  1. Requests count in the order in which they come. Neighbouring changes form
//     one commit; a batch or a lease ends it.
//  2. Everything that has expired by the moment of the wave is removed before the
//     first request: leases, then timers.
//  3. Every request leaves facts that contain its whole answer: after a restart
//     the fold gives the same observations.
//  4. A lease excludes other agents, for commands and plain changes alike, and never the scene. It needs the
//     right to write all that it covers. No agent waits for a lease: a request against one is refused at once.
//  5. A snapshot and the facts after it give the same state, byte for byte.
//  6. No fact is larger than a journal takes. A larger commit is split between transactions into
//     several; a single transaction or batch that is too large is refused with the code limit.
//
// # Not here
//
// The actor and its mailbox, waking, events (package scenes); the form of a tool
// call (package agent).
package worldstate
