// Package statecmd carries out state commands 2.0 on world documents.
//
// An [Engine] contains the rules. A [State] is a value: documents, the memory of
// idempotency keys and the timers of expiring values. [Engine.Decide] carries out a
// batch and returns facts, results, warnings and the next state. [Engine.Advance]
// lets time pass. [Engine.Restore] restores a record from the recycle bin.
// [Engine.Apply] folds a fact. A [Mount] maps a key prefix to a document, so one
// engine serves saved games, worlds and private state.
//
// # The pipeline of an entry
//
//  1. the entry is well-formed            2. its action is known
//  3. key: text, prefix, path, reserved segments
//  4. types of the options, conflicts between them, a required value
//  5. idempotency (skip)
//  6. ifMissing, ifExists, ifEquals: all must hold, else skip
//  7. ifVersion
//  8. the change, on a private copy       9. schema, permissions, sizes
//  10. expect
//  11. versions, timers, idempotency record, audit
//
// A failure in 8 to 10 leaves the document as it was before the entry.
//
// # Promises
//
//  1. Every entry has one result with a status and a code; nothing is dropped
//     without a result or a warning.
//  2. A rejected or skipped entry changes no document, timer or idempotency
//     record.
//  3. A transaction is all or nothing over every document that it touches.
//  4. A later entry sees the changes of earlier entries.
//  5. Deciding changes nothing. Folding the facts gives the same state, byte for
//     byte ([State.AppendSnapshot]).
//  6. Time, ids and order come with the input: the same input gives the same
//     bytes.
//
// # Not here
//
// The written form of commands (package command), the document (package world),
// actors, files, the flags of the command line. Package statecmd imports world
// because commands are a vocabulary on top of it.
package statecmd
