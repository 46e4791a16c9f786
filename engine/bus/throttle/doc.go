// Package throttle counts events against rules: a maximum per window, per type,
// per source or for the whole scene.
//
// You hold a [Table], made by [New] or [Restore]. You must pass every event that
// was let through to [Table.Take], in order. [Table.Judge] gives the verdict
// beforehand and changes nothing.
//
// # Promises
//
//  1. A window opens with the first event that is let through after the previous
//     window has ended. No window lets through more than Max unchanged.
//  2. A rule that delays moves an event to the start of the next window that has
//     room, at most [MaxWindows] windows away. An event that would wait longer is
//     dropped.
//  3. If an event breaks several rules, drop has precedence over delay, and delay
//     over deprioritize; of several delays the latest counts.
//  4. Judge and Take depend on the taken events and on the rules alone. A table
//     that was stored and restored behaves like the original.
//  5. A rule has at most Keys counters. If all are in use and none has expired,
//     further types or sources share one.
//
// # Not here
//
// Facts, events, and the permission to set a rule: engine/bus.
package throttle
