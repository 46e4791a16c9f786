// Package worldstate is the machine of the world state service: the one owner
// of a scene's world, and what it answers.
//
// A [Machine] holds the rules, a [State] is a value: the world document with what
// state commands remember beside it (idempotency keys, timers), and the leases.
// [Machine.Decide] takes the requests of a wave in the scene's order and returns
// facts and the next state; [Machine.Apply] folds a fact; [AnswerOf] tells who is
// owed an answer to a fact, what it says and whether it wakes.
//
// A [Request] is one of four: a plain change (package world), a batch of state
// commands (package statecmd), a wish for a lease, the end of one.
//
// # Promises
//
//  1. Requests count in the order in which they come. Neighbouring changes are
//     one commit; a batch or a lease ends it.
//  2. What has expired by the moment of the wave is gone before the first
//     request is looked at: leases, then timers.
//  3. Every request leaves facts from which its whole answer can be told: after
//     a restart the fold gives the same observations.
//  4. A lease keeps others out, for commands and plain changes alike. Nobody
//     waits, so nobody can wait for ever.
//  5. A snapshot and the facts after it give the same state, byte for byte.
//
// # Not here
//
// The actor and its mailbox, waking, events (package scenes); what a tool call
// looks like (package agent).
package worldstate
