// Package store keeps answers of models for later runs, for requests at temperature 0
// (docs/formats/providers.md).
//
// The caller opens the database, gives the store to the runs of one process, and closes
// it.
//
// # Promises
//
//  1. A stored answer is given to the same question to the same model in a
//     run of a later process, unchanged, with its calls, tokens and cost.
//  2. A process sees only the answers that were there when it opened the store, so a run never sees its own
//     answers again. The answers to a run therefore do not depend on timing, and an interrupted run
//     gets the same ones.
//  3. The first answer to a question stays.
//  4. An answer in which this program finds a secret is not kept, nor is a failure, a filtered
//     answer, or one of more than MaxAnswer.
//  5. A full store keeps nothing more. A store that cannot be read or written is no longer
//     used. Both are reported once, and requests go to the model.
//
// # Not here
//
// The database and its lock (scenes/run/runner), and requests to models (llm/models).
package store
