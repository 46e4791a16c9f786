// Package inspect reads what happened in a run from its directory: the actions of
// agents, their times, reasons and effects.
//
// [Open] opens a run directory for reading and [Run.Scene] one scene of it. Every
// view is a method of the [Scene] that returns a value with a JSON form
// (docs/formats/inspect.md) or passes lines on one by one. You must call [Run.Close].
//
// # Promises
//
//  1. A view writes nothing and asks no model: it reads and folds facts.
//     [Redeliver] is the exception: it opens the run for writing.
//  2. Memory depends on the size of the scene and on the request, not on the
//     length of the run: lists are passed on while they are read, and "the most
//     active" are kept in heaps of a fixed size.
//  3. The same run gives the same answer, in the same order.
//  4. If something does not exist, the error has the kind not_found and the
//     nearest names.
//  5. Values under the names of secrets are hidden (engine/secret).
//  6. A view that may read the newest facts alone (Newest) reads a bounded number of them,
//     however long the run is, if the run has notes (scenes/machines).
//
// # Not here
//
// The changes of each actor (scenes/view/audit), artifacts (scenes/view/artifacts), trips
// (scenes/view/trips), two runs (scenes/view/compare); tables and colours (internal/show), flags
// (cmd/simd).
package inspect
