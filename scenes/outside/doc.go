// Package outside carries out the requests of a scene's agents to the outside, and
// records requests and answers, so that a kill causes no repeated request.
//
// A [Runner] has a table of executors ([Entry]), one for each kind of request. A
// request passes a gate (package gate), then the executor carries it out. An executor has a
// gate of fixed width; a model provider may bring the gates of its endpoints
// (gate.Gated), which all scenes of the process share and which may send a request
// again. A request that waits, for its gate or for the log, is a value; it has a goroutine
// while the executor carries it out. It ends with the deliberation that made it.
// Requests leave through a [Log]: a
// request that must not be repeated, goes to a model or is under a budget is durable before it leaves, and every answer before
// the agent receives it. An [Instant] executor is called inline; it passes no gate and is not
// recorded.
//
// A deliberation in flight is volatile. After a kill it begins again, from the
// same inbox and with the same chance, and makes the same requests; it finds
// the earlier answers in the log. Entries of the log are not facts of the
// scene: they are not in the digest, and nothing is folded from them. When the turn
// that made them is durable, they are obsolete and are dropped.
//
// [Open] makes a log on a separate journal ([JournalID]) in the scene's store, so
// that it has the scene's durability and shares its commits. You call
// [Log.Ended] when a turn is merged and [Log.Kept] when a wave is durable, and must
// call Close after [Runner.Wait]. Shadows (package shadows) make requests for turns that have not
// begun ([From.Ahead]). The turn itself finds such an entry if question and time are the same, and a
// shadow never takes an entry of the turn. [Log.Shadows] counts them. A nil Log keeps nothing and is for scenes whose
// executors are all instant.
//
// # Promises
//
//  1. An executor is called only after the request is durable, unless it is no model and the request may be repeated and is
//     under no budget: such a request is kept with its answer, in one wave. So a tool_budget costs one more commit for each call. The agent receives an answer only after that is durable.
//  2. The same request of the same turn (agent, turn, number, question) is
//     carried out once if its answer was recorded: later requests get that answer.
//     While the first request is in flight, they wait for it.
//  3. A request without an answer is carried out again only if it was marked as
//     repeatable when it was made. Otherwise it fails with
//     protocol.KindUnknownOutcome: the entry of a request that must not be
//     repeated is never used a second time, whatever the question.
//  4. A request with a different question from the log's is a new request,
//     if the old one may be repeated.
//  5. If the log cannot be written, [Options.Failed] is called once and no request
//     ends before its context does: nothing acts on an unrecorded answer.
//  6. Obsolete entries are dropped in steps of [Options.DropBytes]; memory is a few
//     hundred bytes per request of an open turn, without the answers.
//  7. A request under a budget that left without a kept answer is known until its turn is
//     durable, with its upper bound and its last endpoint ([Log.Lost], [Log.Out]). So is the cost of a kept
//     answer that the turn does not take ([Log.Left]).
//  8. Of requests that are alike (llm.Sharing) one is sent while it has no answer. The others wait for the answer as values,
//     and keep it as their own; later ones get it at once. A failure is shared with nobody.
//
// # Limits
//
// A runner keeps 32 MiB of answers for requests that are alike. A request waits at its gate for at most an hour. Each attempt ends after the time that
// its node allows, 10 minutes by default. An executor that has not returned 2 s after that is stuck: it keeps a goroutine, and
// its slot is given to others. There are at most as many of these as the gate has slots at
// most; while there are that many, further requests are refused as transient. A panic
// of an executor is the failure of that request.
//
// # Not here
//
// Limits, order and repetitions, which the gate decides; and the meaning of requests.
package outside
