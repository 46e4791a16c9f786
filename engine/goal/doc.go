// Package goal is the machine of what an agent wants (agent architecture §2.1.3): its
// goals, their rank, and the drives behind them.
//
// You hold [Rules], which all agents of a profile share, and a [Book] for each agent. A turn
// of the agent calls [Rules.Settle] until it changes nothing, keeps each [Change] as a fact,
// and asks [Rules.Due] when the agent must be woken, and [Watched] which places of the world
// must wake it. [Told] is what the entries of initial goals say beside, with or without rules.
//
// # Promises
//
//  1. What is decided depends on the book, the rules, the time and the values of the Env.
//  2. A goal that has ended stays ended, but for one that recurs. So what is due at an end,
//     a reward, is due once.
//  3. A rank is a whole number of millionths. [Rules.Rank] orders all goals: equal ranks by
//     id.
//  4. Nothing ticks. What grows with time (urgency, drives, patience) is computed from when
//     it began, and Due names the next time at which a decision could be another one while
//     the world and the private state stay as they are.
//  5. A goal without [More] and an agent without Rules cost nothing here.
//
// # Not here
//
// The agent carries out rewards, writes to knowledge bases and answers the giver of a goal.
package goal
