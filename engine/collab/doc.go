// Package collab counts what several agents want together: votes ([Voting]), bids
// ([Auction]), and the tasks that each of them takes ([Assign]).
//
// The caller collects the answers, one of each agent at most, and gives them whole. A
// result is a value that expressions read, by its method Value.
//
// # Promises
//
//  1. A result depends on the answers, the rules and the draw, never on the order of the
//     answers: names decide, or the draw.
//  2. Amounts are whole numbers. What buyers pay is what sellers get.
//  3. An answer that does not fit the rules is counted as spoiled, and changes nothing
//     else.
//  4. Everything is bounded.
//
// # Not here
//
// Which agents may answer, and when (engine/script), and that a winner can pay (the world).
package collab

// Bounds.
const (
	MaxRanked  = 64      // options of a ranked vote
	MaxOptions = 1000    // of any other one
	MaxScore   = 1 << 20 // of one option on one ballot
	MaxAmount  = 1 << 53 // of a bid, a reserve and a cost
	MaxAssign  = 256     // rows and columns
)
