// Package ledger keeps the used idempotency keys of a document, and the
// timers of its expiring values.
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
// The effects of commands; the passing of time.
package ledger
