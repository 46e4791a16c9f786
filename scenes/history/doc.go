// Package history reads a scene's journal into the state at any wave, and appends
// to the journal of a scene that is not running.
//
// [Fold] returns the state at the end, [FoldTo] the state at any wave, [Agent] one
// agent alone. [Find] finds the wave that a text names, [Start] and [End] the start
// of the scene and the reason of its end. [Fork] and [Redeliver] append one wave.
//
// # Promises
//
//  1. Reading asks no model and writes nothing; the journal may be open for
//     reading only.
//  2. Memory depends on the size of the scene, not on the length of its journal.
//  3. A bad snapshot costs time but never gives a wrong state: the previous one is
//     used, or the first fact. If the facts before a snapshot were dropped and no
//     snapshot is good, the error has the kind not_found.
//  4. An append adds one whole wave or nothing; it is durable on return.
package history
