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
// On the virtual clock a wave goes by rounds. While some turn of the wave is in motion,
// nothing is granted. When all of them wait or have ended, the requests that wait are
// granted in the order of the wave, and the next round begins when these have settled. A wave
// whose turns fit into all ledgers at their worst needs no rounds ([Rounds.Open]). On
// the realtime clock a request is granted when it comes.
//
// What was spent is counted from facts ([Tree.Charge]), when a turn is merged. Until then its
// answers are counted as spent by a turn under way.
//
// # Promises
//
//  1. If no answer takes more than its bound, no ledger is ever exceeded.
//  2. On the virtual clock grants do not depend on the order in which the turns of a
//     wave make their steps.
//  3. Every request is granted or refused at last, if every granted one settles.
//  4. A tree folded from facts, or restored from [Tree.Kept], grants as the tree did that was
//     there when the facts were made.
//
// # Not here
//
// The bound of a request (protocol/bound, llm.Bounder); prices; what a refused request means for
// its turn; the budgets of endpoints, which llm/endpoint keeps for all scenes.
package budget
