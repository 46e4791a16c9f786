// Package ledger keeps the budget of an endpoint for each day of the wall clock (UTC), for all
// runs and processes of a user together. A [Book] is a file beside the user's file of endpoints.
//
// [Book.Reserve] reserves the upper bound of an attempt before it
// leaves; [Book.Settle] returns the unused part. If an attempt would fit after others of
// this process have settled, it waits for them; any other is refused. You must settle what you reserved, and
// close the book.
//
// # Promises
//
//  1. If no attempt uses more than it reserved, all processes together never use more than the
//     limit a day.
//  2. The reservations of a killed process count as used.
//  3. If the file cannot be read or written, everything is refused; nothing leaves uncounted.
//
// # Not here
//
// The budgets of runs, scenes, profiles and agents (engine/budget), and an endpoint's budget of
// a run: these do not depend on the wall clock. A loss of power may lose the counts of the last
// seconds before it.
package ledger
