// Package history reads a scene's journal into the state that it led to, and adds
// to the journal of a scene that nobody runs.
//
// [Fold] is the state at the end, [FoldTo] that of any wave, [Agent] one agent
// alone. [Find] finds the wave that a text means, [Start] and [End] when the
// scene began and why it ended. [Fork] and [Redeliver] append one wave.
//
// # Promises
//
//  1. Reading asks nobody and writes nothing; the journal may be open for reading
//     only.
//  2. Memory depends on the size of the scene, not on the length of its journal.
//  3. A bad snapshot costs time, not truth: the one before it is taken, or the
//     first fact. Where the facts before a snapshot were dropped and no snapshot
//     is good, that is an error of kind not_found.
//  4. What is appended is one whole wave, or nothing; it is durable on return.
package history
