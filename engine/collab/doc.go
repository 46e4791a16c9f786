// Package collab counts votes ([Voting]), settles auctions ([Auction]) and assigns
// tasks to agents ([Assign]).
//
// The caller collects the answers, at most one of each agent, and passes them all at once. A
// result is a value that expressions read, by its method Value.
//
// # Promises
//
//  1. A result depends on the answers, the rules and the draw, never on the order of the
//     answers: names, or the draw, break ties.
//  2. Amounts are whole numbers. Sellers get what buyers pay.
//  3. An answer that does not fit the rules counts as spoiled, and changes nothing
//     else.
//  4. Everything is bounded.
//
// # Not here
//
// Which agents may answer, and when (engine/script); whether a winner can pay (the world).
package collab

// Bounds.
const (
	MaxRanked  = 64      // options of a ranked vote
	MaxOptions = 1000    // of any other one
	MaxScore   = 1 << 20 // of one option on one ballot
	MaxAmount  = 1 << 53 // of a bid, a reserve and a cost
	MaxAssign  = 256     // rows and columns
)
