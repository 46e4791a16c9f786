// Package tools carries out calls of tools that leave the process.
//
// An [Executor] makes one attempt of a call. [Run] makes the whole call: it repeats attempts,
// bounds the time, turns a panic into an error and bounds and cleans the output.
// The caller of Run gives the idempotency key ([Key]) and whether the call may be repeated.
//
// # Promises
//
//  1. A call that must not be repeated is attempted a second time only if the
//     attempt before cannot have begun ([Result.Unsent]). If its outcome cannot be determined, its
//     status is unknown.
//  2. All attempts of a call have one key and share one time-out.
//  3. A panic of an executor is an error of the call. Run returns soon after its context
//     ends, if the executor does.
//  4. The output of a result has at most [MaxOutput] bytes as JSON; a longer one becomes
//     a text with its beginning and its end, which says how much is left out. A value nested
//     deeper than protocol.MaxNested becomes its JSON as a text. No text in it has a
//     control character, or a call that a grammar of calls would read.
//  5. An output that a model will not see whole, and every file in an answer, becomes an
//     artifact if the caller keeps them ([Options.Keep]), after secrets were masked. If
//     the artifact cannot be kept, the call fails.
//
// # Not here
//
// Which tools an agent may call; the check of parameters; slots; records.
// Executors are packages below this one; tools/toolstest tests them.
package tools
