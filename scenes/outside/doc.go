// Package outside carries out what the agents of a scene ask of the outside, and
// keeps what was asked and answered, so that a kill does not make it ask twice.
//
// A [Runner] has a table of executors ([Entry]), one for each kind of requests. An
// executor has so many slots; a request waits for one, then for the executor, and
// ends with the deliberation that asked. What leaves goes through a [Log]: a request
// is durable before it leaves, its answer before anybody hears it. An [Instant]
// executor is asked inline and is not recorded.
//
// A deliberation in flight is volatile. After a kill it begins again, from the
// same inbox and with the same chance, and comes to the same requests; it finds
// the answers of the first time in the log. What stands there is no fact of the
// scene: it is not in the digest, nothing is folded from it, and when the turn
// that asked is durable it means nothing any more and is dropped.
//
// A log is made by [Open] on a journal of its own ([JournalID]) in the scene's
// store, so that it has the scene's durability and shares its commits. You call
// [Log.Ended] when a turn is merged, [Log.Kept] when a wave is durable, and owe
// Close after [Runner.Wait]. A nil Log keeps nothing and is for scenes whose
// executors are all instant.
//
// # Promises
//
//  1. An executor is asked only after the request is durable, and the agent hears
//     an answer only after that is durable.
//  2. The same request of the same turn (agent, turn, number, question) is
//     carried out once if its answer was kept: later ones get that answer.
//     While the first is still out, they wait for it.
//  3. A request without an answer is carried out again only if it was said, when
//     it was made, that it may be repeated. Otherwise it fails with
//     protocol.KindUnknownOutcome: a place that was taken by a request which
//     must not be repeated is never asked a second time, whatever is asked in it.
//  4. A request whose question is another one than the log's is a new request,
//     where the old one may be repeated.
//  5. When the log cannot be written, [Options.Failed] is told once and no request
//     ends before its context does: nothing acts on what is not kept.
//  6. What is dead is dropped in steps of [Options.DropBytes]; memory is some
//     hundred bytes per request of an open turn, not the answers.
//
// # Limits
//
// A request ends after the time that its node allows, 10 minutes where it says
// nothing. An executor that does not return when the time is over keeps a
// goroutine: there are never more of these than slots, and while there are that
// many, requests to it are refused as transient. A panic of an executor is the
// failure of that request.
//
// # Not here
//
// Retries; what is asked.
package outside
