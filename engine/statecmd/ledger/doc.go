// Package ledger holds what stands beside a document while commands are carried
// out on it: the idempotency keys that were used and the timers of what expires.
//
// [Keys] and [Timers] are values: Share and Frozen give a copy in constant time,
// and the next write to either side copies a few nodes of a tree. Everything is
// ordered, so that equal histories have equal contents in equal order.
//
// # Not here
//
// What a command does, when time passes.
package ledger
