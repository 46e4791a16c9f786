// Package budget decides which requests to models may leave, so that nobody spends more
// than was set. A [Tree] has the ledgers of a scene: what may be spent, what was. [Rounds]
// grants the requests of the turns that are under way. Both are values without clock,
// goroutine or lock: steps of turns come in, grants go out.
//
// Before a request leaves, its upper bound is reserved in every ledger above its agent:
// run, scene, profile, agent. The answer settles it: the reservation goes, what was really
// used is counted. A request that would fit if nothing were reserved waits; one that would
// not is refused, by the widest ledger that it does not fit into.
//
// Endpoints have ledgers beside these. A request reserves in that of the endpoint that it goes to,
// and of each that it may come to after a failure ([Part]). One of those without room is barred; only
// the first refuses the request.
//
// On the virtual clock a wave goes by rounds. While some turn of the wave is in motion,
// nothing is granted. When all of them wait or have ended, the requests that wait are
// granted in the order of the wave, and the next round begins when these have settled. A wave
// whose turns fit into all ledgers at their worst needs no rounds ([Rounds.Open]). On
// the realtime clock a request is granted when it comes.
//
// Tools of a scene have one ledger beside those of models ([Tools]). A call reserves itself and
// its price; time and output are counted when the answer is there, so calls that are out may go
// beyond the limit.
//
// What was spent is counted from facts ([Tree.Charge]), when a turn is merged. Until then its
// answers are counted as spent by a turn under way. What requests took that a kill cut off counts
// from the beginning ([Tree.Lose]), until the facts of the turn say it. A turn that leaves no facts is charged by
// one that says what it took, with the bounds of what is out ([Tree.Abandon]).
//
// What turns ask for that run ahead of the facts is in no ledger: [Ahead] bounds it.
//
// # Promises
//
//  1. If no answer takes more than its bound, no ledger is ever exceeded.
//  2. On the virtual clock grants do not depend on the order in which the turns of a
//     wave make their steps, and neither does the share of a budget of which a turn is told
//     ([Rounds.Share]).
//  3. Every request is granted or refused at last, if every granted one settles.
//  4. A tree folded from facts, or restored from [Tree.Kept], grants as the tree did that was
//     there when the facts were made.
//
// # Not here
//
// The bound of a request (protocol/bound, llm.Bounder); prices; what a refused request means for
// its turn; budgets of endpoints a day, which llm/ledger keeps for all runs.
package budget
