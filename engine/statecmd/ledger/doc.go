// Package ledger keeps the idempotency keys that were used on a document, and the
// timers of its values that expire.
//
// [Keys] and [Timers] are values: Share and Frozen give a copy in constant time,
// and the next write to either side copies a few nodes of a tree. Everything is
// ordered, so that equal histories have equal contents in equal order.
//
// # Not here
//
// What a command does, when time passes.
package ledger
