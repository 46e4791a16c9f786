// Package child keeps programs that outlive a call: in the sandbox, speaking JSON-RPC with a
// message a line, started again after a failure.
//
// [Start] starts one, [Keep] keeps one for many callers.
//
// # Promises
//
//  1. A program runs in the sandbox, else not at all. Nothing of it is left after
//     [Process.Cut], and of a kept one after [Keeper.Close].
//  2. What it sends is bounded before it is kept: [MaxMessage] a message, and of an answer up to eight times as
//     long the id alone, so that what was asked fails; and 10,000 messages
//     or 64 MiB that nobody asked for between two answers, and 100 or 64 KiB more for each
//     second between them: reports of a call about how far it is are among them. A program that does not read is not
//     waited for longer than 5 s. Of what it writes to its standard error the last 64 KiB
//     are kept.
//  3. An answer reaches the asker once. One to something that nobody asked, a second one, and
//     one that comes too late reach nobody. Of requests that were given up the last 1,000 may
//     still be answered; the answer to an older one is one that nobody asked for.
//  4. A line that is no single value, or a message that has a name twice, ends the program.
//  5. After a failure a [Keeper] opens the next session after a pause, 1 s and then twice as
//     long up to 60 s; after five failures in a row, without an answer between them, none.
//
// # Not here
//
// What the messages mean (tools/mcp, tools/rpc).
package child
