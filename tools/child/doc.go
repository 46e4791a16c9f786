// Package child runs programs that outlive a call. They run in the sandbox, speak JSON-RPC with one
// message a line, and are started again after a failure.
//
// [Start] starts one, [Keep] keeps one for many callers.
//
// # Promises
//
//  1. A program runs in the sandbox, or not at all. Nothing of it is left after
//     [Process.Cut], or after [Keeper.Close] if a Keeper has it.
//  2. Its output is bounded before it is stored: [MaxMessage] a message. Of an answer that is up to eight times
//     longer only the id is kept, so that its request fails. Unsolicited messages between two answers, including reports of
//     progress, are bounded to 10,000 or 64 MiB, and 100 or 64 KiB more for each
//     second between them. The engine waits at most 5 s for a program that does not read.
//     It keeps the last 64 KiB of the standard error.
//  3. An answer reaches its caller once. An unsolicited, second or late answer
//     is dropped. The last 1,000 abandoned requests may
//     still be answered; the answer to an older one counts as unsolicited.
//  4. A line that is no single value, or a message with a duplicate name, ends the program.
//  5. After a failure a [Keeper] opens the next session after a pause, 1 s and then twice as
//     long up to 60 s. After five failures in a row, without an answer between them, it opens none.
//
// # Not here
//
// The meaning of the messages (tools/mcp, tools/rpc).
package child
