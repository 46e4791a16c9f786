// Package inspect reads what happened in a run out of its directory: who did
// what, when, why, and what became of it.
//
// [Open] opens a run directory for reading and [Run.Scene] one scene of it. Every
// view is a method of the [Scene] that returns a value with a JSON form
// (docs/formats/inspect.md) or hands lines over one by one. You owe [Run.Close].
//
// # Promises
//
//  1. Nothing is written and nobody is asked: facts are read and folded. The one
//     exception is [Redeliver], which says so in its name and opens for itself.
//  2. Memory depends on the size of the scene and on what is asked for, not on the
//     length of the run: lists are handed over while they are read, "the most
//     active" are kept in heaps of a fixed size.
//  3. The same run gives the same answer, in the same order.
//  4. What does not exist is reported with kind not_found and the nearest names.
//  5. Values under the names of secrets are hidden (engine/secret).
//
// # Not here
//
// Tables, colours and flags: they are cmd/simd's. Two runs: scenes/compare.
package inspect
