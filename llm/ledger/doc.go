// Package ledger keeps what an endpoint may take each day of the wall clock (UTC), of all
// runs and processes of a user together. A [Book] is a file beside the user's file of endpoints.
//
// [Book.Reserve] takes the most that an attempt may take out of what is left, before it
// leaves; [Book.Settle] gives back what it did not take. An attempt that would fit when others of
// this process have settled waits for them; another is refused. You must settle what you reserved, and
// close the book.
//
// # Promises
//
//  1. If no attempt takes more than it reserved, all processes together never take more than the
//     limit a day.
//  2. A process that is killed has taken what it had reserved.
//  3. A file that cannot be read or written refuses everything; nothing leaves uncounted.
//
// # Not here
//
// The budgets of runs, scenes, profiles and agents (engine/budget), and an endpoint's budget of
// a run: these do not depend on the wall clock. A loss of power may lose what was counted in the last
// seconds before it.
package ledger
