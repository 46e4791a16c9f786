// Package store keeps answers of models beyond a run, for questions to which any answer will
// do: those at temperature 0 (docs/formats/providers.md).
//
// The caller brings the database, gives the store to the runs of one process, and closes
// it.
//
// # Promises
//
//  1. An answer that was kept is given to the same question to the same model, by another
//     run of a later process: it is as it came, with its calls, tokens and cost.
//  2. A process sees what was there when it opened the store, and a run never sees its own
//     answers again. So what a run is given depends on no timing, and an interrupted run is
//     given what it would have been given otherwise.
//  3. The first answer to a question stays.
//  4. An answer in which this program sees a secret is not kept, nor is a failure, a filtered
//     answer, or one of more than MaxAnswer.
//  5. A store that is full keeps nothing more. One that cannot be read or written is not used
//     any more. Both are told once, and asking goes on.
//
// # Not here
//
// The database and its lock (scenes/run/runner), and asking (llm/models).
package store
