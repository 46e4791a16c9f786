// Package town compares schedules on traces of towns, in virtual time.
//
// You make a [Trace] by [Generate], or read one by [Read], and give it to [Compare].
// A trace has the position of every agent and the calls of each turn, whatever the order
// in which turns are computed. So all schedules do the same work, and differ only in
// which turn waits for which.
//
// # Promises
//
//  1. Equal arguments give equal results, on every machine. Nothing waits for the
//     wall clock.
//
//  2. Tracked and speculative are the machine of engine/schedule, driven as an engine
//     drives it; there is no second policy.
//
//  3. A turn that ran ahead perceives others at their predicted positions. If a prediction was
//     wrong, its calls are made again, and the earlier ones are
//     counted as wasted. So no schedule gains by being wrong.
//
//  4. All schedules give slots to calls in the same order: by step, then by the calls
//     that the turn is still expected to make.
//
// # What is not modelled
//
// The time of the engine itself, which package played shows; model servers that get slower
// under load; turns that would have made other calls because they ran ahead.
//
// A trace and its results are in memory; bounds are in Read. One goroutine at a time.
package town
