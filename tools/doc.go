// Package tools carries out calls of tools that leave the process.
//
// An [Executor] makes one attempt of a call. [Run] makes a call of it: it repeats attempts,
// bounds the time, turns a panic into an error and makes the output one that can be kept.
// The caller of Run gives the idempotency key ([Key]) and whether the call may be repeated.
//
// # Promises
//
//  1. A call that must not be repeated is attempted a second time only if nothing of the
//     attempt before can have begun ([Result.Unsent]). If nobody knows what came of it, its
//     status is unknown.
//  2. All attempts of a call have one key and share one time-out.
//  3. A panic of an executor is an error of the call. Run returns soon after its context
//     ends, if the executor does.
//  4. The output of a result has at most [MaxOutput] bytes as JSON; what is longer becomes
//     a text with its beginning and its end, which says how much is left out. What is nested
//     deeper than protocol.MaxNested becomes its JSON as a text. No text in it has a
//     control character, or a call that a grammar of calls would read.
//  5. What a model will not see of an output, and every file in an answer, becomes an
//     artifact if the caller keeps them ([Options.Keep]), after secrets were taken out. If
//     it cannot be kept, the call has failed.
//
// # Not here
//
// Which tools an agent may call; parameters, which are checked before; slots; records.
// Executors are packages below this one; tools/toolstest tests them.
package tools
