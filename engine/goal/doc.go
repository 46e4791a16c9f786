// Package goal is the machine of an agent's goals (agent architecture §2.1.3): their
// rank, and the drives behind them.
//
// You hold [Rules], which all agents of a profile share, and a [Book] for each agent. A turn
// of the agent calls [Rules.Settle] until it changes nothing, and keeps each [Change] as a fact.
// [Rules.Due] says when the agent must be woken, and [Watched] which places of the world
// must wake it. [Told] has the further fields of initial goals, with or without rules.
//
// # Promises
//
//  1. Decisions depend on the book, the rules, the time and the values of the Env.
//  2. A goal that has ended stays ended, unless it recurs. So a reward is paid once.
//  3. A rank is a whole number of millionths. [Rules.Rank] orders all goals: equal ranks by
//     id.
//  4. Nothing ticks. Values that grow with time (urgency, drives, patience) are computed from
//     their start, and Due names the next time at which a decision could change while
//     the world and the private state stay the same.
//  5. A goal without [More] and an agent without Rules cost nothing here.
//
// # Not here
//
// The agent carries out rewards, writes to knowledge bases and answers the giver of a goal.
package goal
