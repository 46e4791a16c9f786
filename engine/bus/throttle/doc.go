// Package throttle counts events against rules: so many in so long, per type,
// per source or for the whole scene.
//
// You hold a [Table], made by [New] or [Restore]. You owe [Table.Take] every
// event that was let through, in order; [Table.Judge] says beforehand what is to
// become of it and changes nothing.
//
// # Promises
//
//  1. A window opens with the first event that is let through after the one
//     before has passed. No window lets through more than Max.
//  2. A rule that delays moves an event to the start of the next window that has
//     room, at most [MaxWindows] windows away; what would wait longer is dropped.
//  3. Of several rules that an event breaks, drop goes before delay, delay
//     before deprioritize; of several delays the latest counts.
//  4. Judge and Take depend on the events that were taken and on the rules
//     alone. A table that was stored and restored goes on as the one before.
//  5. A rule has at most Keys counters. When they are all taken and none has run
//     out, further types or sources share one.
//
// # Not here
//
// Facts, events, and who may set a rule: they are the channel's (engine/bus).
package throttle
