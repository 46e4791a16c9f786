// Package limit decides which calls of an endpoint may leave, and when. A [Machine] is
// a value without clock, goroutine, lock or chance: calls, their ends and the time
// come in; what leaves, what is refused and the time of the next wake come out. Package
// gate is its shell.
//
// # Rules
//
//   - Rates. In any minute at most so many requests and tokens leave: a tenth of them at
//     once (one call at least), the rest at an even pace. For a minute after calls that left at once the pace is that of what
//     they left over, so that no silent gap follows, and then the next tenth at once. Tokens are reserved by the estimate, and corrected when the call ends. A
//     call larger than the whole rate leaves alone. Limits that the endpoint reports ([Hints])
//     override the options if they are lower. If only refusals report them,
//     only their Retry-After counts: no later answer would correct the rest.
//   - Concurrency begins with 8. It grows by one after as many successes as it has slots, while
//     all slots are used. After a failure by load (rate_limited, timeout) it shrinks to
//     0.7, once for all calls that had left by then. With [Options.Fixed] it begins with all slots, shrinks only after refusals without a Retry-After, which nothing
//     else would spread, and grows by one after 8 successes.
//   - Retry-After shuts the gate for all. Then it opens with 1, 2, 4 … calls.
//   - Random failures are no load. An endpoint that refuses or loses a share of all calls, however few
//     are in flight, would be shut nearly always and end with two slots. So a failure by load
//     shrinks or shuts the gate only if such failures are more frequent than usual:
//     their share of the last 16 ends or so must be above twice that of the last 128
//     (counted as 0.25 at most) plus 0.05. If nothing failed before and few calls are in flight, the first failure
//     counts. Calls that left together end in an order of their own: refusals first, and time-outs last, when few
//     calls are left in flight. Therefore the first share covers at least as many ends as the most calls that were
//     in flight lately, and the second four times that number. A Retry-After always shuts the gate if the endpoint said that a
//     rate is used up.
//   - Classes. The highest class that waits leaves first. A lower one that waits gets one
//     of 16 releases. A share of the slots is kept for interactive calls. Within a class
//     scenes take turns; a scene's calls leave by [Rank], those of one rank in their order.
//   - Shares. The calls of a group ([Call.Group]) in flight use at most its share of the slots, and at
//     least one. Calls that wait for the share let others pass. A share is a ceiling: others may use the group's
//     free slots, but the group may not use theirs.
//   - Repetitions. A call whose attempt failed by rate_limited, timeout, server_error or truncated is
//     sent again, at most 4 times and before its deadline; a refusal (rate_limited) does not count among these, up to 16 times,
//     if the endpoint answered another call since this one arrived or was last refused. It is sent after the hint and a pause that
//     is drawn evenly from 0 to 0.5 s. The bound doubles, to 1 s, 2 s, 4 s, with each attempt of the call that failed by
//     server_error or truncated, by a rate_limited that counts and has no Retry-After or one of 0, by rate_limited or timeout while these are more
//     frequent than usual, or before 128 calls have ended. The chance is the call's own, so a
//     replay is equal and calls that failed together do not come back together.
//   - Circuit. Five failures in a row (timeout, server_error, truncated) within 10 s open it
//     for 10 s, if they are of more than one call and at least a quarter of the calls in flight. A failure counts only if no call that
//     left as late was answered: of calls that left together time-outs end last. Then one call tries. If that fails, the circuit stays open for twice as
//     long, at most 1 minute. Waiting calls keep waiting until their deadlines.
//   - quota and auth close the endpoint: everything is refused until [Machine.Reopen].
//
// # Bounds
//
// At most [Options.Queue] calls wait; then the newest of the lowest class is refused. The
// rates remember at most 6,000 moments of the last minute. A hint of Retry-After or of a
// reset counts for at most an hour.
package limit
