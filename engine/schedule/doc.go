// Package schedule decides which turns of agents may run ahead of the committed run.
//
// The committed run goes wave by wave and waits for the slowest model call of each. A
// turn that runs ahead of it asks the same question earlier, if it perceives the same,
// and the committed run finds the answer. A [State] is the policy: it knows when and
// where the next turn of each agent is and what agents of one class can do to those of
// another. It runs nothing.
//
// # What a caller does
//
// You hold a State, made by [New]. [State.Next] hands out turns that may begin. Each
// either ends ([State.Ended]: when and where the agent's next turn is, and which
// resources outside of space it changed) or cannot go on ahead, because its next call
// must not be made twice ([State.Park]). Before each paid call of a turn you ask
// [State.Ask]; if it refuses, keep the call until Next hands the turn out once more. A
// turn that found nothing to do, such as that of an agent that only events wake, ends
// with the next tick as its next time; so its neighbours know that it did not act.
//
// After Ended and Committed, take what [State.Check] gives, until it gives none: turns
// ahead that may have seen the agent where it is no longer. Compare what such a turn
// perceived of the other agent with what it would perceive now, and answer by
// [State.Checked]. If they differ, drop the copies of the turns that it names, and
// cancel their running calls.
//
// [State.Committed] reports each turn of the committed run in its order. If the turn equals
// the machine's record, the machine drops the record; otherwise it follows the fact. [State.Missed]
// reports changes that the machine cannot see: the turn differed, or something happened to the agent. If the
// next turn is known only later, [End].Stays holds back the agent, and all agents that it may reach, until then.
//
// # Promises
//
//  1. Answers depend on the inputs and their order alone.
//  2. Tracked: if agents keep what their classes declare, a turn that was handed out
//     perceives what it would perceive at the barrier. Nothing is undone or wasted.
//  3. Speculative: a turn that perceived something else is found at the latest when the agents that
//     it perceived have reached its time. Paid calls are made at a risk
//     of at most Threshold, and risky calls stop when MaxWasted of the calls, and 20,
//     were wasted.
//  4. The agent with the earliest turn is never held back, so the run always makes progress.
//  5. An agent is at most Window turns ahead of the committed run, takes a risk on at most 32
//     agents, and watches 4: memory is bounded by agents times Window.
//  6. A decision searches the squares around the agent, not all agents.
//
// # The rule
//
// A turn of agent a may begin if no agent b whose next turn is earlier can reach it:
// State.reaches and docs/decisions/0083 have the terms. No agent waits for one that is
// ahead of it. A chain of influence from b over c to a passes through a turn of c, which has
// itself waited for b.
//
// # Not here
//
// Copies of agents and of the world, answers, and slots (the caller has them, and gives
// slots in the order of [State.Rank]); the committed run.
package schedule
