// Package ledger keeps the idempotency keys that were used on a document, and the
// timers of its values that expire.
//
// [Keys] and [Timers] are values: Share and Frozen give a copy in constant time,
// and the next write to either side copies a few nodes of a tree. Everything is
// ordered, so that equal histories have equal contents in equal order.
//
// The timer of a list element keeps the element or fields of it. [Expiring] finds the
// element of a timer, and [Leaving] the timer of an element.
//
// # Not here
//
// What a command does, when time passes.
package ledger
