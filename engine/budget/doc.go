// Package budget decides which requests to models may leave, so that no limit is
// exceeded. A [Tree] has the ledgers of a scene: limits and spending. [Rounds]
// grants the requests of the turns in flight. Both are values without clock,
// goroutine or lock: steps of turns come in, grants go out.
//
// Before a request leaves, its upper bound is reserved in every ledger above its agent:
// run, scene, profile, agent. The answer settles it: the reservation is removed, and the actual
// use is counted. A request that would fit without the reservations waits; any other
// is refused, by the widest ledger that it does not fit into.
//
// Endpoints have further ledgers. A request reserves in the ledger of its endpoint, and in those of
// the endpoints that it may go to after a failure ([Part]). A fallback endpoint without room is barred; only
// the first endpoint refuses the request.
//
// On the virtual clock a wave is granted in rounds. While some turn of the wave computes,
// nothing is granted. When all of them wait or have ended, the waiting requests are
// granted in the order of the wave, and the next round begins when these have settled. A wave
// needs no rounds if the upper bounds of its turns fit into all ledgers ([Rounds.Open]). On
// the realtime clock a request is granted when it comes.
//
// Tools of a scene have one further ledger ([Tools]). A call reserves itself and
// its price; time and output are counted when the answer is there, so calls in flight may exceed
// these limits. Tasks get what all that leaves ([Tree.OfferTasks]), and
// no call is granted from then on until the facts of the tasks are counted ([Tree.TasksCounted]).
//
// Spending is counted from facts ([Tree.Charge]), when a turn is merged. Until then the
// answers of a turn in flight count as spent. Requests that a kill or a failure cut off count
// from then on ([Tree.Lose], [Tree.Keep]), until the facts of the turn charge them. A turn that leaves no
// facts is charged by a fact with the costs of its answers and the bounds of its requests in flight ([Tree.Abandon]).
//
// Requests of turns that run ahead of the facts are in no ledger: [Ahead] bounds them.
//
// # Promises
//
//  1. If no answer takes more than its bound, no ledger is ever exceeded.
//  2. On the virtual clock grants do not depend on the order in which the turns of a
//     wave make their steps, and neither does the share of a budget that a turn is shown
//     ([Rounds.Share]).
//  3. Every request is finally granted or refused, if every granted one settles.
//  4. A tree folded from facts, or restored from [Tree.Kept], grants as the tree did that
//     decided the facts.
//
// # Not here
//
// The bound of a request (protocol/bound, llm.Bounder); prices; the effect of a refusal on
// the turn; daily budgets of endpoints, which llm/ledger keeps for all runs.
package budget
